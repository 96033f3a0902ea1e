"""The indexes of every collection, as the adapters ask for them."""

from __future__ import annotations

from lakeshore_controlplane.store.mongo import (
    admission,
    code_repos,
    elasticity_events,
    events,
    identity,
    invocations,
    journals,
    namespaces,
    queues,
    retention,
    statistics,
    workers,
)
from lakeshore_controlplane.store.mongo.database import IndexModel

_ADAPTERS = (
    invocations,
    admission,
    queues,
    statistics,
    workers,
    journals,
    namespaces,
    identity,
    code_repos,
    events,
    elasticity_events,
    retention,
)


def all_indexes() -> dict[str, list[IndexModel]]:
    """Give the indexes by collection."""
    found: dict[str, list[IndexModel]] = {}
    for adapter in _ADAPTERS:
        for collection, models in adapter.INDEXES.items():
            found.setdefault(collection, []).extend(models)
    return found
