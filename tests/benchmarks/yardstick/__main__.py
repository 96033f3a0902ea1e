"""``python -m yardstick``: run the benchmarks; ``scripts/bench`` calls it."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from yardstick.machine import Moment, others_percent, this_machine
from yardstick.plan import PARTS, QUICK, WHOLE, Plan, run
from yardstick.processes import adopt_orphans, end_children
from yardstick.report import render, summary
from yardstick.results import Results

_PAGE = Path(__file__).resolve().parents[3] / "docs" / "benchmarks.md"


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the flags ask for; 0 unless one of Lakeshore's own measures could not be taken."""
    args = _flags(argv)
    plan: Plan = QUICK if args.quick else WHOLE
    results = Results(this_machine(), datetime.now(UTC).date().isoformat(), plan.settings())
    began, before = time.monotonic(), Moment.now()
    os.environ["LAKESHORE_PUSH_CODE"] = "off"  # workers run in this folder
    adopt_orphans()
    signal.signal(signal.SIGTERM, _stop)
    try:
        run(plan, args.only, results, lambda text: _say(began, text), peers=not args.no_peers)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    finally:
        end_children(keep=set())
    results.others_percent = others_percent(before, Moment.now(), results.machine.cores)
    if args.json:
        args.json.write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")
    _finish(results, args)
    return 1 if results.failed else 0


def _finish(results: Results, args: argparse.Namespace) -> None:
    for row in summary(results):
        print(
            f"{row.verdict.strip('*'):12}  {row.measure}: {row.measured} (bar {row.bar.text if row.bar else ''})"
        )
    whole = not args.quick and set(args.only) == set(PARTS) and not args.no_peers
    print(f"Other processes used {results.others_percent:.0f} % of the machine meanwhile.")
    page = args.page or (_PAGE if whole else None)
    if page is None:
        print("Only a whole run writes docs/benchmarks.md (or give --page FILE).")
        return
    page.write_text(render(results), encoding="utf-8")
    print(f"Wrote {page.name}.")


def _flags(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        allow_abbrev=False,
        description="Measure Lakeshore beside its peers, and write docs/benchmarks.md.",
    )
    parser.add_argument(
        "--only", type=_parts, default=list(PARTS), help=f"parts, by comma: {','.join(PARTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="smaller numbers and one round")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every repeat's figures there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the report there")
    return parser.parse_args(argv)


def _parts(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [part for part in parts if part not in PARTS]
    if unknown or not parts:
        raise argparse.ArgumentTypeError(
            f"{', '.join(unknown) or 'nothing'}: the parts are {', '.join(PARTS)}"
        )
    return parts


def _say(began: float, text: str) -> None:
    print(f"[{time.monotonic() - began:5.0f} s] {text}", file=sys.stderr, flush=True)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
