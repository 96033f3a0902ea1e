"""What a worker can be told, checked once at the edge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from dreamlake.lakeshore.dispatch.plane import DEFAULT_LEASE_S
from dreamlake.lakeshore.errors import ConfigError

RuntimePolicy: TypeAlias = Literal["strict", "minor", "off"]
RUNTIME_POLICIES: tuple[str, ...] = get_args(RuntimePolicy)

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=:/-]{0,127}")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Everything that shapes a worker's behaviour.

    ``root``: directory that ``run.read`` and ``run.write`` resolve keys in. ``retries``: attempts after the
    first for invocations that do not say. ``lease_s``: seconds that a claim stands without renewal (renewed
    at a third of it). ``drain_timeout_s``: seconds that a drain lets running bodies go on, None for no limit.
    ``idle_exit_s``: end after so many seconds without work. ``max_jobs``: end after so many bodies.
    """

    root: Path = field(default_factory=Path.cwd)
    allow_pickled: bool = False
    runtime_policy: RuntimePolicy = "minor"
    retries: int = 1
    concurrency: int = 1
    lease_s: float = DEFAULT_LEASE_S
    tags: tuple[str, ...] = ()
    drain_timeout_s: float | None = None
    idle_exit_s: float | None = None
    max_jobs: int | None = None
    health_port: int | None = None
    registry: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming the flag."""
        _check(
            self.runtime_policy in RUNTIME_POLICIES, f"runtime policy is one of {', '.join(RUNTIME_POLICIES)}"
        )
        _check(self.retries >= 0, "retries is 0 or more")
        _check(1 <= self.concurrency <= 1024, "--concurrency is between 1 and 1024")
        _check(self.lease_s >= 0.2, "the lease is at least 0.2 seconds")
        _check(self.max_jobs is None or self.max_jobs >= 1, "--max-jobs is 1 or more")
        _check(self.idle_exit_s is None or self.idle_exit_s >= 0, "--idle-exit is 0 or more seconds")
        _check(
            self.drain_timeout_s is None or self.drain_timeout_s >= 0, "--drain-timeout is 0 or more seconds"
        )
        _check(self.health_port is None or 0 <= self.health_port <= 65535, "--health-port is a TCP port")
        for tag in self.tags:
            _check(
                _TAG.fullmatch(tag) is not None,
                f"tag {tag!r}: use letters, digits and . _ = : / -, no spaces",
            )
        _check(self.root.is_dir(), f"root {self.root} is not a directory: create it or give another --root")

    @property
    def renew_every_s(self) -> float:
        """Seconds between renewals: two may be lost before the lease is."""
        return self.lease_s / 3

    @property
    def patience_s(self) -> float:
        """Seconds to insist on one request: the worker comes back to it, and its leases want renewal meanwhile."""
        return min(5.0, self.lease_s / 6)


def _check(ok: bool, message: str) -> None:
    if not ok:
        raise ConfigError(message)
