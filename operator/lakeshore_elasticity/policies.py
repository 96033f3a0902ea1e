"""The four elasticity policies as values, and how they are read from a queue's ``spec.elasticity``."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

MOST_WORKERS = 1000
"""What ``fully_elastic`` is capped at unless it says otherwise."""
HIGHEST_COUNT = 100_000
"""No count of workers or jobs in a policy is higher: beyond it is a slip of the hand."""
KINDS = ("fixed", "fully_elastic", "pool_with_threshold", "max_count")


class PolicyError(ValueError):
    """A policy that cannot work; the message begins with the field at fault."""


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """``max_step``: workers ordered at once (None: no limit).

    ``economy``: from 0 (off) to 1, the part of a start delay within which a new worker must pay for itself.
    """

    max_step: int | None = None
    economy: float = 0.0


@dataclass(frozen=True, slots=True)
class ScaleDown:
    """Damping on the way down. Times in seconds.

    ``cancel_pending_after_s``: how long workers must have been surplus before those that have not started
    are cancelled. ``stabilization_s``: the same for idle ones, on top of their idle timeout.
    ``max_fraction_per_step``: part of the ready workers that may go at once while there is work.
    """

    cancel_pending_after_s: float = 10.0
    stabilization_s: float = 0.0
    max_fraction_per_step: float = 0.25


@dataclass(frozen=True, slots=True)
class Common:
    """What every policy has.

    ``match``: tags that a worker must carry. ``stale_after_s``: age of a snapshot from which it may only scale up.
    """

    scale_up: ScaleUp = ScaleUp()
    scale_down: ScaleDown = ScaleDown()
    match: tuple[str, ...] = ()
    stale_after_s: float = 15.0


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always ``replicas`` workers, whatever waits."""

    replicas: int = 1
    common: Common = Common()


@dataclass(frozen=True, slots=True)
class FullyElastic:
    """One slot per job that waits or runs, none when idle for the timeout."""

    idle_timeout_s: float = 120.0
    cap: int = MOST_WORKERS
    common: Common = Common()


@dataclass(frozen=True, slots=True)
class PoolWithThreshold:
    """``warm`` workers always; a burst to one slot per job while more than ``threshold`` wait.

    A burst begins when more than ``threshold`` wait for each warm worker, or the oldest waits longer than
    ``age_limit_s``. It ends when at most half of that many wait. With ``warm`` 0 any job begins one: there is nobody
    else to run it.
    """

    max: int
    warm: int = 1
    threshold: int = 1
    age_limit_s: float | None = None
    idle_timeout_s: float = 120.0
    common: Common = Common()

    @property
    def backlog(self) -> int:
        """Waiting jobs above which a burst begins."""
        return self.threshold * self.warm


@dataclass(frozen=True, slots=True)
class MaxCount:
    """As ``FullyElastic``, under a hard ceiling on all workers, those that are going included."""

    max: int
    idle_timeout_s: float = 120.0
    common: Common = Common()


Policy: TypeAlias = Fixed | FullyElastic | PoolWithThreshold | MaxCount

_COMMON = ("kind", "scaleUp", "scaleDown", "match", "staleAfterSeconds")
_OWN = {
    "fixed": ("replicas",),
    "fully_elastic": ("idleTimeoutSeconds", "cap"),
    "pool_with_threshold": ("warm", "threshold", "max", "ageLimitSeconds", "idleTimeoutSeconds"),
    "max_count": ("max", "idleTimeoutSeconds"),
}


