"""Bodies of the admin routes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lakeshore_controlplane.api.bodies.fields import Body, FreeMap, QueueName, Seconds
from lakeshore_controlplane.api.bodies.producer import QueueDeclaration

_Short = Annotated[str, Field(max_length=512)]


class NewQueue(QueueDeclaration):
    """A queue to be made."""

    name: QueueName


class QueueChanges(Body):
    """What shall change; the rest stays."""

    kind: _Short | None = None
    kind_params: FreeMap | None = None
    admission: FreeMap | None = None
    elasticity: FreeMap | None = None
    retention_s: Seconds | None = None
    legacy_lease_s: Seconds | None = None


class NewToken(Body):
    """A token to be made; its scopes are any of producer, worker, admin and operator."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    scopes: Annotated[list[_Short], Field(min_length=1, max_length=8)]
    expires_in_s: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None


class NewNamespace(Body):
    """A namespace to be made."""

    name: _Short


class NewElasticityEvent(Body):
    """A decision of the elasticity controller."""

    kind: Literal["scale_up", "scale_down", "tick_noop"]
    reason: Annotated[str, Field(max_length=4096)]
    before: FreeMap = Field(default_factory=dict)
    after: FreeMap = Field(default_factory=dict)
