"""Read a queue.yaml: the same file that ``kubectl apply`` takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dreamlake.lakeshore.dispatch.plane import QUEUE_KINDS, QueueRecord
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.pool.fields import QUEUE, check_fields
from dreamlake.lakeshore.suggest import nearest
from lakeshore_elasticity import Policy, PolicyError, parse_policy

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
        raise ConfigError(f"{path}: {exc.strerror}: give the path of a queue.yaml") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path}: not a text file in UTF-8") from exc
    return parse_queues(text, where=str(path))


def parse_queues(text: str, *, where: str) -> list[QueueSpec]:
    """Parse YAML text; documents of kinds other than Queue are refused."""
    found = [_queue(raw, where) for raw in _documents(text, where)]
    if not found:
        raise ConfigError(f"{where}: no Queue in it; a minimal one is shown by `lakeshore up --example`")
    names = [spec.name for spec in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"{where}: queue {twice[0]!r} is there more than once")
    return found


def _documents(text: str, where: str) -> Iterator[Any]:
    try:
        yield from (raw for raw in yaml.safe_load_all(text) if raw is not None)
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ConfigError(f"{where}{at}: not valid YAML: {exc.problem}") from exc
    except yaml.YAMLError as exc:
        raise ConfigError(f"{where}: not valid YAML: {exc}") from exc


def _queue(raw: Any, where: str) -> QueueSpec:
    if not isinstance(raw, dict):
        raise ConfigError(
            f"{where}: a document is not a set of fields: it starts with apiVersion, kind, metadata, spec"
        )
    _resource(raw, where)
    unused = check_fields(raw, QUEUE, "", where)
    name = _text((raw.get("metadata") or {}).get("name"), "metadata.name", where)
    spec = raw.get("spec") or {}
    return QueueSpec(
        record=_record(name, spec, where),
        policy=_policy(spec.get("elasticity"), where),
        worker=_worker(spec.get("worker") or {}, where),
        unused=tuple(unused),
    )


def _resource(raw: dict[str, Any], where: str) -> None:
    kind = raw.get("kind")
    if kind != "Queue":
        raise ConfigError(f"{where}: kind is {kind!r}, expected Queue{nearest(str(kind), ['Queue'])}")
    version = raw.get("apiVersion")
    if version != API_VERSION:
        raise ConfigError(f"{where}: apiVersion is {version!r}, expected {API_VERSION}")


def _record(name: str, spec: dict[str, Any], where: str) -> QueueRecord:
    kind = spec.get("kind", "fifo")
    if kind not in QUEUE_KINDS:
        raise ConfigError(f"{where}: spec.kind is {kind!r}{nearest(str(kind), QUEUE_KINDS)}")
    params = spec.get("kindParams") or {}
    check_fields(params, {"temperature": "here", "priority_field": "kubernetes"}, "spec.kindParams", where)
    temperature = _number(params.get("temperature", 1.0), "spec.kindParams.temperature", where, low=1e-9)
    return QueueRecord(name=name, kind=kind, temperature=temperature)


def _policy(raw: Any, where: str) -> Policy:
    try:
        return parse_policy({"kind": "fixed"} if raw is None else raw)
    except PolicyError as exc:
        raise ConfigError(f"{where}: spec.elasticity: {exc}") from exc


def _worker(raw: dict[str, Any], where: str) -> WorkerSpec:
    at = "spec.worker"
    drain = raw.get("drainTimeoutSeconds")
    return WorkerSpec(
        concurrency=_whole(raw.get("concurrency", 1), f"{at}.concurrency", where, low=1, high=1024),
        drain_timeout_s=None if drain is None else _number(drain, f"{at}.drainTimeoutSeconds", where),
    )


def _text(value: Any, path: str, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where}: {path} is {value!r}, expected text")
    return value


def _number(value: Any, path: str, where: str, low: float = 0.0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < float("inf"):
        raise ConfigError(f"{where}: {path} is {value!r}, expected a number from {low:g}")
    return float(value)


def _whole(value: Any, path: str, where: str, *, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{where}: {path} is {value!r}, expected a whole number from {low} to {high}")
    return value
