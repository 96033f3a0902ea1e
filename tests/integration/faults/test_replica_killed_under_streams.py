"""A control plane of two replicas, one of them killed: streams go on."""

import contextlib
import http.client
import threading

from dreamlake.lakeshore import wire

N = 3000


class RawReader(threading.Thread):
    """Reads an invocation's frames as bytes from the stream route, and goes on after its last frame when it breaks."""

    def __init__(self, port, inv_id):
        super().__init__(name="raw reader")
        self.port = port
        self.inv_id = inv_id
        self.seqs = []
        self.breaks = 0
        self.ended = False

    def run(self):
        for _ in range(50):
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._read_on()
            if self.ended:
                return
            self.breaks += 1

    def _read_on(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            since = self.seqs[-1] if self.seqs else -1
            connection.request("GET", f"/v1/producer/invocations/{self.inv_id}/result/stream?since={since}")
            answer = connection.getresponse()
            reader = wire.FrameReader()
            while chunk := answer.read1(65_536):
                for frame in reader.feed(chunk):
                    self.seqs.append(frame.seq)
                    self.ended = frame.terminal
        finally:
            connection.close()


def test_stream_survives_kill_9_of_one_of_two_replicas(site, redis_url):
    """Each in turn: no frame is lost, none comes twice, and both readers go on from their cursors."""
    replicas = site.replica(2, redis_url=redis_url)
    front = site.balancer(*replicas)
    worker = site.worker(front.url)
    producer = site.producer(front.url, "stream", N, 0.002)
    (inv_id,) = site.until(lambda: producer.said("acknowledged"), "the submission")[0]
    raw = RawReader(front.port, inv_id)
    raw.start()
    for share, victim in zip((0.2, 0.6), replicas, strict=True):
        site.until(lambda share=share: len(producer.said("frame")) > share * N, "frames")
        assert not producer.said("done")
        victim.kill()
        site.until(lambda share=share: len(producer.said("frame")) > (share + 0.2) * N, "frames after it")
        victim.start()
    rows = site.assert_nothing_lost([producer])
    raw.join(30)

    assert len(producer.said("frame")) == N
    assert raw.seqs == [*range(N + 1)]
    assert raw.breaks >= 1
    assert rows[inv_id]["attempt"] == 1
    assert worker.runs
