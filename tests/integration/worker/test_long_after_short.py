"""A long body after many short ones: the claims behind it go back once, and the worker then waits for it."""

import json
import signal

import pytest
import worker_bodies as bodies


@pytest.mark.parametrize("flags", [(), ("--in-process",)])
def test_claims_behind_a_long_body_are_handed_back_once_not_over_and_over(site, flags):
    worker = site.start("--json", *flags)
    many = site.queue.submit_many(bodies.attempt_of, range(2000))
    assert sum(1 for _ in site.queue.results(many, timeout=60)) == 2000
    held = [
        site.queue.submit(bodies.sleep, 1.5),
        *site.queue.submit_many(bodies.attempt_of, range(100)),
    ]
    attempts = dict(site.queue.results(held, timeout=60))
    assert all(attempts[inv_id] == 1 for inv_id in held[1:])
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    counts = json.loads(worker.output().splitlines()[-1])
    assert counts["executed"] == 2101
    assert counts["released"] <= 200
