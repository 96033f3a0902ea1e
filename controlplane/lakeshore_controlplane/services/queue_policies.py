"""What may be declared of a queue: from a request's fields to those of its document. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lakeshore_controlplane.documents import QUEUE_KINDS, QUEUE_STATES
from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.names import nearest

ELASTICITY_KINDS = ("fixed", "fully_elastic", "pool_with_threshold", "max_count")
ON_FULL = ("reject", "block")

_FIELDS = {
    "kind": "kind",
    "kind_params": "kindParams",
    "admission": "admission",
    "elasticity": "elasticity",
    "retention_s": "retentionS",
    "legacy_lease_s": "legacyLeaseS",
}
_MOST = 1 << 31
_LARGEST = 1e300
_LONGEST_S = 1e9


def checked_changes(fields: Mapping[str, object]) -> dict[str, object]:
    """Give the document's form of a declaration's fields; those that are None are left out. Raises ``BadRequest``."""
    refuse_unknown("", fields, _FIELDS)
    given = {name: value for name, value in fields.items() if value is not None}
    if "kind" in given:
        _check_kind(given["kind"])
    if "kind_params" in given:
        given["kind_params"] = _kind_params(_fields("kind_params", given["kind_params"]))
    if "admission" in given:
        given["admission"] = _admission(_fields("admission", given["admission"]))
    if "elasticity" in given:
        _check_elasticity(_fields("elasticity", given["elasticity"]))
    for name in ("retention_s", "legacy_lease_s"):
        if name in given:
            given[name] = number(name, given[name], above=0.0)
    return {_FIELDS[name]: value for name, value in given.items()}


def check_state(state: object) -> None:
    """Raise ``BadRequest`` unless it is a lifecycle state."""
    if state not in QUEUE_STATES:
        raise BadRequest(f"queue state {state!r}: use one of {', '.join(QUEUE_STATES)}")


def number(name: str, value: object, *, least: float = 0.0, above: float | None = None) -> float:
    """Give a finite number of at least ``least``, or above ``above``. Raises ``BadRequest``."""
    found = finite(value)
    if found is None or not _within(found, least, above):
        wanted = f"of at least {least:g}" if above is None else f"above {above:g}"
        raise BadRequest(f"{name} {str(value)[:40]}: use a finite number {wanted}")
    return found


def finite(value: object) -> float | None:
    """Give a number as a float, or None for what is none, not finite, or beyond all use."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        return None
    return float(value)


def refuse_unknown(path: str, fields: Iterable[object], known: Iterable[str]) -> None:
    """Raise ``BadRequest`` for a field that there is not, with the one that may be meant."""
    names = list(known)
    for name in fields:
        if name not in names:
            meant = nearest(str(name), names) or f": there are {', '.join(names)}"
            raise BadRequest(f"{path}{name}: there is no such field{meant}")


def _within(value: float, least: float, above: float | None) -> bool:
    return (value >= least if above is None else value > above) and value <= _LONGEST_S


def _fields(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise BadRequest(f"{name} {value!r}: give its fields")
    return value


def _check_kind(kind: object) -> None:
    if kind not in QUEUE_KINDS:
        raise BadRequest(f"queue kind {kind!r}: use one of {', '.join(QUEUE_KINDS)}")


def _kind_params(given: Mapping[str, object]) -> dict[str, object]:
    refuse_unknown("kind_params.", given, ("temperature", "priority_field"))
    found = {name: value for name, value in given.items() if value is not None}
    temperature = found.get("temperature", 1.0)
    if not (finite(temperature) or 0.0) > 0:
        raise BadRequest(f"temperature {temperature!r}: use a finite number above 0 (1.0 is usual)")
    field = found.get("priority_field", "priority")
    if not isinstance(field, str) or not 0 < len(field) <= 128:
        raise BadRequest(f"kind_params.priority_field {field!r}: use the name of a field of run_config")
    return found


def _admission(given: Mapping[str, object]) -> dict[str, object]:
    refuse_unknown("admission.", given, ("max_depth", "on_full", "rate_limit", "deadline_cutoff_s"))
    found = {name: value for name, value in given.items() if value is not None}
    depth = found.get("max_depth", 1)
    if not isinstance(depth, int) or isinstance(depth, bool) or not 1 <= depth <= _MOST:
        raise BadRequest(f"admission.max_depth {depth!r}: use a whole number from 1 to {_MOST}")
    if found.get("on_full", "reject") not in ON_FULL:
        raise BadRequest(f"admission.on_full {found['on_full']!r}: use one of {', '.join(ON_FULL)}")
    if "deadline_cutoff_s" in found:
        found["deadline_cutoff_s"] = number("admission.deadline_cutoff_s", found["deadline_cutoff_s"])
    if "rate_limit" in found:
        found["rate_limit"] = _rate_limit(_fields("admission.rate_limit", found["rate_limit"]))
    return found


def _rate_limit(given: Mapping[str, object]) -> dict[str, float]:
    refuse_unknown("admission.rate_limit.", given, ("rate", "burst"))
    if given.get("rate") is None:
        raise BadRequest("admission.rate_limit.rate: give the invocations that are taken in a second")
    found = {"rate": number("admission.rate_limit.rate", given["rate"], above=0.0)}
    if given.get("burst") is not None:
        found["burst"] = number("admission.rate_limit.burst", given["burst"], least=1.0)
    return found


def _check_elasticity(given: Mapping[str, object]) -> None:
    """Check the kind; the controller that acts on the rest says what else is wrong with it."""
    kind = given.get("kind")
    if not given or kind in ELASTICITY_KINDS:
        return
    spelled = kind.replace("-", "_") if isinstance(kind, str) else ""
    if spelled in ELASTICITY_KINDS:
        raise BadRequest(f"elasticity.kind {kind!r}: write {spelled!r}, with underscores")
    raise BadRequest(f"elasticity.kind {kind!r}: use one of {', '.join(ELASTICITY_KINDS)}")
