"""Invocation ids are ULIDs that increase within a process."""

from __future__ import annotations

import multiprocessing
import re
import threading
import time
from itertools import pairwise

from dreamlake.lakeshore import invocation_id
from dreamlake.lakeshore.invocation_id import new_id

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def milliseconds(text: str) -> int:
    number = 0
    for letter in text[:10]:
        number = number * 32 + CROCKFORD.index(letter)
    return number


def test_an_id_is_26_crockford_characters_that_begin_with_the_time():
    before = time.time_ns() // 1_000_000
    made = new_id()
    after = time.time_ns() // 1_000_000
    assert len(made) == 26
    assert set(made) <= set(CROCKFORD)
    assert before <= milliseconds(made) <= after + 1


def test_ids_increase_strictly_also_within_one_millisecond():
    made = [new_id() for _ in range(50_000)]
    assert all(one < other for one, other in pairwise(made))
    assert all(re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", one) for one in made)


def test_ids_increase_when_the_clock_steps_back(monkeypatch):
    before = [new_id() for _ in range(3)]
    an_hour_ago = time.time_ns() - 3600 * 10**9
    monkeypatch.setattr(invocation_id.time, "time_ns", lambda: an_hour_ago)
    after = [new_id() for _ in range(3)]
    assert before + after == sorted(before + after)


def test_the_random_part_differs_between_milliseconds():
    seen = set()
    limit = time.monotonic() + 10
    while len(seen) < 5:
        assert time.monotonic() < limit, "waited 10 s for five different milliseconds"
        made = new_id()
        seen.add((milliseconds(made), made[10:18]))
    assert len({random for _, random in seen}) == 5


def test_threads_never_make_the_same_id():
    made: list[list[str]] = [[] for _ in range(4)]

    def work(mine: list[str]) -> None:
        mine.extend(new_id() for _ in range(5000))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    together = [text for mine in made for text in mine]
    assert len(set(together)) == 20_000
    assert all(mine == sorted(mine) for mine in made)


def _send_ids(pipe) -> None:
    pipe.send([new_id() for _ in range(200)])
    pipe.close()


def test_a_forked_child_does_not_repeat_its_parents_ids_within_a_millisecond(monkeypatch):
    now = time.time_ns()
    monkeypatch.setattr(invocation_id.time, "time_ns", lambda: now)
    new_id()
    fork = multiprocessing.get_context("fork")
    ends = [fork.Pipe(duplex=False) for _ in range(3)]
    children = [fork.Process(target=_send_ids, args=(there,)) for _, there in ends]
    for child in children:
        child.start()
    made = [new_id() for _ in range(200)]
    for here, _ in ends:
        assert here.poll(30), "waited 30 s for a child's ids"
        made += here.recv()
    for child in children:
        child.join(timeout=30)
    for end in ends:
        for side in end:
            side.close()
    assert len(set(made)) == 800