def parse_policy(raw: Mapping[str, Any], *, hyphens: bool = False) -> Policy:
    """Read ``spec.elasticity``. Raises ``PolicyError``.

    ``hyphens``: take ``max-count`` for ``max_count``, as a command line does.
    """
    if not isinstance(raw, Mapping):
        raise PolicyError(f"expected fields such as kind and max, not {raw!r}")
    kind = raw.get("kind")
    if hyphens and isinstance(kind, str):
        kind = kind.replace("-", "_")
    if not isinstance(kind, str) or kind not in _OWN:
        hint = " (values are written with underscores)" if isinstance(kind, str) and "-" in kind else ""
        raise PolicyError(f"kind: {kind!r} is not a policy{_nearest(str(kind), KINDS)}{hint}")
    _known(raw, (*_COMMON, *_OWN[kind]), "", f" of kind {kind}")
    common = _common(raw)
    if kind == "fixed":
        return Fixed(_count(raw, "replicas", 1), common)
    idle = _seconds(raw, "idleTimeoutSeconds", 120.0)
    if kind == "fully_elastic":
        return FullyElastic(idle, _count(raw, "cap", MOST_WORKERS, low=1), common)
    most = _count(raw, "max", None, low=1)
    if kind == "max_count":
        return MaxCount(most, idle, common)
    warm = _count(raw, "warm", 1)
    if warm > most:
        raise PolicyError(f"warm: {warm} is more than max, {most}: lower warm or raise max")
    age = None if raw.get("ageLimitSeconds") is None else _seconds(raw, "ageLimitSeconds", 0.0)
    return PoolWithThreshold(most, warm, _count(raw, "threshold", 1), age, idle, common)


def _common(raw: Mapping[str, Any]) -> Common:
    up, down = (
        _section(raw, "scaleUp", ("maxStep", "economy")),
        _section(
            raw, "scaleDown", ("cancelPendingAfterSeconds", "stabilizationSeconds", "maxFractionPerStep")
        ),
    )
    step = None if up.get("maxStep") is None else _count(up, "maxStep", None, low=1, path="scaleUp.")
    fraction = _number(down, "maxFractionPerStep", 0.25, "scaleDown.")
    if not 0 < fraction <= 1:
        raise PolicyError(f"scaleDown.maxFractionPerStep: {fraction:g} is not above 0 and at most 1")
    match = raw.get("match") or ()
    if not isinstance(match, list | tuple) or not all(isinstance(tag, str) and tag for tag in match):
        raise PolicyError(f"match: {match!r} is not a list of tags")
    economy = _number(up, "economy", 0.0, "scaleUp.")
    if economy > 1:
        raise PolicyError(f"scaleUp.economy: {economy:g} is not from 0 to 1")
    return Common(
        ScaleUp(step, economy),
        ScaleDown(
            _seconds(down, "cancelPendingAfterSeconds", 10.0, "scaleDown."),
            _seconds(down, "stabilizationSeconds", 0.0, "scaleDown."),
            fraction,
        ),
        tuple(match),
        _seconds(raw, "staleAfterSeconds", 15.0),
    )


def _section(raw: Mapping[str, Any], name: str, fields: tuple[str, ...]) -> Mapping[str, Any]:
    found = raw.get(name)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise PolicyError(f"{name}: expected fields, not {found!r}")
    _known(found, fields, f"{name}.", "")
    return found


def _known(raw: Mapping[str, Any], fields: Iterable[str], path: str, of: str) -> None:
    names = list(fields)
    for name in raw:
        if name not in names:
            others = [kind for kind, own in _OWN.items() if name in own and not path]
            hint = f" (it belongs to {', '.join(others)})" if others else _nearest(str(name), names)
            raise PolicyError(f"{path}{name}: there is no such field{of}{hint}")


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f": did you mean {close[0]}?" if close else f": there are {', '.join(names)}"


def _count(raw: Mapping[str, Any], name: str, default: int | None, *, low: int = 0, path: str = "") -> int:
    value = raw.get(name, default)
    if value is None:
        raise PolicyError(f"{path}{name}: is needed for this kind")
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= HIGHEST_COUNT:
        raise PolicyError(f"{path}{name}: {value!r} is not a whole number from {low} to {HIGHEST_COUNT}")
    return value


def _number(raw: Mapping[str, Any], name: str, default: float, path: str = "") -> float:
    value = raw.get(name, default)
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits or not math.isfinite(value) or value < 0:
        raise PolicyError(f"{path}{name}: {value!r} is not a number from 0")
    return float(value)


def _seconds(raw: Mapping[str, Any], name: str, default: float, path: str = "") -> float:
    return _number(raw, name, default, path)
