"""What a blob store does, whatever keeps the bytes. Keys are paths of plain segments: ``namespace/args/...``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from lakeshore_controlplane.faults import StoreUnavailable

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}(?:/[A-Za-z0-9][A-Za-z0-9._:-]{0,199}){1,5}", re.ASCII)


class BlobStat(NamedTuple):
    """What is known of a blob without reading it: bytes, and the sha256 in hex that it was stored under."""

    size: int
    sha256: str | None


class Upload(NamedTuple):
    """A request that a client makes by itself: PUT the bytes to ``url`` with exactly these ``headers``."""

    url: str
    headers: dict[str, str]


class BlobMissingError(Exception):
    """Nothing is stored under the key."""


class Blobs(Protocol):
    """One store for all namespaces. Every failure to reach it is ``StoreUnavailable``, within a limited time.

    A blob is there whole or not at all. What it was stored with (its sha256) is checked when it is read: bytes that
    were cut off or altered are never given to anybody.
    """

    async def put(self, key: str, data: bytes) -> None:
        """Store ``data`` under ``key``, durably, in the place of what was there."""

    async def get(self, key: str) -> bytes:
        """Give the bytes. Raises ``BlobMissingError``."""

    async def stat(self, key: str) -> BlobStat | None:
        """Give size and sha256, or None when nothing is there."""

    async def delete(self, keys: Sequence[str]) -> None:
        """Remove them, however many; those that are not there do not matter."""

    async def presign_put(self, key: str, size: int, sha256: str, ttl_s: float) -> Upload | None:
        """Let a client store exactly these bytes (sha256 in hex) itself; None where it must go through the server."""

    async def presign_get(self, key: str, ttl_s: float) -> str | None:
        """Let a client read the blob itself; None where it must go through the server."""

    async def ping(self) -> None:
        """Raise ``StoreUnavailable`` unless the store answers."""

    async def close(self) -> None:
        """Release threads and connections."""


def check_key(key: str) -> str:
    """Give the key back. Raises ``ValueError``: keys are made by services, so a wrong one is a mistake of ours."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"blob key {key[:80]!r} is not a path of plain segments")
    return key


def checked(data: bytes, stat: BlobStat) -> bytes:
    """Give the bytes back. Raises ``StoreUnavailable`` when they are not those that were stored."""
    if len(data) != stat.size:
        raise StoreUnavailable(
            f"the blob store gave {len(data)} of {stat.size} bytes of a blob", retry_after_s=1.0
        )
    if stat.sha256 is not None and hashlib.sha256(data).hexdigest() != stat.sha256:
        raise StoreUnavailable("the blob store gave other bytes than were stored", retry_after_s=5.0)
    return data
