"""Arguments and results of any size: small ones in the row, larger ones in the blob store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import BadRequest, PayloadTooLarge
from lakeshore_controlplane.services.payload_refs import (
    PayloadRef,
    args_ref,
    is_ref,
    new_payload_ref,
    no_such_payload,
    parse_ref,
    result_ref,
)
from lakeshore_controlplane.store.blobs.port import BlobMissingError, Blobs, BlobStat, Upload

_MIB = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LEAVE_OUT = "write the data to a file and pass its key (run.write, run.read)"
_NO_STORE = "or give the server a blob store: LAKESHORE_BLOBS=folder, or s3"


class Stored(NamedTuple):
    """Where a payload went: into the row (``blob``) or the blob store (``ref``); at most one is not None."""

    blob: bytes | None = None
    ref: str | None = None


class Payloads:
    """The payloads of all namespaces. A reference belongs to one invocation, and goes when that one's row goes.

    ``inline_limit``: bytes that a row takes. ``through_limit``: bytes that pass through the server. ``upload_limit``:
    bytes that a client may upload by itself; 5 GiB is what S3 takes in one request. Without ``blobs`` there are rows
    alone.
    """

    def __init__(
        self,
        *,
        blobs: Blobs | None,
        inline_limit: int = _MIB,
        through_limit: int = 64 * _MIB,
        upload_limit: int = 5 << 30,
        url_ttl_s: float = 3600.0,
    ) -> None:
        self._blobs = blobs
        self._inline_limit = inline_limit
        self._through_limit = max(through_limit, inline_limit) if blobs is not None else inline_limit
        self._upload_limit = max(upload_limit, self._through_limit)
        self._url_ttl_s = url_ttl_s

    @property
    def through_limit(self) -> int:
        """The most bytes of one payload that the server itself takes; what routes cap bodies with."""
        return self._through_limit

    async def take_args(
        self, namespace: str, invocation_id: str, blob: bytes | None, ref: str | None
    ) -> Stored:
        """Store a submission's arguments before its row is written, or accept the payload that it names.

        Where the row is refused after all (its id has other content, or an earlier invocation has its key),
        ``discard`` a reference; not where the very same submission came twice: then the row has it.
        Raises ``PayloadTooLarge``, and as ``accept`` does.
        """
        if blob is not None and ref is not None:
            raise BadRequest("both args_blob and args_ref are given: give one")
        if ref is not None:
            await self.accept(namespace, ref)
        if blob is None or len(blob) <= self._inline_limit:
            return Stored(blob, ref)
        return await self._spill(namespace, args_ref(invocation_id, blob), blob)

    async def take_result(
        self, namespace: str, invocation_id: str, attempt: int | None, blob: bytes | None, ref: str | None
    ) -> Stored:
        """Store a report's result before its row is ended, or accept the payload that it names.

        Raises ``PayloadTooLarge``, and as ``accept`` does.
        """
        if blob is not None and ref is not None:
            raise BadRequest("both result_blob and result_ref are given: give one")
        if ref is not None:
            await self.accept(namespace, ref)
        if blob is None or len(blob) <= self._inline_limit:
            return Stored(blob, ref)
        return await self._spill(namespace, result_ref(invocation_id, attempt or 0, blob), blob)

    async def args_of(self, namespace: str, row: Invocation) -> bytes:
        """Give a row's arguments, from wherever they are. Raises as ``fetch`` does: see ``served_by_ref``."""
        ref = row.get("argsRef")
        return row.get("argsBlob", b"") if ref is None else await self.fetch(namespace, ref)

    def served_by_ref(self, ref: str) -> bool:
        """Whether a payload is too large to pass through the server: then its reference is what to send."""
        return parse_ref(ref).size > self._through_limit

    async def announce(self, namespace: str, *, size: int, sha256: str) -> dict[str, object]:
        """Let a client bring a payload, for one invocation: ``{ref, upload?: {url, headers}}``.

        Without ``upload`` it is to be put through the server. Raises ``BadRequest`` and ``PayloadTooLarge``.
        """
        check_announced(size, sha256)
        self._check_size(size, self._through_limit if self._blobs is None else self._upload_limit)
        if self._blobs is None:
            raise BadRequest("this server keeps payloads in its rows alone", hint="send it as args_blob")
        ref = new_payload_ref(size, sha256)
        upload = await self._presign_put(namespace, ref)
        if upload is None:
            self._check_size(size, self._through_limit)
            return {"ref": str(ref)}
        return {"ref": str(ref), "upload": upload._asdict()}

    async def put(self, namespace: str, ref: str, data: bytes) -> None:
        """Take an announced payload through the server; the same one again changes nothing.

        Raises ``NotFound`` for a name that was not announced, ``BadRequest`` for other bytes than were announced.
        """
        known = parse_ref(ref)
        if known.kind != "payload" or self._blobs is None:
            raise no_such_payload(ref)
        self._check_size(max(len(data), known.size), self._through_limit)
        if len(data) != known.size or hashlib.sha256(data).hexdigest() != known.sha256:
            raise BadRequest(
                f"the payload has other content than was announced ({len(data)} of {known.size} bytes)",
                hint="announce it again with its size and sha256",
            )
        await self._blobs.put(known.key(namespace), data)

    async def accept(self, namespace: str, ref: str) -> int:
        """Check, where a submission or a report names it, that an announced payload has come whole; its bytes.

        Raises ``NotFound`` when it has not, ``BadRequest`` when something else lies in its place.
        """
        known = parse_ref(ref)
        stat = await self._stat(namespace, known) if known.kind == "payload" else None
        if stat is None:
            raise no_such_payload(ref)
        if stat.size != known.size or stat.sha256 not in (None, known.sha256):
            raise BadRequest(
                f"the payload {ref[:80]!r} is not the one that was announced",
                hint="announce and upload it again",
            )
        return stat.size

    async def fetch(self, namespace: str, ref: str) -> bytes:
        """Give a payload's bytes. Raises ``NotFound``, and ``PayloadTooLarge`` for what only ``url`` serves."""
        known = parse_ref(ref)
        if self._blobs is None:
            raise no_such_payload(ref)
        self._check_size(known.size, self._through_limit)
        try:
            return await self._blobs.get(known.key(namespace))
        except BlobMissingError:
            raise no_such_payload(ref) from None

    async def size(self, namespace: str, ref: str) -> int:
        """Give a payload's bytes. Raises ``NotFound``."""
        stat = await self._stat(namespace, parse_ref(ref))
        if stat is None:
            raise no_such_payload(ref)
        return stat.size

    async def url(self, namespace: str, ref: str) -> str | None:
        """Give a URL to read a payload from, or None where it is to be fetched. Raises ``NotFound``."""
        known = parse_ref(ref)
        if self._blobs is None:
            raise no_such_payload(ref)
        url = await self._blobs.presign_get(known.key(namespace), self._url_ttl_s)
        if url is not None and await self._stat(namespace, known) is None:
            raise no_such_payload(ref)
        return url

    async def discard(self, namespace: str, refs: Iterable[str]) -> None:
        """Delete payloads, before the rows that name them; one that is gone does not matter."""
        keys = [parse_ref(ref).key(namespace) for ref in refs if is_ref(ref)]
        if keys and self._blobs is not None:
            await self._blobs.delete(keys)

    async def _spill(self, namespace: str, ref: PayloadRef, data: bytes) -> Stored:
        self._check_size(len(data), self._through_limit)
        if self._blobs is None:
            return Stored(blob=data)
        await self._blobs.put(ref.key(namespace), data)
        return Stored(ref=str(ref))

    async def _stat(self, namespace: str, ref: PayloadRef) -> BlobStat | None:
        return None if self._blobs is None else await self._blobs.stat(ref.key(namespace))

    async def _presign_put(self, namespace: str, ref: PayloadRef) -> Upload | None:
        if self._blobs is None:
            return None
        return await self._blobs.presign_put(ref.key(namespace), ref.size, ref.sha256, self._url_ttl_s)

    def _check_size(self, size: int, limit: int) -> None:
        if size <= limit:
            return
        hint = _LEAVE_OUT if self._blobs is not None else f"{_LEAVE_OUT}; {_NO_STORE}"
        raise PayloadTooLarge(
            f"the payload has {size} bytes and the limit here is {shown_size(limit)}", hint=hint
        )


def check_announced(size: object, sha256: object) -> None:
    """Raise ``BadRequest`` unless they are a number of bytes and a digest in hex."""
    if type(size) is not int or size < 0:
        raise BadRequest(f"size {size!r}: give the number of bytes")
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise BadRequest("sha256: give the digest as 64 digits in lower-case hex")


def shown_size(limit: int) -> str:
    """Spell a limit as people write it."""
    for unit, name in ((1 << 30, "GiB"), (_MIB, "MiB"), (1 << 10, "KiB")):
        if limit >= unit and limit % unit == 0:
            return f"{limit // unit} {name}"
    return f"{limit} bytes"
