"""Tokens: made, shown once, looked up at every request, revoked."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import cast

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import SCOPES, Scope, Token
from lakeshore_controlplane.faults import BadRequest, NotFound, RateLimited, Unauthorized
from lakeshore_controlplane.services.caller import EVERYWHERE, Caller
from lakeshore_controlplane.services.copies import Copies
from lakeshore_controlplane.store.bells.port import Bells, Ring
from lakeshore_controlplane.store.mongo.identity import TokenRows

__all__ = ["Caller", "Identity", "check_plaintext"]

_PREFIX = "dlk_"
_PLAINTEXT = re.compile(r"dlk_[A-Za-z0-9_-]{16,200}", re.ASCII)
_BOOTSTRAP = "bootstrap"
_STRANGERS_PER_S = 200
"""Tokens never seen before that are looked up in a second; guesses must not keep the database busy."""
_REMEMBERED = 4_096


def token_topic(digest: str) -> str:
    """The token was revoked: cached copies are stale."""
    return f"token:{digest[:16]}"


def check_plaintext(token: str) -> str:
    """Give a token back that is to be used as it is. Raises ``ValueError``."""
    if not _PLAINTEXT.fullmatch(token):
        raise ValueError(
            "use dlk_ and 16 to 200 letters, digits, - or _, for example dlk_$(openssl rand -hex 32)"
        )
    return token


class Identity:
    """Knows tokens by their sha256 alone. A revocation acts at once where its bell is heard, within 5 s elsewhere."""

    def __init__(self, *, rows: TokenRows, bells: Bells, clock: Clock, open_to_all: bool = False) -> None:
        """``open_to_all``: every request is an admin's of all namespaces, whatever token it brings."""
        self._rows = rows
        self._bells = bells
        self._clock = clock
        self._open_to_all = open_to_all
        self._copies: Copies[str, Token | None] = Copies(
            topic=token_topic, read=rows.find, bells=bells, clock=clock, limit=_REMEMBERED
        )
        self._good: OrderedDict[str, None] = OrderedDict()
        self._strangers = 0
        self._second = 0

    async def caller(self, authorization: str | None) -> Caller:
        """Say who sends this header. Raises ``Unauthorized``, and ``RateLimited`` in a storm of unknown tokens."""
        if self._open_to_all:
            return Caller("", EVERYWHERE, ("admin",))
        digest = _digest(_bearer(authorization))
        if digest not in self._good and not self._copies.has(digest):
            self._admit_stranger()
        token = await self._copies.get(digest)
        if token is None or not hmac.compare_digest(token["_id"], digest) or "revokedAt" in token:
            self._good.pop(digest, None)
            raise Unauthorized("the token is unknown or was revoked")
        if token.get("expiresAt", self._clock.steady() + 1) <= self._clock.steady():
            raise Unauthorized("the token has expired")
        self._remember(digest)
        return Caller(token["tokenId"], token["namespaceId"], tuple(token["scopes"]))

    async def add_token(
        self, namespace: str, *, name: str, scopes: Sequence[str], expires_in_s: float | None = None
    ) -> dict[str, object]:
        """Make a token; the answer holds its plaintext, this once. Raises ``BadRequest``."""
        wrong = [scope for scope in scopes if scope not in SCOPES]
        if wrong or not scopes:
            raise BadRequest(f"scopes {wrong or 'are missing'}: use any of {', '.join(SCOPES)}")
        if expires_in_s is not None and not 0 < expires_in_s <= 1e9:
            raise BadRequest(f"expires_in_s {expires_in_s!r}: use seconds above 0")
        plaintext = _PREFIX + secrets.token_urlsafe(32)
        token = self._token(namespace, plaintext, secrets.token_hex(8), name, scopes)
        if expires_in_s is not None:
            token["expiresAt"] = token["createdAt"] + expires_in_s
        await self._rows.add(token)
        self._bells.ring([Ring(token_topic(token["_id"]))])
        return {"token": plaintext, **_shown(token)}

    async def tokens(self, namespace: str, *, everywhere: bool = False) -> list[dict[str, object]]:
        """List the namespace's tokens, revoked ones too; with ``everywhere`` also those of all namespaces."""
        return [_shown(token) for token in await self._rows.of_namespaces(_reach(namespace, everywhere))]

    async def revoke(self, namespace: str, token_id: str, *, everywhere: bool = False) -> None:
        """Revoke a token, for good. Raises ``NotFound``."""
        found = await self._rows.revoke(_reach(namespace, everywhere), token_id, self._clock.steady())
        if found is None:
            raise NotFound(f"there is no token with the id {token_id[:80]!r}")
        self._good.pop(found["_id"], None)
        self._bells.ring([Ring(token_topic(found["_id"]))])

    async def bootstrap(self, given: str | None) -> str | None:
        """See that there is an admin token of all namespaces, at every start.

        ``given``: the one to use, from the settings; one that was revoked stays revoked. Without it a token is made
        at the first start ever, and given back for the log to show. Raises ``ValueError`` for a ``given`` that is
        no token.
        """
        if given is not None:
            digest = _digest(check_plaintext(given))
            await self._rows.add(
                self._token(EVERYWHERE, given, f"{_BOOTSTRAP}-{digest[:8]}", "given at start", ["admin"])
            )
            return None
        plaintext = _PREFIX + secrets.token_urlsafe(32)
        made = self._token(EVERYWHERE, plaintext, _BOOTSTRAP, "made at the first start", ["admin"])
        if await self._rows.of_namespaces([EVERYWHERE]) or not await self._rows.add(made):
            return None
        return plaintext

    def _token(
        self, namespace: str, plaintext: str, token_id: str, name: str, scopes: Sequence[str]
    ) -> Token:
        return {
            "_id": _digest(plaintext),
            "tokenId": token_id,
            "namespaceId": namespace,
            "name": name,
            "prefix": plaintext[:8],
            "scopes": cast("list[Scope]", list(dict.fromkeys(scopes))),
            "createdAt": self._clock.steady(),
        }

    def _admit_stranger(self) -> None:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._strangers = second, 0
        self._strangers += 1
        if self._strangers > _STRANGERS_PER_S:
            raise RateLimited("too many unknown tokens arrive at this moment", retry_after_s=1.0)

    def _remember(self, digest: str) -> None:
        self._good[digest] = None
        self._good.move_to_end(digest)
        if len(self._good) > _REMEMBERED:
            self._good.popitem(last=False)


def _bearer(authorization: str | None) -> str:
    scheme, _, token = (authorization or "").strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("no token: send it as `Authorization: Bearer dlk_...`")
    if not _PLAINTEXT.fullmatch(token):
        raise Unauthorized("the token is unknown or was revoked", hint="tokens begin with dlk_")
    return token


def _digest(plaintext: str) -> str:
    return hashlib.sha256(plaintext.encode()).hexdigest()


def _reach(namespace: str, everywhere: bool) -> list[str]:
    return [namespace, EVERYWHERE] if everywhere else [namespace]


def _shown(token: Token) -> dict[str, object]:
    return {
        "id": token["tokenId"],
        "namespace": token["namespaceId"],
        "name": token["name"],
        "prefix": token["prefix"],
        "scopes": token["scopes"],
        "created_at": token["createdAt"],
        "expires_at": token.get("expiresAt"),
        "revoked_at": token.get("revokedAt"),
    }
