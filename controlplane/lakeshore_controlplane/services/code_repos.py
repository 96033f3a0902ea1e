"""Snapshots of git trees that invocations run from: one archive for each remote and commit of a namespace."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlsplit

from lakeshore_controlplane.clock import Clock
from lakeshore_controlplane.documents import CodeRepo
from lakeshore_controlplane.faults import BadRequest, NotFound, PayloadTooLarge
from lakeshore_controlplane.services.payloads import check_announced, shown_size
from lakeshore_controlplane.store.blobs.port import BlobMissingError, Blobs
from lakeshore_controlplane.store.mongo.code_repos import CodeRepoRows

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_ID = re.compile(r"[0-9a-f]{40}", re.ASCII)
_LONGEST_REMOTE = 2048


class CodeRepos:
    """The archives of all namespaces.

    ``limit``: bytes of one archive. Clients may race to bring one commit: the first archive that came whole is the
    one that is kept, and no later one replaces it.
    """

    def __init__(
        self,
        *,
        rows: CodeRepoRows,
        blobs: Blobs | None,
        clock: Clock,
        limit: int = 256 << 20,
        url_ttl_s: float = 3600.0,
    ) -> None:
        self._rows = rows
        self._blobs = blobs
        self._clock = clock
        self._limit = limit
        self._url_ttl_s = url_ttl_s

    async def announce(
        self, namespace: str, *, remote: str, commit: str, dirty: bool, size: int, sha256: str
    ) -> dict[str, object]:
        """Say whether an archive is there: ``{code_repo_id, exists, upload?: {url, headers}}``.

        Without ``exists``, it is to be uploaded, to ``upload`` or by ``put``. After an upload to ``upload``, announcing
        again makes it known. Raises ``BadRequest``, and ``PayloadTooLarge`` for more than the limit.
        """
        blobs = self._store()
        _check(remote, commit)
        check_announced(size, sha256)
        self._check_size(size)
        repo_id = code_repo_id(remote, commit)
        fresh = self._fresh(namespace, repo_id, remote, commit, dirty=dirty, size=size, sha256=sha256)
        if await self._is_there(blobs, fresh):
            return {"code_repo_id": repo_id, "exists": True}
        await self._rows.offer(fresh)
        upload = await blobs.presign_put(fresh["blobKey"], size, sha256, self._url_ttl_s)
        answer: dict[str, object] = {"code_repo_id": repo_id, "exists": False}
        return answer if upload is None else answer | {"upload": upload._asdict()}

    async def put(self, namespace: str, repo_id: str, data: bytes) -> None:
        """Take an archive through the server; when one is there already, nothing changes.

        Raises ``NotFound`` for an id that was not announced, ``BadRequest`` for other bytes than were announced last.
        """
        blobs = self._store()
        row = await self._row(namespace, repo_id)
        if "uploadedAt" in row:
            return
        self._check_size(len(data))
        digest = hashlib.sha256(data).hexdigest()
        if digest != row["sha256"]:
            raise BadRequest(
                f"the archive of commit {row['commit'][:12]} has other content than was announced last",
                hint="announce it again with its size and sha256, then upload it",
            )
        await blobs.put(row["blobKey"], data)
        await self._finish(row)

    async def get(self, namespace: str, repo_id: str) -> CodeRepo:
        """Give what is known of an archive. Raises ``NotFound``."""
        return await self._row(namespace, repo_id)

    async def fetch(self, namespace: str, repo_id: str) -> bytes:
        """Give an archive. Raises ``NotFound`` when it was never announced, or has not come yet."""
        blobs = self._store()
        row = await self._row(namespace, repo_id)
        try:
            return await blobs.get(row["blobKey"])
        except BlobMissingError:
            raise _not_come(row) from None

    async def url(self, namespace: str, repo_id: str) -> str | None:
        """Give a URL to read an archive from, or None where it is to be fetched. Raises ``NotFound``."""
        blobs = self._store()
        row = await self._row(namespace, repo_id)
        url = await blobs.presign_get(row["blobKey"], self._url_ttl_s)
        if url is not None and await blobs.stat(row["blobKey"]) is None:
            raise _not_come(row)
        return url

    async def _is_there(self, blobs: Blobs, fresh: CodeRepo) -> bool:
        row = await self._rows.find(fresh["_id"])
        if row is not None and "uploadedAt" in row:
            if await blobs.stat(row["blobKey"]) is not None:
                return True
            await self._rows.forget_upload(row["_id"], row["blobKey"])  # the store was emptied
            return False
        stat = await blobs.stat(fresh["blobKey"])
        if stat is None or stat.size != fresh["size"]:
            return False
        await self._rows.offer(fresh)
        await self._finish(fresh)
        return True

    async def _finish(self, row: CodeRepo) -> None:
        await self._rows.finish(
            row["_id"],
            sha256=row["sha256"],
            size=row["size"],
            blob_key=row["blobKey"],
            now=self._clock.steady(),
        )

    async def _row(self, namespace: str, repo_id: str) -> CodeRepo:
        row = None
        if isinstance(repo_id, str) and _ID.fullmatch(repo_id):
            row = await self._rows.find(f"{namespace}/{repo_id}")
        if row is None:
            raise NotFound(
                f"no code repository {str(repo_id)[:80]!r} in this namespace", hint="push the code again"
            )
        return row

    def _fresh(
        self, namespace: str, repo_id: str, remote: str, commit: str, *, dirty: bool, size: int, sha256: str
    ) -> CodeRepo:
        return {
            "_id": f"{namespace}/{repo_id}",
            "namespaceId": namespace,
            "remote": remote,
            "commit": commit,
            "dirty": dirty,
            "size": size,
            "sha256": sha256,
            "blobKey": f"{namespace}/code/{repo_id}/{sha256}.tar.gz",
            "createdAt": self._clock.steady(),
        }

    def _store(self) -> Blobs:
        if self._blobs is None:
            raise BadRequest(
                "this server has no blob store, so it keeps no code",
                hint="set LAKESHORE_BLOBS=folder or s3 on it, or start the workers in the project itself",
            )
        return self._blobs

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise PayloadTooLarge(
                f"the archive has {size} bytes and the limit here is {shown_size(self._limit)}",
                hint="let git ignore data and build outputs: what it ignores is left out",
            )


def code_repo_id(remote: str, commit: str) -> str:
    """Name the snapshot of a commit."""
    return hashlib.sha256(f"{remote}\0{commit}".encode()).hexdigest()[:40]


def _check(remote: str, commit: str) -> None:
    if not isinstance(remote, str) or len(remote) > _LONGEST_REMOTE or not remote.isprintable():
        raise BadRequest(f"remote: give the repository's URL, of at most {_LONGEST_REMOTE} characters")
    if _has_password(remote):
        raise BadRequest("remote: it holds a password or a token", hint="leave out what stands before the @")
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise BadRequest("commit: give all 40 (or 64) digits of the hash, in lower-case hex")


def _has_password(remote: str) -> bool:
    try:
        return urlsplit(remote).password is not None
    except ValueError:
        return "@" in remote


def _not_come(row: CodeRepo) -> NotFound:
    return NotFound(
        f"the archive of commit {row['commit'][:12]} was announced and has not come",
        hint="push the code again",
    )
