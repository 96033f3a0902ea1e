"""A tail in Redis: one stream for each journal, whose ids are the cursors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from lakeshore_controlplane.store.redis_link import LinkDownError, RedisLink
from lakeshore_controlplane.store.tail.memory import JOURNAL_BYTES, JOURNAL_FRAMES

_KEPT_MS = 10 * 60 * 1000
_FIRST_READ = 32
_SEQ_LIMIT = 2**63
_FIELD = b"f"


class RedisTail:
    """A ``Tail`` for any number of replicas. Frame ``seq`` has the stream id ``(seq + 1)-0``: 0-0 is not allowed."""

    def __init__(self, link: RedisLink, *, prefix: str = "lakeshore") -> None:
        """Use ``link``, which ``close`` closes."""
        self._link = link
        self._prefix = prefix

    async def append(self, journal: str, frames: Sequence[tuple[int, bytes]]) -> None:
        """Add frames in one round trip. See ``Tail.append``."""
        kept = [(seq, data) for seq, data in frames if 0 <= seq < _SEQ_LIMIT and len(data) <= JOURNAL_BYTES]
        if not kept or self._link.down:
            return
        key = self._key(journal)

        async def work(client: Redis) -> None:
            pipe = client.pipeline(transaction=False)
            for seq, data in kept:
                # A length for the bytes: as many frames of this size as a journal may keep bytes.
                length = max(1, min(JOURNAL_FRAMES, JOURNAL_BYTES // max(1, len(data))))
                pipe.xadd(key, {_FIELD: data}, id=f"{seq + 1}-0", maxlen=length, approximate=True)
            pipe.pexpire(key, _KEPT_MS)
            _check(await pipe.execute(raise_on_error=False))

        await self._quietly(work)

    async def read(self, journal: str, since: int, limit_bytes: int) -> list[tuple[int, bytes]]:
        """Frames without a gap. See ``Tail.read``."""
        key = self._key(journal)
        found: list[tuple[int, bytes]] = []

        async def work(client: Redis) -> None:
            size, count = 0, _FIRST_READ
            while size < limit_bytes:
                following = since + 1 + len(found)
                rows: Any = await client.xrange(key, min=f"{following + 1}-0", count=count)
                for entry_id, fields in rows:
                    if _seq(entry_id) != since + 1 + len(found) or size >= limit_bytes:
                        return
                    found.append((_seq(entry_id), fields[_FIELD]))
                    size += len(fields[_FIELD])
                if len(rows) < count:
                    return
                count = min(count * 2, JOURNAL_FRAMES)

        if 0 <= since + 1 < _SEQ_LIMIT:
            await self._quietly(work)
        return found

    async def drop(self, journal: str) -> None:
        """Forget a journal. See ``Tail.drop``."""
        await self._quietly(lambda client: client.unlink(self._key(journal)))

    async def close(self) -> None:
        """Close the link."""
        await self._link.close()

    async def _quietly(self, work: Any) -> None:
        """What fails is forgotten: the rows have it."""
        try:
            await self._link.call(work)
        except LinkDownError:
            return

    def _key(self, journal: str) -> bytes:
        return f"{self._prefix}:{{{journal}}}:tail".encode("utf-8", "surrogatepass")


def _check(answers: Sequence[Any]) -> None:
    """Raise the first error that is not about a frame that came before, late or again."""
    for answer in answers:
        if isinstance(answer, Exception) and not (
            isinstance(answer, ResponseError) and "smaller than" in str(answer)
        ):
            raise answer


def _seq(entry_id: bytes) -> int:
    return int(entry_id.split(b"-", 1)[0]) - 1
