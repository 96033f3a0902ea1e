"""Connections: kept, bounded, replaced when the server has hung up, never shared with a forked child."""

import os
import socket
import threading
import time

import pytest

from dreamlake.lakeshore.errors import DispatchError
from http_peer import LIMIT_S, Peer, reply, until

NOW = reply({"now": 1.0})


def test_making_a_plane_connects_to_nothing(peer, connect):
    connect()
    assert peer.connections == 0


def test_one_connection_serves_one_request_after_another(peer, plane):
    peer.script(NOW)
    for _ in range(20):
        assert plane.now() == 1.0
    assert peer.connections == 1


def test_threads_have_connections_of_their_own_and_leave_them_to_the_next(peer, plane):
    meeting = threading.Barrier(4)

    def together(request):
        meeting.wait(LIMIT_S)
        return NOW

    peer.answer = together
    for _ in range(3):
        threads = [threading.Thread(target=plane.now) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
    assert peer.connections == 4


def test_a_kept_connection_that_the_server_closed_is_replaced_at_once(peer, plane):
    peer.script(NOW)
    peer.hang_up_after_answer = True
    for _ in range(5):
        began = time.monotonic()
        assert plane.now() == 1.0
        assert time.monotonic() - began < 1
    assert peer.connections == 5


def test_a_kept_connection_that_breaks_under_a_request_is_replaced_at_once(peer, connect):
    plane = connect(timeout=0.0)
    peer.script(NOW)
    plane.now()
    peer.script(None, NOW)
    assert plane.now() == 1.0
    assert peer.connections == 2


def test_a_server_that_says_close_is_taken_at_its_word(peer, plane):
    peer.script(reply({"now": 1.0}, headers=["connection: close"]))
    plane.now()
    plane.now()
    assert peer.connections == 2


def test_a_connection_that_was_idle_for_long_is_not_used_again(peer, plane, monkeypatch):
    monkeypatch.setattr("dreamlake.lakeshore.dispatch.http.connections.IDLE_S", 0.05)
    peer.script(NOW)
    plane.now()
    first = plane._requests._pool._idle[0]
    until(first.is_stale)
    plane.now()
    assert peer.connections == 2


def test_a_forked_child_leaves_the_parents_connection_alone(peer, plane):
    peer.script(NOW)
    plane.now()
    child = os.fork()
    if child == 0:  # the child must not run the rest of the test
        status = 1
        try:
            status = 0 if plane.now() == 1.0 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    plane.now()
    assert [request.connection for request in peer.requests] == [1, 2, 1]


def test_closing_ends_a_call_that_waits(peer, plane):
    peer.script(Peer.HANG)
    said = []

    def wait():
        try:
            plane.result("a", timeout=LIMIT_S)
        except DispatchError as exc:
            said.append(str(exc))

    waiter = threading.Thread(target=wait)
    waiter.start()
    until(lambda: peer.requests)
    plane.close()
    plane.close()
    waiter.join(LIMIT_S / 2)
    assert len(said) == 1
    assert "is closed: open a new HttpDispatch" in said[0]
    with pytest.raises(DispatchError, match="is closed: open a new HttpDispatch"):
        plane.now()


def test_small_packets_are_not_held_back(peer, plane):
    peer.script(NOW)
    plane.now()
    (kept,) = plane._requests._pool._idle
    assert kept._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_an_abandoned_plane_frees_its_connections(peer):
    from dreamlake.lakeshore.dispatch import HttpDispatch

    peer.script(NOW)
    plane = HttpDispatch(peer.url)
    plane.now()
    (kept,) = plane._requests._pool._idle
    sock = kept._sock
    del plane
    until(lambda: sock.fileno() == -1)
