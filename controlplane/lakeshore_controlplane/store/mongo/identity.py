"""Tokens as documents, by the sha256 of their plaintext."""

from __future__ import annotations

from typing import cast

from lakeshore_controlplane.documents import Token
from lakeshore_controlplane.store.mongo.database import Database, Document, DuplicateKeyError, IndexModel

INDEXES: dict[str, list[IndexModel]] = {
    "tokens": [IndexModel([("tokenId", 1)], unique=True), IndexModel([("namespaceId", 1)])]
}


class TokenRows:
    """The collection ``tokens``. Raises ``StoreUnavailable`` when the database does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database.collection("tokens")

    async def find(self, digest: str) -> Token | None:
        """Give the token with this sha256, or None."""
        async with self._database.speaking():
            return cast("Token | None", await self._rows.find_one({"_id": digest}))

    async def add(self, token: Token) -> bool:
        """Insert a token; False when its sha256 or its id is there already."""
        try:
            async with self._database.speaking():
                await self._rows.insert_one(dict(token))
        except DuplicateKeyError:
            return False
        return True

    async def of_namespaces(self, namespaces: list[str]) -> list[Token]:
        """List tokens, revoked ones too, the oldest first."""
        async with self._database.speaking():
            found = await self._rows.find({"namespaceId": {"$in": namespaces}}).to_list()
        return sorted(cast("list[Token]", found), key=lambda token: (token["createdAt"], token["tokenId"]))

    async def revoke(self, namespaces: list[str], token_id: str, now: float) -> Token | None:
        """Put a tombstone on a token; the first one's time stays. None when there is no such token."""
        which: Document = {"tokenId": token_id, "namespaceId": {"$in": namespaces}}
        async with self._database.speaking():
            await self._rows.update_one(
                {**which, "revokedAt": {"$exists": False}}, {"$set": {"revokedAt": now}}
            )
            return cast("Token | None", await self._rows.find_one(which))
