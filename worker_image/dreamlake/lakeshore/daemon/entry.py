"""``python -m dreamlake.lakeshore.daemon.entry``: run the one invocation that lies in the working directory.

The workdir contract of runners that do not speak the envelope: they write it to ``args.msgpack``, start this
module with the directory as cwd, and read ``result.msgpack`` (exit 0) or ``error.json`` (any other exit).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from dreamlake.lakeshore.attempt.failure import error_info
from dreamlake.lakeshore.dispatch.plane import Claimed
from dreamlake.lakeshore.errors import ErrorInfo, LakeshoreError
from dreamlake.lakeshore.worker.execution import Executor
from dreamlake.lakeshore.worker.options import WorkerOptions
from dreamlake.lakeshore.worker.outbox import DoneReport, Report

ALLOW_PICKLED_ENV = "LAKESHORE_ALLOW_PICKLED"


def main() -> int:
    """Run the invocation; 0 when its result was written, 1 when its error was."""
    workdir = Path.cwd()
    result, error = workdir / "result.msgpack", workdir / "error.json"
    try:
        value = _run(workdir)
        try:
            _write(result, value)
        except OSError as exc:
            raise _BodyFailedError(error_info(exc)) from exc
    except _BodyFailedError as failed:
        result.unlink(missing_ok=True)  # of an earlier run in the same place
        _write(error, json.dumps(failed.info.to_dict()).encode())
        print(f"{failed.info.type}: {failed.info.message}", file=sys.stderr)
        return 1
    error.unlink(missing_ok=True)
    return 0


class _BodyFailedError(LakeshoreError):
    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(info.message)
        self.info = info


def _run(workdir: Path) -> bytes:
    try:
        envelope = (workdir / "args.msgpack").read_bytes()
        root = os.environ.get("LAKESHORE_ROOT")
        options = WorkerOptions(
            root=Path(root) if root else workdir,
            allow_pickled=os.environ.get(ALLOW_PICKLED_ENV, "") in {"1", "true", "yes"},
            runtime_policy=os.environ.get("LAKESHORE_RUNTIME_POLICY", "minor"),  # type: ignore[arg-type]
        )
    except (OSError, LakeshoreError) as exc:
        raise _BodyFailedError(error_info(exc)) from exc
    reports: list[Report] = []

    def keep(report: Report, _size: int = 0) -> None:
        reports.append(report)

    executor = Executor(
        root=options.root,
        allow_pickled=options.allow_pickled,
        runtime_policy=options.runtime_policy,
        retries=0,
        report=keep,
        collect_stream=True,
    )
    executor.execute(Claimed(workdir.name, envelope, 1, "default"))
    end: Any = reports[-1]
    assert isinstance(end, DoneReport)
    if end.finished.error is not None:
        raise _BodyFailedError(end.finished.error)
    return end.finished.result or b""


def _write(path: Path, data: bytes) -> None:
    """Write so that a reader sees the whole file or none."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    sys.exit(main())
