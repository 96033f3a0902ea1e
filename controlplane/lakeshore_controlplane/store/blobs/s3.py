"""Blobs in a bucket of S3, or of what speaks its protocol: MinIO, Ceph, R2, versitygw."""

from __future__ import annotations

import base64
import hashlib
import http.client
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
import urllib3.exceptions
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.store.blobs.port import (
    BlobMissingError,
    BlobStat,
    Upload,
    check_key,
    checked,
)
from lakeshore_controlplane.store.blobs.threads import BlockingCalls

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_T = TypeVar("_T")
_MISSING = {"NoSuchKey", "404", "NotFound"}
_PER_DELETE = 1000  # the protocol's limit
_FAILURES = (BotoCoreError, urllib3.exceptions.HTTPError, http.client.HTTPException, OSError)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where blobs go. Without keys the machine's own credentials are used (environment, profile, role).

    ``prefix``: before every key. ``public_endpoint``: the endpoint as clients reach it, put into the URLs that they are
    given; None where it is the same. ``presigning``: False when clients cannot reach the store at all.
    """

    name: str
    endpoint: str | None = None
    region: str = "us-east-1"
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    prefix: str = ""
    path_style: bool = True
    public_endpoint: str | None = None
    presigning: bool = True


class S3Blobs:
    """One bucket. boto3 blocks, so its calls run in a few threads of their own."""

    def __init__(
        self,
        bucket: Bucket,
        *,
        connect_s: float = 2.0,
        read_s: float = 20.0,
        call_s: float = 90.0,
        threads: int = 8,
    ) -> None:
        """Connect lazily. ``connect_s`` and ``read_s`` are for one try of one request, ``call_s`` for all of a call."""
        self._bucket = bucket
        self._calls = BlockingCalls("blob", threads=threads, call_s=call_s)
        config = _config(bucket, connect_s, read_s, threads)
        self._client = _client(bucket, bucket.endpoint, config)
        self._public = _client(bucket, bucket.public_endpoint or bucket.endpoint, config)

    async def put(self, key: str, data: bytes) -> None:
        """See ``Blobs.put``."""
        sha256 = hashlib.sha256(data).digest()
        await self._run(
            lambda: self._client.put_object(
                **self._at(key),
                Body=data,
                ChecksumSHA256=base64.b64encode(sha256).decode(),
                Metadata={"sha256": sha256.hex()},
            )
        )

    async def get(self, key: str) -> bytes:
        """See ``Blobs.get``."""
        return await self._run(lambda: self._read(key))

    async def stat(self, key: str) -> BlobStat | None:
        """See ``Blobs.stat``."""
        try:
            head = await self._run(lambda: self._client.head_object(**self._at(key)))
        except BlobMissingError:
            return None
        return BlobStat(head["ContentLength"], head["Metadata"].get("sha256"))

    async def delete(self, keys: Sequence[str]) -> None:
        """See ``Blobs.delete``."""
        for start in range(0, len(keys), _PER_DELETE):
            names = [self._at(key)["Key"] for key in keys[start : start + _PER_DELETE]]
            await self._run(lambda names=names: self._remove(names))  # type: ignore[misc]

    async def presign_put(self, key: str, size: int, sha256: str, ttl_s: float) -> Upload | None:
        """See ``Blobs.presign_put``. Size and digest are signed: the store takes no other bytes."""
        if not self._bucket.presigning:
            return None
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        params = {
            **self._at(key),
            "ContentLength": size,
            "ChecksumSHA256": checksum,
            "Metadata": {"sha256": sha256},
        }
        url = await self._sign("put_object", params, ttl_s)
        headers = {
            "content-length": str(size),
            "x-amz-checksum-sha256": checksum,
            "x-amz-meta-sha256": sha256,
        }
        return Upload(url, headers)

    async def presign_get(self, key: str, ttl_s: float) -> str | None:
        """See ``Blobs.presign_get``."""
        return await self._sign("get_object", self._at(key), ttl_s) if self._bucket.presigning else None

    async def ping(self) -> None:
        """See ``Blobs.ping``."""
        try:
            await self._run(lambda: self._client.head_bucket(Bucket=self._bucket.name))
        except BlobMissingError:
            raise StoreUnavailable(f"the blob store has no bucket {self._bucket.name!r}: make it") from None

    async def close(self) -> None:
        """See ``Blobs.close``."""
        self._calls.close()
        self._client.close()
        self._public.close()

    def _at(self, key: str) -> dict[str, Any]:
        return {"Bucket": self._bucket.name, "Key": self._bucket.prefix + check_key(key)}

    async def _sign(self, operation: str, params: dict[str, Any], ttl_s: float) -> str:
        return await self._run(
            lambda: self._public.generate_presigned_url(
                operation, Params=params, ExpiresIn=max(1, int(ttl_s))
            )
        )

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await self._calls.run(lambda: _named(work))

    def _read(self, key: str) -> bytes:
        answer = self._client.get_object(**self._at(key))
        stat = BlobStat(answer["ContentLength"], answer["Metadata"].get("sha256"))
        with answer["Body"] as body:
            return checked(body.read(), stat)

    def _remove(self, names: list[str]) -> None:
        answer = self._client.delete_objects(
            Bucket=self._bucket.name,
            Delete={"Objects": [{"Key": name} for name in names], "Quiet": True},
        )
        left = [error for error in answer.get("Errors", []) if error.get("Code") not in _MISSING]
        if left:
            raise StoreUnavailable(
                f"the blob store kept {len(left)} of {len(names)} blobs that were to be deleted "
                f"({left[0].get('Code')})",
                retry_after_s=5.0,
            )


def _config(bucket: Bucket, connect_s: float, read_s: float, threads: int) -> Config:
    return Config(
        signature_version="s3v4",
        connect_timeout=connect_s,
        read_timeout=read_s,
        retries={"mode": "standard", "total_max_attempts": 3},
        max_pool_connections=threads,
        s3={"addressing_style": "path" if bucket.path_style else "virtual"},
        # Our own sha256 goes along; what the library adds by itself not every server takes.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        tcp_keepalive=True,
    )


def _client(bucket: Bucket, endpoint: str | None, config: Config) -> S3Client:
    session = boto3.session.Session()
    return session.client(
        "s3",
        endpoint_url=endpoint,
        region_name=bucket.region,
        aws_access_key_id=bucket.access_key,
        aws_secret_access_key=bucket.secret_key,
        config=config,
    )


def _named(work: Callable[[], _T]) -> _T:
    """Turn every failure into ``BlobMissingError`` or ``StoreUnavailable``; neither repeats what was sent."""
    try:
        return work()
    except ClientError as exc:
        code = exc.response.get("Error", {}).get("Code", "unknown")
        if code in _MISSING:
            raise BlobMissingError(code) from None
        raise StoreUnavailable(f"the blob store refused a request ({code})", retry_after_s=2.0) from exc
    except _FAILURES as exc:
        raise StoreUnavailable(
            f"the blob store does not answer ({type(exc).__name__})", retry_after_s=1.0
        ) from exc
