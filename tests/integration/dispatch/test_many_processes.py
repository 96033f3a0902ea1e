"""Eight workers and four producers on one file."""

import sqlite3
from collections import Counter

PRODUCERS, BATCHES, SIZE, WORKERS = 4, 30, 20, 8


def test_report_10_eight_workers_and_four_producers_never_see_a_locked_database(plane, start, until):
    workers = [start("work", f"w{n}", 5) for n in range(WORKERS)]
    producers = [start("produce", f"p{n}", BATCHES, SIZE) for n in range(PRODUCERS)]
    total = PRODUCERS * BATCHES * SIZE
    until(lambda: plane.count("q", "succeeded") == total, f"{total} jobs to succeed")
    plane.submit("control", b"", id="stop")
    for process in producers + workers:
        assert process.finish() == ""  # no traceback, so no 'database is locked' either
        assert process.process.returncode == 0

    submitted = [name for process in producers for name in process.lines("submitted")]
    acked = [word for process in workers for word in process.lines("acked")]
    assert sorted(acked) == sorted(f"{name}:1" for name in submitted), "each job once, as attempt 1"
    assert sum(bool(process.lines("acked")) for process in workers) > 1, "the work was shared"
    found = plane.signals("q")
    assert (found.queued, found.leased, found.arrived, found.finished) == (0, 0, total, total)


def test_each_result_is_of_the_worker_that_says_so(plane, start, until):
    workers = [start("work", f"w{n}", 1) for n in range(3)]
    start("produce", "p", 10, 10)
    until(lambda: plane.count("q", "succeeded") == 100, "100 jobs to succeed")
    plane.submit("control", b"", id="stop")
    for number, process in enumerate(workers):
        process.finish()
        for word in process.lines("acked"):
            assert plane.result(word.split(":")[0]) == f"w{number}:1".encode()


def test_opening_a_new_file_by_twelve_processes_at_once(path, start, until):
    producers = [start("produce", f"p{n}", 1, 1) for n in range(12)]
    for process in producers:
        assert process.finish() == ""
    conn = sqlite3.connect(path)
    assert conn.execute("SELECT count(*) FROM invocation").fetchone() == (12,)
    assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    conn.close()
    assert Counter(process.process.returncode for process in producers) == {0: 12}
