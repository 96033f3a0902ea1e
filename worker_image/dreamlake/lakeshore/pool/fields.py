"""The fields that a queue.yaml may have, and where each of them takes effect.

The file is the Queue resource that Kubernetes takes. On one machine some of it has nothing to act on: such
fields are accepted, so that one file serves both, and said to be unused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dreamlake.lakeshore.pool.yaml_text import fault
from dreamlake.lakeshore.suggest import nearest


@dataclass(frozen=True, slots=True)
class Unused:
    """A field that only Kubernetes acts on; ``fields``: those in it, where their names are checked here too."""

    fields: Mapping[str, Shape] = field(default_factory=dict)


Shape: TypeAlias = "str | Unused | Mapping[str, Shape]"

_READ = "read where it acts"
_CLUSTER = Unused()

QUEUE: Mapping[str, Shape] = {
    "apiVersion": _READ,
    "kind": _READ,
    "metadata": {
        "name": _READ,
        # What `kubectl get -o yaml` adds is taken back as it is.
        **dict.fromkeys(
            ("namespace", "labels", "annotations", "uid", "resourceVersion", "generation", "finalizers"),
            _CLUSTER,
        ),
        **dict.fromkeys(("creationTimestamp", "managedFields", "ownerReferences"), _CLUSTER),
    },
    "spec": {
        "kind": _READ,
        "kindParams": {"temperature": _READ, "priority_field": _CLUSTER},
        "elasticity": _READ,
        "admission": Unused(
            {
                "maxDepth": _READ,
                "onFull": _READ,
                "rateLimit": {"rate": _READ, "burst": _READ},
                "deadlineCutoffSeconds": _READ,
            }
        ),
        "deletionPolicy": _CLUSTER,
        "worker": {
            "image": _CLUSTER,
            "concurrency": _READ,
            "resources": _CLUSTER,
            "drainTimeoutSeconds": _READ,
            "allowPickled": _CLUSTER,
            "storage": _CLUSTER,
            "template": _CLUSTER,
        },
    },
    "status": _CLUSTER,
}


def check_fields(raw: Any, shape: Mapping[str, Shape], path: str, where: str) -> list[str]:
    """Check the names of ``raw``'s fields and give the paths of those that have no effect here.

    Raises ``ConfigError`` naming an unknown field's path and the nearest one that exists.
    """
    if not isinstance(raw, Mapping):
        raise fault(where, f"{path or 'the document'} is {_kind(raw)}, expected fields")
    unused: list[str] = []
    for name, value in raw.items():
        here = f"{path}.{name}" if path else str(name)
        known = shape.get(name)
        if known is None:
            raise fault(where, f"unknown field {here}{nearest(str(name), shape)}")
        if isinstance(known, Unused):
            unused.append(here)
            if known.fields and value is not None:
                check_fields(value, known.fields, here, where)
        elif not isinstance(known, str) and value is not None:
            unused += check_fields(value, known, here, where)
    return unused


def _kind(value: Any) -> str:
    names = {list: "a list", str: "text", bool: "yes or no", int: "a number", float: "a number"}
    return names.get(type(value), "something else")
