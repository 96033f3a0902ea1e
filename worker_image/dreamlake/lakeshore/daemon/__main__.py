"""``python -m dreamlake.lakeshore.daemon``: run a worker."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dreamlake.lakeshore.daemon.flags import options_from, parse_flags
from dreamlake.lakeshore.errors import ConfigError, LakeshoreError
from dreamlake.lakeshore.home import open_plane, use_plane
from dreamlake.lakeshore.worker.running import serve

PROGRAM = "python -m dreamlake.lakeshore.daemon"


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {"time": record.created, "level": record.levelname.lower(), "message": record.getMessage()}
        return json.dumps({**fields, "logger": record.name})


def main(argv: Sequence[str] | None = None, *, program: str = PROGRAM) -> int:
    """Run a worker and give the exit status: 0 done, 1 it could not go on, 2 wrong settings."""
    try:
        return _work(argv, program)
    finally:
        _let_go_of_output()


def _let_go_of_output() -> None:
    """Drop what nobody reads any more: at its exit Python would fail to write it, and end with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _work(argv: Sequence[str] | None, program: str) -> int:
    try:
        args = parse_flags(argv, program)
        options = options_from(args)
        plane = open_plane(
            args.url, token=args.token, namespace=args.namespace, patience_s=options.patience_s
        )
    except LakeshoreError as exc:
        print(f"lakeshore worker: {exc}", file=sys.stderr)
        return 2
    use_plane(args.url, token=args.token, namespace=args.namespace)  # for what bodies submit
    _set_up_logs(as_json=args.json)
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # the console script's path lacks it; modules of bodies lie there
    try:
        counters = serve(plane, args.queue, options, in_process=args.in_process)
    except LakeshoreError as exc:
        print(f"lakeshore worker: {exc}", file=sys.stderr)
        return 2 if isinstance(exc, ConfigError) else 1
    finally:
        plane.close()
    if args.json:
        print(json.dumps(counters.totals()))
    return 0


def _set_up_logs(*, as_json: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(
        _JsonLines() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler])


if __name__ == "__main__":
    sys.exit(main())
