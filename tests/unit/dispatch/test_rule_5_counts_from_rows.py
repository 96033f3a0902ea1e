"""Rule 5: counts come from the rows that get claimed, so they cannot disagree with the queue."""

import random
import sqlite3

from dreamlake.lakeshore.dispatch.plane import STATES, RunConfig, Submission


def test_rule_5_the_count_is_what_can_be_claimed(plane):
    rng = random.Random(5)
    plane.submit_many("q", [Submission(f"i{n}", b"e", RunConfig(priority=n % 3)) for n in range(300)])
    left = 300
    while left:
        got = len(plane.claim_many("q", "w", rng.randrange(1, 40), kind=rng.choice(["fifo", "filo"])))
        left -= got
        assert got
        assert plane.count("q") == plane.signals("q").queued == left
        assert plane.count("q", "running") == plane.signals("q").leased == 300 - left
    assert plane.claim("q", "w") is None


def test_rule_5_rows_changed_behind_our_back_are_counted_as_they_are(plane, path):
    plane.submit_many("q", [Submission(f"i{n}", b"e") for n in range(10)])
    conn = sqlite3.connect(path)
    with conn:
        conn.execute("DELETE FROM invocation WHERE id IN ('i0', 'i1', 'i2')")
        conn.execute("UPDATE invocation SET queue = 'other' WHERE id = 'i3'")
    conn.close()
    assert plane.count("q") == plane.signals("q").queued == 6
    assert plane.count("other") == 1
    assert len(plane.claim_many("q", "w", 100)) == 6


def test_rule_5_counts_of_all_states_sum_to_the_rows(plane):
    plane.submit_many("q", [Submission(f"i{n}", b"e") for n in range(50)])
    for job in plane.claim_many("q", "w", 40)[:30]:
        number = int(job.id[1:])
        if number % 3 == 0:
            plane.ack(job.id, "w")
        elif number % 3 == 1:
            plane.nack(job.id, "w", error="x", retry=number % 2 == 0)
        else:
            plane.cancel(job.id)
    counts = {state: plane.count("q", state) for state in STATES}
    listed = [row["state"] for row in plane.invocations(limit=100)]
    assert counts == {state: listed.count(state) for state in STATES}
    assert sum(counts.values()) == 50
