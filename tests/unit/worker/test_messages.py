"""Jobs and reports survive the trip between a slot's parent and its child."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore.dispatch.plane import Backoff, Claimed, Finished, Frame
from dreamlake.lakeshore.errors import ErrorInfo
from dreamlake.lakeshore.worker.channel import Channel
from dreamlake.lakeshore.worker.messages import (
    job_from_list,
    job_to_list,
    report_from_list,
    report_to_list,
)
from dreamlake.lakeshore.worker.outbox import DoneReport, FrameReport, LogReport

backoffs = st.none() | st.builds(Backoff, st.floats(0, 10), st.floats(0, 100))
claims = st.builds(
    Claimed,
    st.text(max_size=30),
    st.binary(max_size=100),
    st.integers(1, 10),
    st.text(max_size=10),
    st.none() | st.floats(0, 100),
    st.none() | st.integers(0, 9),
    backoffs,
    st.integers(0, 3),
)
errors = st.builds(ErrorInfo, st.text(min_size=1), st.text(), st.none() | st.text())
reports = (
    st.builds(
        DoneReport,
        st.builds(
            Finished,
            st.text(),
            st.integers(1, 9),
            st.none() | st.binary(max_size=50),
            st.none() | errors,
            st.booleans(),
            st.floats(0, 50),
            st.just(False),  # only the parent reports a crash
        ),
        st.floats(0, 100),
    )
    | st.builds(FrameReport, st.text(), st.builds(Frame, st.integers(0, 99), st.binary(), st.booleans()))
    | st.builds(LogReport, st.text(), st.integers(1, 3), st.integers(0, 9), st.text())
)


@pytest.fixture(scope="module")
def ends():
    left, right = socket.socketpair()
    a, b = Channel(left), Channel(right)
    yield a, b
    a.close()
    b.close()


@given(job=claims, ordinal=st.integers(1, 1000))
def test_a_job_arrives_as_it_was_sent(ends, job, ordinal):
    a, b = ends
    a.send(job_to_list(ordinal, job))
    (raw,) = b.receive()
    assert job_from_list(raw) == (ordinal, job)


@given(report=reports)
def test_a_report_arrives_as_it_was_sent(ends, report):
    a, b = ends
    a.send(report_to_list(report))
    (raw,) = b.receive()
    assert report_from_list(raw) == report


def test_posting_more_than_the_socket_takes_does_not_block_and_all_arrives():
    left, right = socket.socketpair()
    parent, child = Channel(left), Channel(right)
    for n in range(40):
        parent.post(["run", n, b"x" * 100_000])
    assert parent.has_unsent
    seen = []
    while len(seen) < 40:
        seen += [message[1] for message in child.receive()]
        parent.flush()
    assert seen == list(range(40))
    assert not parent.has_unsent
    parent.close()
    child.close()


def test_a_peer_that_is_gone_ends_the_stream():
    left, right = socket.socketpair()
    parent, child = Channel(left), Channel(right)
    child.close()
    with pytest.raises(EOFError):
        list(parent.receive())
    parent.post(["run", []])
    assert not parent.has_unsent
    parent.close()
