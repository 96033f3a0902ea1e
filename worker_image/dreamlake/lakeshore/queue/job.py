"""A claimed job in the hands of a consumer that is no worker, and what keeps its lease alive."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.errors import WireError

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.plane import Claimed, Plane

_FIXARRAY_OF_ONE = 0x91


def pack_payload(value: object) -> bytes:
    """Pack a posted value: the wire form of a list that holds it alone, which no envelope can be taken for."""
    return wire.pack([value])


class Job:
    """A leased job: ``(id, payload, attempt, queue)``.

    ``payload`` is the value that was posted. For a submitted function call it is the call's ``Envelope``.
    """

    __slots__ = ("_payload", "_unpacked", "claimed", "settled")

    def __init__(self, claimed: Claimed) -> None:
        self.claimed = claimed
        self.settled = False
        """Whether it was acked or nacked through this object."""
        self._unpacked = False
        self._payload: Any = None

    def __repr__(self) -> str:
        return f"Job(id={self.id!r}, attempt={self.attempt}, queue={self.queue!r})"

    @property
    def id(self) -> str:
        """The invocation's id."""
        return self.claimed.id

    @property
    def attempt(self) -> int:
        """The claim's number, from 1; with the id it is the fence of ``ack`` and ``nack``."""
        return self.claimed.attempt

    @property
    def queue(self) -> str:
        """The queue's name."""
        return self.claimed.queue

    @property
    def payload(self) -> Any:
        """The posted value, or the ``Envelope`` of a function call. Raises ``WireError`` for other bytes."""
        if not self._unpacked:
            self._payload = _payload_of(self.claimed.envelope)
            self._unpacked = True
        return self._payload


def _payload_of(data: bytes) -> Any:
    if not data:
        raise WireError("the job carries no bytes at all: post values with SyncQueue.post")
    if data[0] == _FIXARRAY_OF_ONE:
        return wire.unpack(data)[0]
    return wire.Envelope.from_bytes(data)


class LeaseKeeper:
    """Renews one job's lease from a thread, three times per lease, while its consumer works."""

    def __init__(self, plane: Plane, job: Job, worker_id: str, lease_s: float) -> None:
        self._plane = plane
        self._job = job
        self._worker_id = worker_id
        self._lease_s = lease_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lakeshore-lease-{job.id}", daemon=True)

    def __enter__(self) -> LeaseKeeper:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._done.set()
        self._thread.join(timeout=10)

    def _keep(self) -> None:
        while not self._done.wait(self._lease_s / 3):
            try:
                lost = self._plane.renew([self._job.id], self._worker_id, lease_s=self._lease_s)
            except Exception:  # noqa: S112 - the next try may do; a lost lease shows at the ack
                continue
            if self._job.id in lost:
                return
