"""The child process of a slot: ``python -m dreamlake.lakeshore.worker.child CHANNEL_FD PROGRESS_FD``.

It knows nothing of planes and leases. It runs the jobs it is sent, one after another, and reports.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from dreamlake.lakeshore.worker.channel import Channel
from dreamlake.lakeshore.worker.execution import Executor
from dreamlake.lakeshore.worker.messages import job_from_list, report_to_list
from dreamlake.lakeshore.worker.orphan import end_with_parent
from dreamlake.lakeshore.worker.outbox import Outbox, Report
from dreamlake.lakeshore.worker.output import capture_output
from dreamlake.lakeshore.worker.progress import Progress

_BROKEN_MESSAGE = 76  # EX_PROTOCOL of sysexits.h


class Child:
    """The loop of the child process."""

    def __init__(self, channel: Channel, progress: Progress) -> None:
        self.channel = channel
        self.progress = progress
        self.outbox = Outbox(self._send)

    def _send(self, reports: list[Report]) -> None:
        try:
            self.channel.send(["reports", [report_to_list(report) for report in reports]])
        except OSError:
            raise
        except BaseException:
            # A signal handler of the body's raised in the middle of a message: the rest of it can only be guessed.
            os._exit(_BROKEN_MESSAGE)

    def run(self) -> None:
        """Serve until told to stop, or until the parent is gone."""
        executor: Executor | None = None
        while True:
            try:
                messages = list(self.channel.receive())
            except EOFError:
                return
            for message in messages:
                if message[0] == "hello":
                    executor = self._hello(message[1])
                elif message[0] == "mount":
                    _import_first_from(message[1])
                elif message[0] == "stop":
                    self._finish(executor)
                    return
                elif executor is not None:
                    self._run_batch(executor, message[1])

    def _hello(self, settings: dict[str, Any]) -> Executor:
        try:
            executor = Executor(
                root=Path(settings["root"]),
                allow_pickled=settings["allow_pickled"],
                runtime_policy=settings["runtime_policy"],
                retries=settings["retries"],
                report=self.outbox.add,
            )
            executor.set_up()
        except Exception as exc:
            self.channel.send(["failed", f"{type(exc).__name__}: {exc}"])
            raise SystemExit(1) from exc
        capture_output(executor)
        self.channel.send(["ready"])
        return executor

    def _run_batch(self, executor: Executor, batch: list[list[Any]]) -> None:
        start = self.progress.start
        skipped = []
        for raw in batch:
            ordinal, job = job_from_list(raw)
            if job.attempt > 1:
                self.outbox.flush()  # should this one end the process again, nothing else is lost
            if start(ordinal, time.monotonic()):
                executor.execute(job)
            else:
                skipped.append(ordinal)
        self.outbox.flush()
        if skipped:
            self.channel.send(["skipped", skipped])
        self.progress.rest()

    def _finish(self, executor: Executor | None) -> None:
        if executor is not None:
            executor.tear_down()
        self.outbox.close()


def _import_first_from(folders: list[str]) -> None:
    sys.path[:0] = folders
    importlib.invalidate_caches()


def main(argv: list[str]) -> None:
    """Run the child on the descriptors given."""
    end_with_parent()
    channel_fd, progress_fd = (int(text) for text in argv)
    progress = Progress(progress_fd)
    os.close(progress_fd)
    channel = Channel(socket.socket(fileno=channel_fd))
    try:
        Child(channel, progress).run()
    except BrokenPipeError:
        pass  # the parent is gone: what was not reported runs again when its lease runs out
    finally:
        channel.close()
        progress.close()


if __name__ == "__main__":
    main(sys.argv[1:])
