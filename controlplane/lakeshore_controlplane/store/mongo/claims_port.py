"""What services need of the rows to hand attempts out and to end them: guarded updates, and the reads around them.

Rows are named by their ``_id`` (``namespace/id``), called *key* here. Every method raises ``StoreUnavailable`` when
the database does not answer; then the update may or may not have happened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.store.lane.port import QueueKey


class Lease(NamedTuple):
    """Who gets rows, and until when. A row whose deadline is not after ``starts_before`` is not handed out.

    ``claim_id``: the worker's own name for this claim, without a colon; ``lease_again`` finds its rows by that.
    """

    worker_id: str
    now: float
    until: float
    starts_before: float
    claim_id: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One transition of rows that are alike: those of ``keys`` whose fields equal ``guard`` get the new values.

    A guard's value that is a tuple stands for any of its items. ``each``: fields whose new values differ from row to
    row, in the order of ``keys``. ``proof``: the field of ``sets`` or ``each`` that tells afterwards that it was this
    change that a row went through.
    """

    keys: tuple[str, ...]
    guard: Mapping[str, object]
    sets: Mapping[str, object]
    unsets: tuple[str, ...] = ()
    adds: Mapping[str, int] = field(default_factory=dict)
    proof: str = "claimId"
    each: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def proof_of(self, place: int) -> object:
        """Give the proof of the row at ``place`` of ``keys``."""
        return self.each[self.proof][place] if self.proof in self.each else self.sets[self.proof]


class Times(NamedTuple):
    """The nearest plane times of a queue: a delay's end, a waiting row's deadline, a lease's end."""

    due: float | None
    deadline: float | None
    lease: float | None


class Claims(Protocol):
    """Guarded updates of invocation rows. Rows without bodies are called brief."""

    async def lease(self, keys: Sequence[str], lease: Lease) -> list[Invocation]:
        """Lease those of ``keys`` that are queued and may start; give them whole, in the order of ``keys``."""

    async def lease_again(
        self, namespace: str, worker_id: str, claim_id: str, until: float | None
    ) -> list[Invocation]:
        """Give the whole rows that the worker still holds from a claim of that name, in no order.

        They are stamped anew, so that who has them from an earlier answer can hand them back no more. Their leases
        end at ``until``, or as before when it is None.
        """

    async def lease_next(self, queue: QueueKey, lease: Lease, *, newest: bool) -> Invocation | None:
        """Lease the first row by priority and then order (the newest first when ``newest``)."""

    async def startable(
        self, queue: QueueKey, n: int, lease: Lease, *, newest: bool = False, level: float | None = None
    ) -> list[str]:
        """Give keys of rows that may start, in the same order; of one priority ``level`` when it is given."""

    async def levels(self, queue: QueueKey, lease: Lease) -> dict[float, int]:
        """Count the rows that may start by their priority."""

    async def apply(self, changes: Sequence[Change]) -> set[str]:
        """Make changes of different rows; the keys of the rows that were changed."""

    async def apply_one(self, change: Change) -> Invocation | None:
        """Make a change of one row; the brief row from before it, or None when its guard did not hold."""

    async def brief(self, keys: Sequence[str]) -> list[Invocation]:
        """Look rows up without their bodies; those that are not there are left out."""

    async def renew(self, keys: Sequence[str], worker_id: str, until: float) -> int:
        """Extend the leases that the worker holds; how many."""

    async def expired(self, now: float, limit: int, queue: QueueKey | None = None) -> list[Invocation]:
        """Give brief rows that run under a lease that ran out."""

    async def overdue(self, by: float, limit: int, queue: QueueKey | None = None) -> list[Invocation]:
        """Give brief rows that wait with a deadline not after ``by``."""

    def walk(self, queue: QueueKey, size: int) -> AsyncIterator[list[Invocation]]:
        """Give all queued and running rows, brief, ``size`` at a time, in no order."""

    async def due(self, queue: QueueKey, now: float, limit: int) -> list[Invocation]:
        """Give brief rows that are queued and could start, in no order."""

    async def count_queued(self, queue: QueueKey) -> int:
        """Count the rows that are queued, delayed ones too."""

    async def times(self, queue: QueueKey, now: float) -> Times:
        """Find the nearest times that want a claim."""

    async def queues(self) -> list[QueueKey]:
        """Give every queue that has a document."""
