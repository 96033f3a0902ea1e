"""The worker's flags: they win, the environment fills the gaps."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.suggest import nearest
from dreamlake.lakeshore.worker.options import RUNTIME_POLICIES, WorkerOptions

_DESCRIPTION = "Take jobs from one queue until SIGTERM or Ctrl-C drains the worker (twice: stops it)."


class _Parser(argparse.ArgumentParser):
    """Raises ``ConfigError`` where the standard parser prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (see `{self.prog} --help`)")


def parse_flags(argv: Sequence[str] | None, program: str) -> argparse.Namespace:
    """Parse a command line. Raises ``ConfigError``; an unknown flag is answered with the nearest one."""
    parser = _parser(program)
    args, unknown = parser.parse_known_args(argv)
    for word in unknown:
        flags = [name for name in parser._option_string_actions if name.startswith("--")]
        parser.error(f"unknown flag {word.split('=')[0]}{nearest(word.split('=')[0], flags)}")
    return args


def options_from(args: argparse.Namespace) -> WorkerOptions:
    """Check the values. Raises ``ConfigError``."""
    return WorkerOptions(
        root=Path(args.root) if args.root else Path.cwd(),
        allow_pickled=args.allow_pickled or not args.url,
        runtime_policy=args.runtime_policy,
        retries=args.retries,
        concurrency=args.concurrency,
        lease_s=args.lease,
        tags=tuple(tag for tag in args.tags.split(",") if tag),
        drain_timeout_s=args.drain_timeout,
        idle_exit_s=0.0 if args.once else args.idle_exit,
        max_jobs=1 if args.once else args.max_jobs,
        health_port=args.health_port,
    )


def _parser(program: str) -> _Parser:
    parser = _Parser(prog=program, description=_DESCRIPTION, allow_abbrev=False)
    _where(parser)
    _how(parser)
    _until(parser)
    return parser


def _where(parser: _Parser) -> None:
    env = os.environ.get
    add = parser.add_argument_group("where").add_argument
    add("--queue", default=env("LAKESHORE_QUEUE", "default"), help="queue to work on [LAKESHORE_QUEUE]")
    add(
        "--root", default=env("LAKESHORE_ROOT"), help="directory of run.read, run.write [LAKESHORE_ROOT; cwd]"
    )
    add("--url", default=env("LAKESHORE_URL"), help="control plane, else the local one [LAKESHORE_URL]")
    add("--namespace", default=env("LAKESHORE_NAMESPACE", "default"), help="namespace [LAKESHORE_NAMESPACE]")
    add("--token", default=env("LAKESHORE_CLIENT_TOKEN"), help="token for --url [LAKESHORE_CLIENT_TOKEN]")
    add("--tags", default="", metavar="A,B", help="tags that the worker carries")
    add("--health-port", type=int, metavar="PORT", help="serve /healthz, /readyz and /metrics there")


def _how(parser: _Parser) -> None:
    add = parser.add_argument_group("how").add_argument
    add("--allow-pickled", action="store_true", help="run functions shipped by value (arbitrary code)")
    add(
        "--runtime-policy",
        default=os.environ.get("LAKESHORE_RUNTIME_POLICY", "minor"),
        help=f"how near the submitter's Python must be: {', '.join(RUNTIME_POLICIES)} [LAKESHORE_RUNTIME_POLICY]",
    )
    add(
        "--concurrency", type=int, default=1, metavar="N", help="bodies at once, each in a process of its own"
    )
    add("--in-process", action="store_true", help="run bodies in the worker's own process, one at a time")
    add(
        "--retries",
        type=int,
        default=1,
        metavar="N",
        help="attempts after the first, for jobs that do not say",
    )
    add("--lease", type=float, default=30.0, metavar="S", help="seconds that a claim stands without renewal")


def _until(parser: _Parser) -> None:
    add = parser.add_argument_group("until").add_argument
    add("--once", action="store_true", help="run at most one job, then exit")
    add("--max-jobs", type=int, metavar="N", help="exit after N jobs")
    add("--idle-exit", type=float, metavar="S", help="exit after S seconds without work")
    add("--drain-timeout", type=float, metavar="S", help="seconds that a drain lets running jobs go on")
    add("--json", action="store_true", help="log as JSON lines, and print the counts as JSON at the end")
