"""The draw of a boltzmann lane has exactly its odds, in memory and in Redis, for few levels and for many."""

import math
import random
from collections import Counter

import pytest

from lakeshore_controlplane.store.lane.memory import MemoryLane
from lakeshore_controlplane.store.lane.port import Entry, QueueKey
from lakeshore_controlplane.store.lane.redis import RedisLane
from lakeshore_controlplane.store.redis_link import RedisLink

QUEUE = QueueKey("ns", "hot")
# Values that chi-square passes with probability 0.001, by degrees of freedom (Abramowitz & Stegun, table 26.8).
CRITICAL = {3: 16.27, 19: 43.82}
FEW = {0.0: 10, 1.0: 4, 2.0: 1, -1.0: 2}
MANY = {n / 7: 1 + n % 3 for n in range(20)}


@pytest.fixture(params=["memory", "redis"])
def lane(request, runner):
    async def opened():
        if request.param == "memory":
            return MemoryLane(rng=random.Random(11))
        lane = RedisLane(RedisLink(request.getfixturevalue("redis_url")), rng=random.Random(11))
        await lane.forget(QUEUE)
        return lane

    lane = runner.run(opened())
    yield lane
    runner.run(lane.close())


async def fill(lane, counts):
    await lane.begin_refill(QUEUE, "me", 60)
    entries = [Entry(f"{level!r}x{n}", level, n) for level, count in counts.items() for n in range(count)]
    await lane.push(QUEUE, entries)
    await lane.end_refill(QUEUE, "me")
    return {entry.id: entry for entry in entries}


def odds(counts, temperature):
    top = max(counts)
    weights = {level: count * math.exp((level - top) / temperature) for level, count in counts.items()}
    return {level: weight / sum(weights.values()) for level, weight in weights.items()}


def chi_square(seen, expected):
    return sum((seen[key] - share) ** 2 / share for key, share in expected.items())


async def draws(lane, counts, temperature, times, batch=1):
    """Take ``batch`` ids many times from the same filling; gives the level of the last of each batch."""
    entries = await fill(lane, counts)
    seen = Counter()
    for _ in range(times):
        ask = {"kind": "boltzmann", "temperature": temperature, "now": 1.0, "held_until": 9.0}
        taken = await lane.take(QUEUE, batch, **ask)
        seen[entries[taken.ids[-1]].priority] += 1
        await lane.push(QUEUE, [entries[one] for one in taken.ids])
    return seen


@pytest.mark.parametrize("temperature", [0.7, 1.5])
def test_few_levels_have_the_odds_of_count_times_exp_priority_over_t(lane, runner, temperature):
    times = 3000
    seen = runner.run(draws(lane, FEW, temperature, times))
    expected = {level: share * times for level, share in odds(FEW, temperature).items()}
    assert chi_square(seen, expected) < CRITICAL[3]


@pytest.mark.parametrize("temperature", [1.0, 20.0])
def test_many_levels_in_one_band_have_their_odds(lane, runner, temperature):
    times = 4000
    seen = runner.run(draws(lane, MANY, temperature, times))
    expected = {level: share * times for level, share in odds(MANY, temperature).items()}
    assert chi_square(seen, expected) < CRITICAL[19]


def test_the_second_of_a_batch_has_the_odds_of_what_the_first_left(lane, runner):
    times, temperature = 3000, 0.7
    seen = runner.run(draws(lane, FEW, temperature, times, batch=2))
    second = Counter()
    for level, share in odds(FEW, temperature).items():
        left = {one: count - (one == level) for one, count in FEW.items() if count > (one == level)}
        for one, part in odds(left, temperature).items():
            second[one] += share * part * times
    assert chi_square(seen, second) < CRITICAL[3]


def test_another_temperature_fails_the_same_test(lane, runner):
    seen = runner.run(draws(lane, FEW, 0.7, 3000))
    expected = {level: share * 3000 for level, share in odds(FEW, 1.5).items()}
    assert chi_square(seen, expected) > CRITICAL[3]


def test_priorities_and_temperatures_at_the_ends_of_doubles_are_drawn_from(lane, runner):
    async def told():
        counts = dict.fromkeys([1.7e308, 1e300, 1e-300, 0.0, -5e-324, -1e300, -1.7e308], 3)
        for temperature in (5e-324, 1e-300, 1.0, 1e300, 1.7e308):
            entries = await fill(lane, counts)
            ask = {"kind": "boltzmann", "temperature": temperature, "now": 1.0, "held_until": 9.0}
            taken = await lane.take(QUEUE, 100, **ask)
            assert sorted(taken.ids) == sorted(entries)
            if temperature <= 1.0:
                levels = [entries[one].priority for one in taken.ids]
                assert levels[:6] == [1.7e308] * 3 + [1e300] * 3, (
                    "at so low a temperature the highest comes first"
                )

    runner.run(told())
