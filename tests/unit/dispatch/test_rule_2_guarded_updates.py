"""Rule 2: every transition is one guarded update; a lost race is a clean miss, never a double delivery."""

import threading

import pytest

from dreamlake.lakeshore.dispatch.plane import Finished, Submission
from dreamlake.lakeshore.errors import FencedError


def race(*acts):
    """Run the acts at the same moment; what each gave, or the error it raised."""
    start = threading.Barrier(len(acts))
    results = [None] * len(acts)

    def run(place, act):
        start.wait(10)
        try:
            results[place] = act()
        except FencedError as exc:
            results[place] = exc

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a verb did not return within 30 s"
    return results


def test_rule_2_racing_claims_deliver_each_row_once(open_plane):
    planes = [open_plane() for _ in range(4)]
    planes[0].submit_many("q", [Submission(f"i{n}", b"e") for n in range(400)])

    def take(number):
        found = []
        while claimed := planes[number].claim_many("q", f"w{number}", 7):
            found += [job.id for job in claimed]
        return found

    got = race(*(lambda number=number: take(number) for number in range(4)))
    together = [name for found in got for name in found]
    assert sorted(together) == sorted(f"i{n}" for n in range(400))


@pytest.mark.parametrize("turn", range(10))
def test_rule_2_an_ack_and_a_cancel_race_to_one_end(open_plane, turn):
    one, two = open_plane(), open_plane()
    one.submit("q", b"e", id="a")
    one.claim("q", "w")
    acked, cancelled = race(lambda: one.ack("a", "w", result=b"r"), lambda: two.cancel("a"))
    state = one.get("a")["state"]
    assert state == ("cancelled" if cancelled else "succeeded")
    assert isinstance(acked, FencedError) is cancelled


def test_rule_2_an_attempt_reported_by_many_is_acknowledged_once(open_plane):
    planes = [open_plane() for _ in range(4)]
    planes[0].submit("q", b"e", id="a")
    planes[0].claim("q", "w")
    reports = [
        lambda number=number: planes[number].ack_many("w", [Finished("a", 1, b"%d" % number)])
        for number in range(4)
    ]
    fenced = race(*reports)
    (winner,) = [number for number in range(4) if fenced[number] == set()]
    assert planes[0].result("a") == b"%d" % winner


def test_rule_2_threads_share_one_connection(plane):
    plane.submit_many("q", [Submission(f"i{n}", b"e") for n in range(200)])

    def work(name):
        count = 0
        while (claimed := plane.claim("q", name)) is not None:
            plane.ack(claimed.id, name, result=name.encode(), attempt=claimed.attempt)
            count += 1
        return count

    assert sum(race(*(lambda name=name: work(name) for name in ("w1", "w2", "w3")))) == 200
    assert plane.count("q", "succeeded") == 200
