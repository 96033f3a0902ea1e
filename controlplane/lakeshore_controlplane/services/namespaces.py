"""Namespaces: the walls between tenants, made by those who see over them."""

from __future__ import annotations

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import Namespace
from lakeshore_controlplane.faults import BadRequest, Refused
from lakeshore_controlplane.names import check_namespace
from lakeshore_controlplane.services.caller import (
    DEFAULT_NAMESPACE,
    EVERYWHERE,
    Caller,
    no_such_namespace,
)
from lakeshore_controlplane.services.copies import Copies
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.mongo.namespaces import NamespaceRows


def namespace_topic(name: str) -> str:
    """The namespace was made or deleted: cached copies are stale."""
    return f"namespace:{name}"


class Namespaces:
    """The namespaces of this control plane. ``default`` is always there."""

    def __init__(self, *, rows: NamespaceRows, bells: Bells, clock: Clock) -> None:
        self._rows = rows
        self._bells = bells
        self._clock = clock
        self._copies: Copies[str, Namespace | None] = Copies(
            topic=namespace_topic, read=rows.find, bells=bells, clock=clock
        )

    async def require(self, name: str) -> None:
        """Raise ``NotFound`` unless the namespace is there."""
        if name != DEFAULT_NAMESPACE and await self._copies.get(name) is None:
            raise no_such_namespace(name)

    async def list(self, caller: Caller) -> list[dict[str, object]]:
        """List the namespaces that the caller may see."""
        found = [known for known in await self._rows.all() if caller.namespace in (EVERYWHERE, known["_id"])]
        shown = [_shown(known) for known in found]
        if caller.namespace in (EVERYWHERE, DEFAULT_NAMESPACE):
            shown.append({"name": DEFAULT_NAMESPACE, "created_at": None})
        return sorted(shown, key=lambda known: str(known["name"]))

    async def add(self, caller: Caller, name: str) -> dict[str, object]:
        """Make a namespace; one that is there stays as it is. Raises ``Forbidden`` and ``BadRequest``."""
        caller.require_everywhere()
        try:
            check_namespace(name)
        except ValueError as exc:
            raise BadRequest(str(exc)) from None
        if name == DEFAULT_NAMESPACE:
            return {"name": name, "created_at": None}
        await self._rows.add({"_id": name, "createdAt": self._clock.steady()})
        self._bells.ring([Ring(namespace_topic(name))])
        found = await self._rows.find(name)
        if found is None:
            raise no_such_namespace(name)
        return _shown(found)

    async def delete(self, caller: Caller, name: str) -> None:
        """Delete an empty namespace. Raises ``Forbidden``, ``NotFound`` and, where something is in it, ``Refused``."""
        caller.require_everywhere()
        if name == DEFAULT_NAMESPACE:
            raise Refused("the namespace 'default' is always there")
        if await self._rows.find(name) is None:
            raise no_such_namespace(name)
        used = await self._rows.in_use_by(name)
        if used is not None:
            raise Refused(f"the namespace {name!r} still has {used}: remove them first")
        await self._rows.delete(name)
        self._bells.ring([Ring(namespace_topic(name))])


def _shown(known: Namespace) -> dict[str, object]:
    return {"name": known["_id"], "created_at": known["createdAt"]}
