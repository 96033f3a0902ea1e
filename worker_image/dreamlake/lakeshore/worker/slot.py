"""The parent's side of one slot: a child process that runs bodies one after another."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dreamlake.lakeshore.dispatch.plane import Claimed
from dreamlake.lakeshore.errors import ErrorInfo
from dreamlake.lakeshore.worker.channel import Channel
from dreamlake.lakeshore.worker.limits import is_long
from dreamlake.lakeshore.worker.messages import job_to_list, report_from_list
from dreamlake.lakeshore.worker.outbox import DoneReport, Report
from dreamlake.lakeshore.worker.prefetch import Prefetch
from dreamlake.lakeshore.worker.progress import Progress

_CHILD = "dreamlake.lakeshore.worker.child"


class Slot:
    """A child process, the claims it holds in order, and what is known of its pace."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.ready = False
        self.prefetch = Prefetch()
        self.killed_because: ErrorInfo | None = None
        self.killed_job: Claimed | None = None
        self.start_failure: str | None = None
        self.mounted: tuple[str, ...] | None = None
        """The code that the process runs from; empty for the worker's own, None as long as it has run nothing."""
        self._retired_at: float | None = None
        self._held: dict[int, Claimed] = {}
        self._skipped: list[Claimed] = []
        self._ordinals = 0
        self._oom_kills = _oom_kills()
        parent, child = socket.socketpair()
        fd = Progress.create()
        try:
            self._progress = Progress(fd)
            self._process = _start(child.fileno(), fd)
        finally:
            child.close()
            os.close(fd)
        self.death_fd = _death_fd(self._process.pid)
        self.channel = Channel(parent)
        self.channel.post(["hello", settings])

    # -- what it holds
    @property
    def held(self) -> list[Claimed]:
        """Give the claims sent and not reported, in the order in which they run."""
        return list(self._held.values())

    @property
    def is_idle(self) -> bool:
        """Whether nothing is held."""
        return not self._held

    @property
    def room(self) -> int:
        """Claims that may be sent now; refilled by halves, so that a busy slot takes few, large batches.

        None behind a body that has run for longer than expected: they would be handed back, and claimed again.
        """
        if not self.ready or self.killed_because is not None or self.is_retired:
            return 0
        if self._held and is_long(self.running(), time.monotonic()):
            return 0
        window = self.prefetch.window
        free = window - len(self._held)
        return free if not self._held or free * 2 >= window else 0

    def mount(self, paths: tuple[str, ...]) -> None:
        """Let the process import from these folders first, for the rest of its life."""
        self.mounted = paths
        if paths:
            self.channel.post(["mount", list(paths)])

    def send(self, jobs: Sequence[Claimed]) -> None:
        """Give claims to the child, behind those it holds."""
        batch = []
        for job in jobs:
            self._ordinals += 1
            self._held[self._ordinals] = job
            batch.append(job_to_list(self._ordinals, job))
        self.channel.post(["run", batch])

    def running(self) -> tuple[Claimed, float] | None:
        """Give the claim whose body runs now and when it started (monotonic seconds), or None."""
        ordinal, started = self._progress.current()
        job = self._held.get(ordinal)
        return None if job is None else (job, started)

    def take_back(self) -> list[Claimed]:
        """Take back every claim whose body has not started; they will not run here."""
        if len(self._held) == 0:
            return []
        self._progress.take_back(min(self._held), self._ordinals + 1)
        time.sleep(0.001)  # let a start that is being noted at this instant become visible
        current, _ = self._progress.current()
        taken = [ordinal for ordinal in self._held if ordinal > current]
        return [self._held.pop(ordinal) for ordinal in taken]

    def take_skipped(self) -> list[Claimed]:
        """Give the claims that the child did not start though the parent thought so; to be handed back.

        It happens when a claim is taken back in the very moment in which its start is noted.
        """
        skipped, self._skipped = self._skipped, []
        return skipped

    # -- what it says
    def read(self) -> list[Report]:
        """Read what the child sent. Raises ``EOFError`` when it is gone."""
        reports: list[Report] = []
        for message in self._messages():
            if message[0] == "ready":
                self.ready = True
            elif message[0] == "failed":
                self.start_failure = str(message[1])
            elif message[0] == "skipped":
                self._skipped += [self._held.pop(n) for n in message[1] if n in self._held]
            else:
                reports += [report_from_list(raw) for raw in message[1]]
        self._learn(reports)
        return reports

    def _messages(self) -> list[list[Any]]:
        try:
            return list(self.channel.receive(block=False))
        except BlockingIOError:
            if self.has_ended():  # and the channel is held open by what its body left behind
                raise EOFError from None
            return []

    def _learn(self, reports: Sequence[Report]) -> None:
        ends = [report for report in reports if isinstance(report, DoneReport)]
        if not ends:
            return
        self.prefetch.observe(sum(end.duration_s for end in ends), len(ends))
        ended = {(end.finished.id, end.finished.attempt) for end in ends}
        for ordinal, job in list(self._held.items()):
            if (job.id, job.attempt) in ended:
                del self._held[ordinal]
                ended.discard((job.id, job.attempt))
                if not ended:  # bodies end in order: what is left is behind
                    break

    # -- how it ends
    def kill(self, because: ErrorInfo, job: Claimed | None = None) -> None:
        """End the child and the processes its body started, at once; ``because`` becomes the error of ``job``.

        Should another one run by then, it is not blamed. Without ``job``, whatever runs is meant.
        """
        if self.killed_because is None:
            self.killed_because, self.killed_job = because, job
        self._kill_group()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Say whether the child has ended."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """Ask the child to end once it has run what it holds."""
        self.channel.post(["stop"])

    def retire(self) -> None:
        """Ask an idle child to end, for another one to take its place."""
        self._retired_at = time.monotonic()
        self.stop()

    @property
    def is_retired(self) -> bool:
        """Whether it was asked to make place."""
        return self._retired_at is not None

    def hurry(self, limit_s: float) -> None:
        """End a retired child whose shutdown hooks take longer than ``limit_s`` seconds."""
        if self._retired_at is not None and time.monotonic() - self._retired_at > limit_s:
            self._kill_group()

    def reap(self, timeout: float = 10.0) -> tuple[int, bool]:
        """Wait for the child's end: its status as ``Popen.returncode`` and whether memory ran out meanwhile."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._kill_group()
            status = self._process.wait(timeout)
        self._kill_group()  # processes that its body left behind
        return status, status == -signal.SIGKILL and _oom_kills() > self._oom_kills

    def last_words(self, timeout: float = 10.0) -> list[Report]:
        """Read to the end what a child that was stopped or killed still said, for up to ``timeout`` seconds."""
        reports: list[Report] = []
        until = time.monotonic() + timeout
        while select.select([self.channel], [], [], max(0.0, until - time.monotonic()))[0]:
            try:
                reports += self.read()
            except EOFError:
                break
        return reports

    def current_ordinal(self) -> int:
        """Give the ordinal noted last as running, 0 for none; for the time after the child's death."""
        return self._progress.current()[0]

    def current_start(self) -> float:
        """Give when that body started (monotonic seconds)."""
        return self._progress.current()[1]

    def held_by_ordinal(self) -> dict[int, Claimed]:
        """Give what is held by ordinal."""
        return dict(self._held)

    def close(self) -> None:
        """Free the descriptors; the child must have been reaped."""
        self.channel.close()
        self._progress.close()
        if self.death_fd >= 0:
            os.close(self.death_fd)


def _start(channel_fd: int, progress_fd: int) -> subprocess.Popen[bytes]:
    # A session of its own: the terminal's Ctrl-C reaches the parent alone, which drains; and killing the
    # group ends what a body has started.
    return subprocess.Popen(
        [sys.executable, "-m", _CHILD, str(channel_fd), str(progress_fd)],
        stdin=subprocess.DEVNULL,
        pass_fds=(channel_fd, progress_fd),
        start_new_session=True,
    )


def _death_fd(pid: int) -> int:
    """Give a descriptor that becomes readable when a child process ends, or -1 where there are none such.

    The end of the channel tells the same, unless a body has left processes behind that hold it open.
    """
    if sys.platform != "linux":
        return -1
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def _oom_kills() -> int:
    try:
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
