"""A process that opens a plane's file twice keeps seeing what workers do, however many of them have come and gone."""

import sqlite3

import worker_bodies as bodies

import dreamlake.lakeshore as dls


def test_worker_that_ends_leaves_the_log_to_a_process_that_opened_the_file_twice(site):
    second = dls.Dispatch(site.home / "dispatch.sqlite")
    try:
        for plane in (site.plane, second):
            queue = dls.SyncQueue("default", dispatch=plane)
            for _ in range(2):
                job = queue.submit(bodies.add, 1, 2)
                assert site.launch("--once").wait() == 0
                assert queue.result(job, timeout=1) == 3
                assert site.plane.get(job)["state"] == second.get(job)["state"] == "succeeded"
        fresh = sqlite3.connect(site.home / "dispatch.sqlite")
        assert fresh.execute("SELECT count(*) FROM invocation WHERE state = 'succeeded'").fetchone() == (4,)
        fresh.close()
    finally:
        second.close()
