"""kill -9 of replicas while they submit, claim, end and append: what was acknowledged ends once."""

import random
import time

import pytest

KILLING_S = 5


@pytest.mark.parametrize("n", [2, 1], ids=["two replicas with Redis", "one replica without"])
def test_replicas_killed_at_random_moments_under_load_lose_nothing(site, request, n):
    """What cannot be hit on purpose from outside is hit by chance; tests of the services die between any two words."""
    rng = random.Random(n)
    settings = {"redis_url": request.getfixturevalue("redis_url")} if n == 2 else {}
    replicas = [site.replica(**settings) for _ in range(n)]
    producers = site.crowd(site.balancer(*replicas).url, jobs=300, frames=1000)
    ends = time.monotonic() + KILLING_S
    while time.monotonic() < ends:
        time.sleep(rng.uniform(0.0, 0.3))  # the random moment
        victims = rng.choice([replicas[:1], replicas[-1:], replicas])
        for victim in victims:
            victim.kill()
        for victim in victims:
            victim.start()
    site.assert_nothing_lost(producers)
