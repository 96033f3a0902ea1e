"""What both blob stores do: a folder, and a real S3 server."""

import asyncio
import contextlib
import hashlib
import http.client
from urllib.parse import urlsplit

import pytest

from blob_server import ACCESS, BUCKET, SECRET, S3Server
from lakeshore_controlplane.store.blobs.folder import FolderBlobs
from lakeshore_controlplane.store.blobs.port import BlobMissingError, BlobStat
from lakeshore_controlplane.store.blobs.s3 import Bucket, S3Blobs


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


def bucket_of(url, **more):
    return Bucket(BUCKET, url, access_key=ACCESS, secret_key=SECRET, **more)


@contextlib.asynccontextmanager
async def opened(blobs):
    try:
        yield blobs
    finally:
        await blobs.close()


@pytest.fixture(params=["folder", "s3", "s3 with a prefix"])
def store(request, tmp_path):
    if request.param == "folder":
        return lambda: opened(FolderBlobs(tmp_path / "blobs"))
    server = request.getfixturevalue("s3")
    prefix = "below/here/" if "prefix" in request.param else ""
    return lambda: opened(S3Blobs(bucket_of(server.url, prefix=prefix)))


def run(store, test):
    async def main():
        async with store() as blobs:
            return await test(blobs)

    return asyncio.run(main())


@pytest.mark.parametrize("size", [0, 1, 100_000, 9 << 20])
def test_what_was_put_is_what_is_got(store, size):
    data = hashlib.sha256(b"seed").digest() * (size // 32) + b"x" * (size % 32)

    async def test(blobs):
        await blobs.put("ns/args/one", data)
        return await blobs.get("ns/args/one"), await blobs.stat("ns/args/one")

    got, stat = run(store, test)
    assert got == data
    assert stat == BlobStat(size, hashlib.sha256(data).hexdigest())


def test_putting_again_takes_the_place_of_what_was_there(store):
    async def test(blobs):
        await blobs.put("ns/args/one", b"first")
        await blobs.put("ns/args/one", b"second")
        return await blobs.get("ns/args/one")

    assert run(store, test) == b"second"


def test_what_is_not_there_is_told_so(store):
    async def test(blobs):
        assert await blobs.stat("ns/args/none") is None
        with pytest.raises(BlobMissingError):
            await blobs.get("ns/args/none")

    run(store, test)


def test_deleting_takes_many_and_does_not_mind_missing_ones(store):
    keys = [f"ns/results/job-{n}" for n in range(20)]

    async def test(blobs):
        for key in keys[:10]:
            await blobs.put(key, b"x")
        await blobs.put("ns/results/kept", b"kept")
        await blobs.delete(keys)
        await blobs.delete([])
        assert [await blobs.stat(key) for key in keys] == [None] * 20
        return await blobs.get("ns/results/kept")

    assert run(store, test) == b"kept"


@pytest.mark.parametrize(
    "key",
    ["../secret", "ns/../../etc/passwd", "/etc/passwd", "ns", "ns//x", "ns/.hidden", "ns/a b", "ns/a\0"],
)
def test_a_key_that_is_no_plain_path_is_not_taken(store, key):
    async def test(blobs):
        for call in (blobs.get(key), blobs.put(key, b""), blobs.stat(key), blobs.delete([key])):
            with pytest.raises(ValueError, match="plain segments"):
                await call

    run(store, test)


def test_many_at_once_all_come_through(store):
    async def test(blobs):
        await asyncio.gather(*(blobs.put(f"ns/args/{n}", b"%d" % n) for n in range(40)))
        return await asyncio.gather(*(blobs.get(f"ns/args/{n}") for n in range(40)))

    assert run(store, test) == [b"%d" % n for n in range(40)]


def test_a_store_that_is_there_answers_a_ping(store):
    run(store, lambda blobs: blobs.ping())


# -- what clients may do by themselves
def ask(method, url, body=None, headers=None):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_folder_presigns_nothing(tmp_path):
    async def test(blobs):
        assert await blobs.presign_put("ns/a", 1, "00" * 32, 60) is None
        assert await blobs.presign_get("ns/a", 60) is None

    run(lambda: opened(FolderBlobs(tmp_path)), test)


def test_a_bucket_that_clients_cannot_reach_presigns_nothing(s3):
    async def test(blobs):
        assert await blobs.presign_put("ns/a", 1, "00" * 32, 60) is None
        assert await blobs.presign_get("ns/a", 60) is None

    run(lambda: opened(S3Blobs(bucket_of(s3.url, presigning=False))), test)


def test_urls_are_for_the_endpoint_that_clients_reach(s3):
    async def test(blobs):
        upload = await blobs.presign_put("ns/a", 1, "00" * 32, 60)
        return upload.url, await blobs.presign_get("ns/a", 60)

    for url in run(
        lambda: opened(S3Blobs(bucket_of(s3.url, public_endpoint="https://s3.example.com"))), test
    ):
        assert url.startswith("https://s3.example.com/lakeshore/ns/a?")


def test_a_client_uploads_and_reads_by_itself(s3):
    data = b"by itself" * 1000

    async def test(blobs):
        upload = await blobs.presign_put("ns/payloads/p", len(data), hashlib.sha256(data).hexdigest(), 60)
        status, _ = await asyncio.to_thread(ask, "PUT", upload.url, data, upload.headers)
        assert status == 200
        assert await blobs.get("ns/payloads/p") == data
        url = await blobs.presign_get("ns/payloads/p", 60)
        return await asyncio.to_thread(ask, "GET", url)

    assert run(lambda: opened(S3Blobs(bucket_of(s3.url))), test) == (200, data)


@pytest.mark.parametrize("sent", [b"other", b"larger than was said", b""])
def test_a_client_cannot_store_other_bytes_than_it_announced(s3, sent):
    async def test(blobs):
        upload = await blobs.presign_put("ns/payloads/other", 5, hashlib.sha256(b"right").hexdigest(), 60)
        headers = {**upload.headers, "content-length": str(len(sent))}
        status, _ = await asyncio.to_thread(ask, "PUT", upload.url, sent, headers)
        assert 400 <= status < 500
        assert await blobs.stat("ns/payloads/other") is None

    run(lambda: opened(S3Blobs(bucket_of(s3.url))), test)
