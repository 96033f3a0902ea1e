"""Readers that open a stream and read nothing of it: the server's memory is bounded, and others are served."""

import contextlib
import socket
import time

import fault_bodies as bodies
import pytest

READERS = 200
FRAMES, SIZE = 400, 65_536


@pytest.fixture
def open_stream(site):
    """``open_stream(port, id)``: a connection that has asked for a stream, and takes little of it."""

    def open_stream(port, inv_id):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        site.enter(contextlib.closing(connection))
        connection.settimeout(20)
        connection.connect(("127.0.0.1", port))
        path = f"/v1/producer/invocations/{inv_id}/result/stream"
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return connection

    return open_stream


def test_readers_that_stop_reading_hold_no_memory_and_hold_up_nobody(site, open_stream, redis_url):
    """Two hundred of them on 25 MiB of frames; kept whole for each they would take 5 GiB."""
    replica = site.replica(redis_url=redis_url)
    site.worker(replica.url)
    queue = site.queue(replica.url)
    job = queue.submit(bodies.blocks, FRAMES, SIZE)
    assert sum(1 for _ in queue.stream(job)) == FRAMES
    before = replica.resident()

    readers = [open_stream(replica.port, job) for _ in range(READERS)]
    for reader in readers:
        assert reader.recv(12) == b"HTTP/1.1 200"
    began = time.monotonic()
    assert queue.result(queue.submit(bodies.double, 4), timeout=20) == 8
    assert sum(1 for _ in queue.stream(queue.submit(bodies.count_up, 500))) == 500
    served_s = time.monotonic() - began
    grown = replica.resident("VmHWM") - before
    assert grown < 200 << 20, f"the replica grew by {grown >> 20} MiB for {READERS} readers"
    assert served_s < 10, f"others waited {served_s:.1f} s"

    # They are still good for the rest: one of them reads on to the end.
    taken = len(readers[0].recv(1 << 20))
    while taken < FRAMES * SIZE:
        taken += len(readers[0].recv(1 << 20))
    for reader in readers[1:]:
        reader.close()
    assert queue.result(queue.submit(bodies.double, 5), timeout=20) == 10
    print(f"grown {grown >> 20} MiB, served in {served_s:.2f} s")
