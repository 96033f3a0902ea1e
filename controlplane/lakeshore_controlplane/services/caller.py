"""Who asks, and what that lets them do."""

from __future__ import annotations

from typing import NamedTuple

from lakeshore_controlplane.documents import Scope
from lakeshore_controlplane.faults import Forbidden, NotFound

EVERYWHERE = "*"
"""The namespace of tokens that are good for all of them."""
DEFAULT_NAMESPACE = "default"


class Caller(NamedTuple):
    """The token of a request. ``namespace`` is ``*`` for one that is good for all namespaces."""

    token_id: str
    namespace: str
    scopes: tuple[Scope, ...]

    def allow(self, scope: Scope) -> bool:
        """Whether the token has the scope; an admin has all."""
        return scope in self.scopes or "admin" in self.scopes

    def require(self, *scopes: Scope) -> None:
        """Raise ``Forbidden`` unless the token has one of these scopes."""
        if not any(self.allow(scope) for scope in scopes):
            raise Forbidden(
                f"the token has no scope for this: it needs {' or '.join(scopes)}",
                hint="ask an admin of the namespace for a token with that scope",
            )

    def require_everywhere(self) -> None:
        """Raise ``Forbidden`` unless the token is an admin's of all namespaces."""
        if self.namespace != EVERYWHERE or "admin" not in self.scopes:
            raise Forbidden("the token is good for one namespace: this needs an admin of all namespaces")

    def namespace_for(self, path_namespace: str | None) -> str:
        """Give the namespace that a path means; None: the token's own. Raises ``NotFound`` for another tenant's."""
        if path_namespace is None:
            return DEFAULT_NAMESPACE if self.namespace == EVERYWHERE else self.namespace
        if self.namespace not in (EVERYWHERE, path_namespace):
            raise no_such_namespace(path_namespace)
        return path_namespace


def no_such_namespace(name: str) -> NotFound:
    """Make the refusal; the same for one that is another tenant's and for one that is not there."""
    return NotFound(f"there is no namespace {name[:128]!r}")
