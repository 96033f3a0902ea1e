"""Claims are dealt in turn: every idle slot starts one before any slot gets a second."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore.dispatch.plane import Claimed
from dreamlake.lakeshore.worker.assigning import share_out


def jobs(n):
    return [Claimed(f"job-{i}", b"", 1, "q") for i in range(n)]


def ids(share):
    return [job.id for job in share]


def test_two_jobs_for_two_slots_go_one_to_each():
    assert [ids(share) for share in share_out(jobs(2), [5, 5])] == [["job-0"], ["job-1"]]


def test_a_slot_without_room_gets_nothing():
    assert [len(share) for share in share_out(jobs(3), [0, 3, 1])] == [0, 2, 1]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.data())
def test_every_job_is_dealt_once_in_order_and_within_room(rooms, data):
    n = data.draw(st.integers(0, sum(rooms)))
    shares = share_out(jobs(n), rooms)
    assert sorted(job for share in shares for job in ids(share)) == sorted(ids(jobs(n)))
    for share, room in zip(shares, rooms, strict=True):
        assert len(share) <= room
        assert ids(share) == sorted(ids(share), key=lambda name: int(name.split("-")[1]))


def test_more_jobs_than_places_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="1 claims more"):
        share_out(jobs(2), [1, 0])
