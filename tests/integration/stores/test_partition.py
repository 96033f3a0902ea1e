"""The network between a client and a server that tests cut, slow down and heal."""

import contextlib
import socket
import threading
import time

import pytest

from servers.partition import Partition


@pytest.fixture
def echo():
    """The port of a server that sends back what it gets."""
    ended = threading.Event()

    def serve(connection):
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(1000):
                connection.sendall(data)

    def accept():
        while not ended.is_set():
            with contextlib.suppress(OSError):
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        accepting = threading.Thread(target=accept)
        accepting.start()
        yield listener.getsockname()[1]
        ended.set()
        accepting.join()


@pytest.fixture
def net(echo):
    with Partition(echo) as between:
        yield between


@pytest.fixture
def talk(net):
    """A connection through the network that waits 10 s for an answer."""
    with socket.create_connection(("127.0.0.1", net.port), 10) as connection:
        yield connection


def hears_nothing(connection):
    connection.settimeout(0.2)
    with pytest.raises(TimeoutError):
        connection.recv(100)
    connection.settimeout(10)
    return True


@pytest.mark.parametrize("cut", ["cut", "cut_towards_server", "cut_towards_client"])
def test_what_was_sent_into_a_cut_network_arrives_once_when_it_heals(net, talk, cut):
    talk.sendall(b"before")
    assert talk.recv(100) == b"before"
    getattr(net, cut)()
    talk.sendall(b"during")
    assert hears_nothing(talk)
    with socket.create_connection(("127.0.0.1", net.port), 10) as late:
        late.sendall(b"late")
        assert hears_nothing(late)
        net.heal()
        assert late.recv(100) == b"late"
    assert talk.recv(100) == b"during"


def test_a_reset_network_breaks_what_is_open_and_takes_new_connections(net, talk):
    talk.sendall(b"a")
    assert talk.recv(100) == b"a"
    net.reset()
    with contextlib.suppress(ConnectionResetError):
        assert talk.recv(100) == b""
    with socket.create_connection(("127.0.0.1", net.port), 10) as another:
        another.sendall(b"b")
        assert another.recv(100) == b"b"


def test_a_delayed_network_delays_both_ways(net, talk):
    net.delay(0.1)
    began = time.monotonic()
    talk.sendall(b"a")
    assert talk.recv(100) == b"a"
    assert time.monotonic() - began >= 0.2
