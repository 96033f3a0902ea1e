"""What a submit can be told, checked before anything is stored."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from dreamlake.lakeshore.dispatch.plane import Backoff, RunConfig
from dreamlake.lakeshore.errors import ConfigError

Deadline: TypeAlias = "float | datetime | timedelta"
"""Unix time in seconds, a datetime with a time zone, or a span from the moment of submitting."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """One layer of settings: a function's own, or those of one submit. None means: as the layer below says."""

    key: str | None = None
    priority: float | None = None
    retries: int | None = None
    timeout_s: float | None = None
    deadline: Deadline | None = None
    delay_s: float | None = None
    backoff: Backoff | float | None = None

    def __post_init__(self) -> None:
        """Raise ``ConfigError`` for what cannot work, with what can."""
        _check(self.key is None or bool(self.key), "key is a non-empty str")
        _check_number("priority", self.priority, -math.inf)
        _check_number("timeout_s", self.timeout_s, 0.0, above=True)
        _check_number("delay_s", self.delay_s, 0.0)
        _check(
            self.retries is None or (type(self.retries) is int and self.retries >= 0),  # a bool is a slip
            f"retries is a whole number of attempts after the first, 0 or more, not {self.retries!r}",
        )
        if isinstance(self.backoff, Backoff):
            _check_number("backoff.base_s", self.backoff.base_s, 0.0)
            _check_number("backoff.cap_s", self.backoff.cap_s, 0.0)
        else:
            _check_number("backoff", self.backoff, 0.0)
        unix_time(self.deadline)

    def over(self, base: RunConfig) -> RunConfig:
        """Give the configuration of one invocation: these settings, and ``base`` where they are silent."""
        if self is _NOTHING:
            return base
        return RunConfig(
            priority=base.priority if self.priority is None else float(self.priority),
            key=base.key if self.key is None else self.key,
            retries=base.retries if self.retries is None else self.retries,
            timeout_s=base.timeout_s if self.timeout_s is None else float(self.timeout_s),
            deadline=base.deadline if self.deadline is None else unix_time(self.deadline),
            delay_s=base.delay_s if self.delay_s is None else float(self.delay_s),
            backoff=_backoff(self.backoff, base.backoff),
        )


def unix_time(deadline: Deadline | None) -> float | None:
    """Give a deadline as Unix time in seconds. Raises ``ConfigError``."""
    if deadline is None:
        return None
    if isinstance(deadline, timedelta):
        return time.time() + deadline.total_seconds()
    if isinstance(deadline, datetime):
        if deadline.tzinfo is None:
            raise ConfigError(
                f"deadline {deadline.isoformat()} has no time zone: pass an aware datetime, a timedelta, "
                "or Unix seconds"
            )
        return deadline.timestamp()
    _check_number("deadline", deadline, 0.0)
    return float(deadline)


def _backoff(given: Backoff | float | None, base: Backoff | None) -> Backoff | None:
    if given is None:
        return base
    return given if isinstance(given, Backoff) else Backoff(base_s=float(given))


def _check_number(name: str, value: float | None, least: float, *, above: bool = False) -> None:
    if value is None:
        return
    fits = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and (value > least if above else value >= least)
    )
    bound = "" if least == -math.inf else f" {'above' if above else 'of at least'} {least:g}"
    _check(fits, f"{name} is a finite number{bound}, not {value!r}")


def _check(ok: bool, message: str) -> None:
    if not ok:
        raise ConfigError(message)


_NOTHING = RunOptions()


def run_options(  # noqa: PLR0917
    key: str | None = None,
    priority: float | None = None,
    retries: int | None = None,
    timeout_s: float | None = None,
    deadline: Deadline | None = None,
    delay_s: float | None = None,
    backoff: Backoff | float | None = None,
) -> RunOptions:  # noqa: PLR0917, RUF100
    """Make a layer of settings; the usual empty one costs nothing."""
    if not any(
        given is not None for given in (key, priority, retries, timeout_s, deadline, delay_s, backoff)
    ):
        return _NOTHING
    return RunOptions(key, priority, retries, timeout_s, deadline, delay_s, backoff)
