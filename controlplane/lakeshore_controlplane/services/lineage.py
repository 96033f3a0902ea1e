"""Which tree an invocation belongs to: the root of its parent, looked up once for a whole batch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from lakeshore_controlplane.services.submission import Submission
from lakeshore_controlplane.store.mongo.invocations import InvocationRows

_KEPT = 10_000


class Lineage:
    """Finds roots. The root of a stored row never changes, so the lately used ones are kept."""

    def __init__(self, rows: InvocationRows) -> None:
        self._rows = rows
        self._roots: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def roots(self, namespace: str, submissions: Sequence[Submission]) -> list[str]:
        """Give the root of each: its parent's, the parent itself where that is unknown, or its own id."""
        parents = {item.parent for item in submissions if item.parent is not None}
        known = await self._known(namespace, parents) if parents else {}
        found: list[str] = []
        for item in submissions:
            root = item.id if item.parent is None else known.get(item.parent, item.parent)
            known.setdefault(item.id, root)  # a later one of the batch may be its child
            found.append(root)
        return found

    async def _known(self, namespace: str, parents: Iterable[str]) -> dict[str, str]:
        known: dict[str, str] = {}
        missing: list[str] = []
        for parent in parents:
            root = self._roots.get((namespace, parent))
            if root is None:
                missing.append(parent)
            else:
                known[parent] = root
                self._roots.move_to_end((namespace, parent))
        if missing:
            looked_up = await self._rows.find_roots(namespace, missing)
            known |= looked_up
            self._keep(namespace, looked_up)
        return known

    def _keep(self, namespace: str, roots: dict[str, str]) -> None:
        for inv_id, root in roots.items():
            self._roots[namespace, inv_id] = root
        while len(self._roots) > _KEPT:
            self._roots.popitem(last=False)
