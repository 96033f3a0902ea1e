"""The fields that a queue.yaml may have, and where each of them takes effect.

The file is the Queue resource that Kubernetes takes. On one machine some of it has nothing to act on: such
fields are accepted, so that one file serves both, and said to be unused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.suggest import nearest

Use: TypeAlias = Literal["here", "kubernetes"]
Shape: TypeAlias = "Use | Mapping[str, Shape]"

QUEUE: Mapping[str, Shape] = {
    "apiVersion": "here",
    "kind": "here",
    "metadata": {
        "name": "here",
        "namespace": "kubernetes",
        "labels": "kubernetes",
        "annotations": "kubernetes",
    },
    "spec": {
        "kind": "here",
        "kindParams": "here",
        "elasticity": "here",
        "admission": "kubernetes",
        "deletionPolicy": "kubernetes",
        "worker": {
            "image": "kubernetes",
            "concurrency": "here",
            "resources": "kubernetes",
            "drainTimeoutSeconds": "here",
            "allowPickled": "kubernetes",
            "storage": "kubernetes",
            "template": "kubernetes",
        },
    },
    "status": "kubernetes",
}


def check_fields(raw: Any, shape: Mapping[str, Shape], path: str, where: str) -> list[str]:
    """Check the names of ``raw``'s fields and give the paths of those that have no effect here.

    Raises ``ConfigError`` naming an unknown field's path and the nearest one that exists.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where}: {path or 'the document'} is a {_kind(raw)}, expected fields")
    unused: list[str] = []
    for name, value in raw.items():
        here = f"{path}.{name}" if path else str(name)
        known = shape.get(name)
        if known is None:
            raise ConfigError(f"{where}: unknown field {here}{nearest(str(name), shape)}")
        if known == "kubernetes":
            unused.append(here)
        elif not isinstance(known, str) and value is not None:
            unused += check_fields(value, known, here, where)
    return unused


def _kind(value: Any) -> str:
    if value is None:
        return "blank"
    return {list: "list", str: "text", bool: "yes/no", int: "number", float: "number"}.get(
        type(value), "value"
    )
