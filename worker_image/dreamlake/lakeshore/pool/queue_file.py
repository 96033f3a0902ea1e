"""Read a queue.yaml: the same file that ``kubectl apply`` takes."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dreamlake.lakeshore.dispatch.names import check_queue
from dreamlake.lakeshore.dispatch.plane import QUEUE_KINDS, QueueRecord
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.pool.fields import QUEUE, check_fields
from dreamlake.lakeshore.pool.yaml_text import documents, fault
from dreamlake.lakeshore.suggest import nearest
from lakeshore_elasticity import Policy, PolicyError, parse_policy
from lakeshore_elasticity.policies import KINDS as POLICY_KINDS

API_GROUP = "lakeshore.dreamlake.ai"
API_VERSION = f"{API_GROUP}/v1alpha1"


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """``spec.worker``, as far as it acts on one machine."""

    concurrency: int = 1
    drain_timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """One Queue of the file. ``unused``: paths of fields that only Kubernetes acts on."""

    record: QueueRecord
    policy: Policy
    worker: WorkerSpec
    unused: tuple[str, ...]

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.record.name


def read_queue_file(path: Path) -> list[QueueSpec]:
    """Read the Queues of a file, in order. Raises ``ConfigError`` naming the file, and the field at fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise fault(str(path), f"{exc.strerror}: give the path of a queue.yaml") from exc
    except UnicodeDecodeError as exc:
        raise fault(str(path), "not a text file in UTF-8") from exc
    except ValueError as exc:
        raise fault(repr(str(path)), f"not the path of a file: {exc}") from exc
    return parse_queues(text, where=str(path))


def parse_queues(text: str, *, where: str) -> list[QueueSpec]:
    """Parse YAML text; documents of kinds other than Queue are refused. Raises ``ConfigError``, always one line."""
    found = [_queue(raw, where) for raw in documents(text, where)]
    if not found:
        raise fault(where, "no Queue in it; a minimal one is shown by `lakeshore up --example`")
    check_distinct(found, where)
    return found


def check_distinct(specs: list[QueueSpec], where: str) -> None:
    """Raise ``ConfigError`` when a queue is declared twice."""
    names = [spec.name for spec in specs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise fault(where, f"queue {twice[0]!r} is there more than once")


def _queue(raw: Any, where: str) -> QueueSpec:
    if not isinstance(raw, dict):
        raise fault(
            where, "a document is not a set of fields: it starts with apiVersion, kind, metadata, spec"
        )
    _resource(raw, where)
    unused = check_fields(raw, QUEUE, "", where)
    spec = raw.get("spec") or {}
    policy = _policy(spec.get("elasticity"), where)
    if policy.common.match:
        unused.append("spec.elasticity.match")
    return QueueSpec(
        record=_record(_name(raw.get("metadata") or {}, where), spec, where),
        policy=policy,
        worker=_worker(spec.get("worker") or {}, where),
        unused=tuple(unused),
    )


def _resource(raw: dict[str, Any], where: str) -> None:
    for field, expected in (("kind", "Queue"), ("apiVersion", API_VERSION)):
        found = raw.get(field)
        if found is None:
            check_fields(raw, QUEUE, "", where)  # it may be there with a typo in its name
            raise fault(where, f"{field} is missing, expected {expected}")
        if found != expected:
            raise fault(where, f"{field} is {_show(found)}, expected {expected}")


def _name(metadata: dict[str, Any], where: str) -> str:
    name = metadata.get("name")
    if name is None:
        raise fault(where, "metadata.name is missing: it is the queue's name")
    if not isinstance(name, str):
        raise fault(where, f"metadata.name is {_show(name)}, expected text (put it in quotes)")
    try:
        return check_queue(name)
    except ConfigError as exc:
        raise fault(where, f"metadata.name: {exc}") from exc


def _record(name: str, spec: dict[str, Any], where: str) -> QueueRecord:
    kind = spec.get("kind", "fifo")
    if kind not in QUEUE_KINDS:
        raise fault(where, f"spec.kind is {_show(kind)}{nearest(str(kind), QUEUE_KINDS)}")
    given = (spec.get("kindParams") or {}).get("temperature")
    if given is not None and kind != "boltzmann":
        raise fault(where, f"spec.kindParams.temperature belongs to kind boltzmann, and spec.kind is {kind}")
    temperature = 1.0 if given is None else _number(given, "spec.kindParams.temperature", where, low=1e-9)
    return QueueRecord(name=name, kind=kind, temperature=temperature)


def _policy(raw: Any, where: str) -> Policy:
    at = "spec.elasticity"
    if raw is None:
        raw = {"kind": "fixed"}
    if not isinstance(raw, Mapping):
        raise fault(where, f"{at} is {_show(raw)}, expected fields such as kind and max")
    if not isinstance(raw.get("kind"), str):
        raise fault(
            where, f"{at}.kind is {_show(raw.get('kind'))}, expected one of {', '.join(POLICY_KINDS)}"
        )
    try:
        return parse_policy(raw)
    except PolicyError as exc:
        raise fault(where, f"{at}.{exc}") from exc
    except OverflowError as exc:
        raise fault(where, f"{at} has a number that is too large") from exc


def _worker(raw: dict[str, Any], where: str) -> WorkerSpec:
    at = "spec.worker"
    slots, drain = raw.get("concurrency"), raw.get("drainTimeoutSeconds")
    return WorkerSpec(
        concurrency=1 if slots is None else _whole(slots, f"{at}.concurrency", where, low=1, high=1024),
        drain_timeout_s=None if drain is None else _number(drain, f"{at}.drainTimeoutSeconds", where),
    )


def _number(value: Any, path: str, where: str, low: float = 0.0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < math.inf:
        raise fault(where, f"{path} is {_show(value)}, expected a number from {low:g}")
    try:
        return float(value)
    except OverflowError as exc:
        raise fault(where, f"{path} is too large a number") from exc


def _whole(value: Any, path: str, where: str, *, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise fault(where, f"{path} is {_show(value)}, expected a whole number from {low} to {high}")
    return value


def _show(value: Any) -> str:
    return reprlib.repr(value)
