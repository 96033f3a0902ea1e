"""Stores that are slow, failing, full, or give only part of what was stored."""

import asyncio
import contextlib
import subprocess
import sys
import time

import pytest

from blob_server import ACCESS, BUCKET, SECRET, Relay, S3Server
from lakeshore_controlplane.embedded import free_port
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.store.blobs.folder import FolderBlobs
from lakeshore_controlplane.store.blobs.s3 import Bucket, S3Blobs

KEY = "ns/args/one"


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def relay(s3):
    between = Relay(s3.port)
    yield between
    between.close()


@contextlib.asynccontextmanager
async def blobs_at(url, *, name=BUCKET, secret=SECRET, read_s=0.3, **limits):
    blobs = S3Blobs(
        Bucket(name, url, access_key=ACCESS, secret_key=secret), connect_s=1.0, read_s=read_s, **limits
    )
    try:
        yield blobs
    finally:
        await blobs.close()


async def each_call_fails(blobs, match, limit_s=8.0):
    for call in (blobs.get(KEY), blobs.put(KEY, b"x"), blobs.stat(KEY), blobs.delete([KEY]), blobs.ping()):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match=match):
            await call
        assert time.monotonic() - began < limit_s


def test_nobody_listens():
    async def main():
        async with blobs_at(f"http://127.0.0.1:{free_port()}") as blobs:
            await each_call_fails(blobs, "does not answer")

    asyncio.run(main())


def test_a_store_that_never_answers_is_given_up(relay):
    relay.silent = True

    async def main():
        async with blobs_at(relay.url) as blobs:
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await blobs.get(KEY)

    asyncio.run(main())


def test_a_call_ends_at_its_own_limit_though_the_store_keeps_the_thread(relay):
    relay.silent = True

    async def main():
        async with blobs_at(relay.url, read_s=2.0, call_s=0.2, threads=1) as blobs:
            with pytest.raises(StoreUnavailable, match=r"within 0.2 s"):
                await blobs.get(KEY)
            relay.silent = False
            await blobs.put(KEY, b"later")  # as soon as the thread is free
            assert await blobs.get(KEY) == b"later"

    asyncio.run(main())


def test_part_of_a_blob_is_never_given(relay, s3):
    async def main():
        async with blobs_at(s3.url, read_s=5.0) as blobs:
            await blobs.put(KEY, b"whole" * 100_000)
        relay.cut_after = 100_000
        async with blobs_at(relay.url) as blobs:
            with pytest.raises(StoreUnavailable):
                await blobs.get(KEY)
        relay.cut_after = None
        async with blobs_at(relay.url, read_s=5.0) as blobs:
            assert await blobs.get(KEY) == b"whole" * 100_000

    asyncio.run(main())


def test_bytes_that_were_altered_in_the_store_are_never_given(s3):
    async def main():
        async with blobs_at(s3.url, read_s=5.0) as blobs:
            await blobs.put("ns/args/altered", b"right")
            (s3.folder / "data" / BUCKET / "ns/args/altered").write_bytes(b"wrong")
            with pytest.raises(StoreUnavailable, match="other bytes than were stored"):
                await blobs.get("ns/args/altered")

    asyncio.run(main())


def test_wrong_credentials_are_named_and_not_shown(s3):
    async def main():
        async with blobs_at(s3.url, secret="not-the-secret", read_s=5.0) as blobs:
            with pytest.raises(StoreUnavailable, match=r"SignatureDoesNotMatch|403") as caught:
                await blobs.put(KEY, b"x")
            assert "not-the-secret" not in repr(caught.value) + repr(blobs._bucket)

    asyncio.run(main())


def test_a_bucket_that_is_not_there_fails_the_ping(s3):
    async def main():
        async with blobs_at(s3.url, name="missing", read_s=5.0) as blobs:
            with pytest.raises(StoreUnavailable, match="missing"):
                await blobs.ping()

    asyncio.run(main())


def test_a_store_that_was_restarted_is_used_again(tmp_path):
    async def main():
        server = S3Server(tmp_path)
        with server:
            async with blobs_at(server.url, read_s=5.0) as blobs:
                await blobs.put(KEY, b"kept")
                server.__exit__()
                with pytest.raises(StoreUnavailable):
                    await blobs.get(KEY)
                server.__enter__()
                assert await blobs.get(KEY) == b"kept"

    asyncio.run(main())


# -- the folder
async def with_folder(folder, test):
    blobs = FolderBlobs(folder)
    try:
        return await test(blobs)
    finally:
        await blobs.close()


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_file_that_was_cut_off_is_never_given(tmp_path):
    async def test(blobs):
        await blobs.put(KEY, b"whole" * 1000)
        (file,) = files(tmp_path)
        file.write_bytes(file.read_bytes()[:500])
        with pytest.raises(StoreUnavailable, match="other bytes"):
            await blobs.get(KEY)

    asyncio.run(with_folder(tmp_path, test))


def test_a_folder_that_is_a_file_is_named_as_the_trouble(tmp_path):
    (tmp_path / "taken").write_text("")

    async def test(blobs):
        with pytest.raises(StoreUnavailable, match="the blob folder cannot be used"):
            await blobs.put(KEY, b"x")
        with pytest.raises(StoreUnavailable, match="the blob folder cannot be used"):
            await blobs.ping()

    asyncio.run(with_folder(tmp_path / "taken", test))


_FULL_DISK = """
import asyncio, resource, sys
from pathlib import Path
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.store.blobs.folder import FolderBlobs

async def main():
    blobs = FolderBlobs(Path(sys.argv[1]))
    await blobs.put("ns/args/one", b"old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    try:
        await blobs.put("ns/args/one", bytes(2_000_000))
    except StoreUnavailable as exc:
        print(exc)
    print(await blobs.get("ns/args/one"))
    await blobs.close()

asyncio.run(main())
"""


def test_a_full_disk_leaves_the_old_blob_and_no_rest(tmp_path):
    command = [sys.executable, "-c", _FULL_DISK, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.splitlines() == ["the blob folder is full", "b'old'"], ran.stderr
    assert len(files(tmp_path)) == 1


def test_blobs_outlive_the_process(tmp_path):
    async def put(blobs):
        await blobs.put(KEY, b"kept")

    async def get(blobs):
        return await blobs.get(KEY)

    asyncio.run(with_folder(tmp_path, put))
    assert asyncio.run(with_folder(tmp_path, get)) == b"kept"
