"""Opening what a replica keeps things in, as its settings say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.settings import Settings, SettingsError
from lakeshore_controlplane.store.bells.local import LocalBells
from lakeshore_controlplane.store.bells.port import Bells
from lakeshore_controlplane.store.bells.redis import RedisBells
from lakeshore_controlplane.store.blobs.folder import FolderBlobs
from lakeshore_controlplane.store.blobs.port import Blobs
from lakeshore_controlplane.store.blobs.s3 import Bucket, S3Blobs
from lakeshore_controlplane.store.lane.memory import MemoryLane
from lakeshore_controlplane.store.lane.port import Lane
from lakeshore_controlplane.store.lane.redis import RedisLane
from lakeshore_controlplane.store.mongo.database import Database
from lakeshore_controlplane.store.redis_link import RedisLink
from lakeshore_controlplane.store.tail.memory import MemoryTail
from lakeshore_controlplane.store.tail.port import Tail
from lakeshore_controlplane.store.tail.redis import RedisTail


@dataclass(slots=True)
class Stores:
    """The stores of one replica. ``blobs`` None: payloads live in rows alone. No ``links``: no Redis.

    Bells have a link of their own: a full Redis takes no lane any more, and still carries wake-ups.
    """

    database: Database
    lane: Lane
    bells: Bells
    tail: Tail
    blobs: Blobs | None
    links: list[RedisLink]

    async def close(self) -> None:
        """Close every connection."""
        await self.bells.close()
        await self.tail.close()
        await self.lane.close()
        for link in self.links:
            await link.close()
        if self.blobs is not None:
            await self.blobs.close()
        await self.database.close()

    async def readiness(self) -> dict[str, str]:
        """Each store: ``ok``, ``down``, or ``none`` where it is not configured."""
        found = {"documents": await _state(self.database.ping)}
        found["lane"] = (
            "none" if not self.links else ("down" if any(link.down for link in self.links) else "ok")
        )
        found["blobs"] = "none" if self.blobs is None else await _state(self.blobs.ping)
        return found


async def _state(ping: Callable[[], Awaitable[object]]) -> str:
    try:
        await ping()
    except StoreUnavailable:
        return "down"
    return "ok"


def open_stores(settings: Settings) -> Stores:
    """Make the stores; nothing is connected yet. Raises ``SettingsError``."""
    try:
        database = Database(settings.mongo_url.get_secret_value(), settings.mongo_database)
        url = None if settings.redis_url is None else settings.redis_url.get_secret_value()
        links = [] if url is None else [RedisLink(url), RedisLink(url, connections=4)]
    except SettingsError:
        raise
    except Exception as exc:  # each driver has its own way to refuse a URL; none of them may show a password
        raise SettingsError(
            f"LAKESHORE_MONGO_URL or LAKESHORE_REDIS_URL cannot be used: {type(exc).__name__}"
        ) from None
    blobs = _open_blobs(settings)
    if not links:
        return Stores(database, MemoryLane(), LocalBells(), MemoryTail(), blobs, [])
    work, wakeups = links
    return Stores(database, RedisLane(work), RedisBells(wakeups), RedisTail(work), blobs, links)


def _open_blobs(settings: Settings) -> Blobs | None:
    if settings.blobs == "none":
        return None
    if settings.blobs == "folder":
        if not settings.blob_folder:
            raise SettingsError("LAKESHORE_BLOBS=folder needs LAKESHORE_BLOB_FOLDER, a folder of this server")
        return FolderBlobs(Path(settings.blob_folder))
    secret, access = settings.s3_secret_key, settings.s3_access_key
    return S3Blobs(
        Bucket(
            name=settings.s3_bucket,
            endpoint=settings.s3_endpoint,
            region=settings.s3_region,
            access_key=None if access is None else access.get_secret_value(),
            secret_key=None if secret is None else secret.get_secret_value(),
            prefix=settings.s3_prefix,
            path_style=settings.s3_path_style,
            public_endpoint=settings.s3_public_endpoint,
            presigning=settings.s3_presigning,
        )
    )
