"""Which slot a claim goes to: one whose process has imported nothing of any other code."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from dreamlake.lakeshore.attempt.failure import error_info
from dreamlake.lakeshore.attempt.retrying import may_retry, pause_s
from dreamlake.lakeshore.dispatch.plane import Claimed, Finished
from dreamlake.lakeshore.worker.assigning import share_out
from dreamlake.lakeshore.worker.limits import is_long
from dreamlake.lakeshore.worker.mounts import Code, Mounts, Paths
from dreamlake.lakeshore.worker.outbox import DoneReport
from dreamlake.lakeshore.worker.slot import Slot
from dreamlake.lakeshore.worker.slots import Slots

_Entry: TypeAlias = tuple[Claimed, Code | None]


class Placed(NamedTuple):
    """What a round of placing leaves to do: reports of claims whose code cannot be had, claims to hand back."""

    reports: list[DoneReport]
    surplus: list[Claimed]


class Placing:
    """Claims on their way to slots: they wait for their code to come, or for a process that may run them.

    Modules stay in a process once they are imported, so a process runs from one code for all its life, be it the
    worker's own. Claims for which there is none take the place of an idle one, which is started anew.
    """

    def __init__(self, mounts: Mounts, slots: Slots, retries: int) -> None:
        self._mounts = mounts
        self._slots = slots
        self._retries = retries
        self._waiting: list[_Entry] = []

    @property
    def held(self) -> list[Claimed]:
        """Give the claims that wait; no more should be claimed meanwhile."""
        return [job for job, _ in self._waiting]

    def add(self, jobs: Iterable[Claimed]) -> None:
        """Take claims in, behind the others."""
        self._waiting += [(job, self._mounts.code_of(job)) for job in jobs]

    def take_back(self) -> list[Claimed]:
        """Give all that wait up, to be handed back."""
        jobs = self.held
        self._waiting = []
        return jobs

    def lose(self, ids: set[str]) -> None:
        """Forget claims that are this worker's no more."""
        self._waiting = [(job, code) for job, code in self._waiting if job.id not in ids]

    def place(self) -> Placed:
        """Send what can be sent."""
        reports: list[DoneReport] = []
        ready: dict[Paths, list[_Entry]] = {}
        coming: list[_Entry] = []
        answers: dict[Code, Paths | Exception | None] = {}
        for entry in self._waiting:
            job, code = entry
            if code is not None and code not in answers:
                answers[code] = self._mounts.look(code)
            found = () if code is None else answers[code]
            if found is None:
                coming.append(entry)
            elif isinstance(found, Exception):
                reports.append(self._failed(job, found))
            else:
                ready.setdefault(found, []).append(entry)
        left = [entry for paths, entries in ready.items() for entry in self._send(paths, entries)]
        kept = self._make_room(len(left)) if left else 0
        self._waiting = coming + left[:kept]
        return Placed(reports, [job for job, _ in left[kept:]])

    def _send(self, paths: Paths, entries: Sequence[_Entry]) -> Sequence[_Entry]:
        """Share jobs out among the processes of this code and fresh ones; what found no place."""
        fitting = [(slot, slot.room) for slot in self._slots if slot.mounted in (paths, None)]
        fitting = [(slot, room) for slot, room in fitting if room]
        count = min(sum(room for _, room in fitting), len(entries))
        shares = share_out([job for job, _ in entries[:count]], [room for _, room in fitting])
        for (slot, _), share in zip(fitting, shares, strict=True):
            if share:
                self._mount(slot, paths)
                slot.send(share)
        return entries[count:]

    def _mount(self, slot: Slot, paths: Paths) -> None:
        if slot.mounted is None:
            slot.mount(paths)
            self._mounts.trim({other.mounted for other in self._slots if other.mounted is not None})

    def _make_room(self, wanted: int) -> int:
        """Start idle processes of other code anew, one for each claim; how many claims have a prospect then."""
        slots = list(self._slots)
        starting = sum(not slot.ready or slot.is_retired for slot in slots)
        idle = [slot for slot in slots if slot.ready and slot.is_idle and not slot.is_retired]
        for slot in idle[: max(0, wanted - starting)]:
            slot.retire()
        now = time.monotonic()
        if not idle and not starting and all(is_long(slot.running(), now) for slot in slots):
            return 0
        return len(slots)

    def _failed(self, job: Claimed, error: Exception) -> DoneReport:
        retry = may_retry(error, job, self._retries)
        pause = pause_s(job.backoff, job.attempt) if retry else 0.0
        return DoneReport(
            Finished(job.id, job.attempt, error=error_info(error), retry=retry, delay_s=pause), 0.0
        )
