"""One archive for each commit, whoever brings it first."""

import asyncio
import hashlib
import shutil

import pytest

from blob_server import ACCESS, BUCKET, SECRET, S3Server
from hand_clock import HandClock
from lakeshore_controlplane.faults import BadRequest, NotFound, PayloadTooLarge
from lakeshore_controlplane.services.code_repos import CodeRepos
from lakeshore_controlplane.store.blobs.folder import FolderBlobs
from lakeshore_controlplane.store.blobs.s3 import Bucket, S3Blobs
from lakeshore_controlplane.store.mongo.code_repos import INDEXES, CodeRepoRows
from lakeshore_controlplane.store.mongo.database import Database

REMOTE = "https://git.example.com/team/project.git"
COMMIT = "a" * 40
ARCHIVE = b"archive" * 1000


def offer(data=ARCHIVE, **changes):
    digest = hashlib.sha256(data).hexdigest()
    return {
        "remote": REMOTE,
        "commit": COMMIT,
        "dirty": False,
        "size": len(data),
        "sha256": digest,
        **changes,
    }


@pytest.fixture
def run(mongo_url, mongo_database, tmp_path):
    async def with_repos(test, blobs):
        database = Database(mongo_url, mongo_database)
        await database.ensure_indexes(INDEXES)
        try:
            return await test(
                CodeRepos(rows=CodeRepoRows(database), blobs=blobs, clock=HandClock(), limit=100_000)
            )
        finally:
            await database.close()
            if blobs is not None:
                await blobs.close()

    return lambda test, make=lambda: FolderBlobs(tmp_path / "blobs"): asyncio.run(with_repos(test, make()))


def test_the_first_announcement_asks_for_the_archive_and_the_next_does_not(run):
    async def test(repos):
        first = await repos.announce("ns", **offer())
        assert first["exists"] is False
        await repos.put("ns", first["code_repo_id"], ARCHIVE)
        assert await repos.announce("ns", **offer()) == {**first, "exists": True}
        assert (await repos.get("ns", first["code_repo_id"]))["commit"] == COMMIT
        return await repos.fetch("ns", first["code_repo_id"])

    assert run(test) == ARCHIVE


def test_another_commit_another_remote_and_another_tenant_are_apart(run):
    async def test(repos):
        first = await repos.announce("ns", **offer())
        await repos.put("ns", first["code_repo_id"], ARCHIVE)
        others = [
            await repos.announce("ns", **offer(commit="b" * 40)),
            await repos.announce("ns", **offer(remote="")),
            await repos.announce("other", **offer()),
        ]
        assert [other["exists"] for other in others] == [False, False, False]
        with pytest.raises(NotFound, match="has not come"):
            await repos.fetch("other", first["code_repo_id"])

    run(test)


@pytest.mark.parametrize("repo_id", ["", "../x", "a" * 40, "A" * 40, None, 5])
def test_an_unknown_id_is_not_found(run, repo_id):
    async def test(repos):
        for call in (repos.fetch("ns", repo_id), repos.get("ns", repo_id), repos.put("ns", repo_id, b"")):
            with pytest.raises(NotFound, match="no code repository"):
                await call

    run(test)


def test_other_bytes_than_announced_are_refused(run):
    async def test(repos):
        announced = await repos.announce("ns", **offer())
        with pytest.raises(BadRequest, match="other content"):
            await repos.put("ns", announced["code_repo_id"], b"something else")
        with pytest.raises(NotFound, match="has not come"):
            await repos.fetch("ns", announced["code_repo_id"])

    run(test)


def test_an_archive_that_is_there_is_never_replaced(run):
    async def test(repos):
        announced = await repos.announce("ns", **offer())
        await repos.put("ns", announced["code_repo_id"], ARCHIVE)
        await repos.put("ns", announced["code_repo_id"], b"something else")
        assert (await repos.announce("ns", **offer(b"third")))["exists"] is True
        return await repos.fetch("ns", announced["code_repo_id"])

    assert run(test) == ARCHIVE


def test_many_who_push_one_commit_at_once_leave_one_archive(run, tmp_path):
    async def test(repos):
        async def push():
            announced = await repos.announce("ns", **offer())
            if not announced["exists"]:
                await repos.put("ns", announced["code_repo_id"], ARCHIVE)
            return announced["code_repo_id"]

        (repo_id,) = set(await asyncio.gather(*(push() for _ in range(20))))
        return await repos.fetch("ns", repo_id)

    assert run(test) == ARCHIVE
    assert len([path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]) == 1


def test_two_whose_archives_of_one_commit_differ_both_get_on(run):
    """Compression libraries differ: the same tree may give other bytes on another machine."""

    async def test(repos):
        mine = await repos.announce("ns", **offer(b"mine"))
        theirs = await repos.announce("ns", **offer(b"theirs"))
        with pytest.raises(BadRequest, match="other content"):
            await repos.put("ns", mine["code_repo_id"], b"mine")
        await repos.put("ns", theirs["code_repo_id"], b"theirs")
        assert (await repos.announce("ns", **offer(b"mine")))["exists"] is True
        return await repos.fetch("ns", mine["code_repo_id"])

    assert run(test) == b"theirs"


def test_an_archive_that_the_store_lost_is_asked_for_again(run, tmp_path):
    async def test(repos):
        announced = await repos.announce("ns", **offer())
        await repos.put("ns", announced["code_repo_id"], ARCHIVE)
        shutil.rmtree(tmp_path / "blobs")
        with pytest.raises(NotFound, match="has not come"):
            await repos.fetch("ns", announced["code_repo_id"])
        assert (await repos.announce("ns", **offer()))["exists"] is False
        await repos.put("ns", announced["code_repo_id"], ARCHIVE)
        return await repos.fetch("ns", announced["code_repo_id"])

    assert run(test) == ARCHIVE


def test_too_large_an_archive_is_refused_with_the_limit(run):
    async def test(repos):
        with pytest.raises(PayloadTooLarge, match="limit here is 100000 bytes") as caught:
            await repos.announce("ns", **offer(size=100_001))
        assert "git ignore" in caught.value.hint

    run(test)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"commit": "main"}, "commit"),
        ({"commit": "A" * 40}, "commit"),
        ({"commit": "../" * 20}, "commit"),
        ({"remote": "https://user:hunter2@git.example.com/x"}, "password"),
        ({"remote": "x" * 3000}, "remote"),
        ({"remote": "a\nb"}, "remote"),
        ({"sha256": "short"}, "sha256"),
        ({"size": -1}, "size"),
    ],
)
def test_an_announcement_that_cannot_be_is_refused_and_repeats_no_password(run, wrong, said):
    async def test(repos):
        with pytest.raises(BadRequest, match=said) as caught:
            await repos.announce("ns", **offer(**wrong))
        assert "hunter2" not in f"{caught.value.message}{caught.value.hint}"

    run(test)


def test_without_a_blob_store_the_error_says_what_to_do(run):
    async def test(repos):
        with pytest.raises(BadRequest, match="no blob store") as caught:
            await repos.announce("ns", **offer())
        assert "LAKESHORE_BLOBS" in caught.value.hint

    run(test, lambda: None)


def test_an_upload_by_url_is_known_after_the_next_announcement(run, tmp_path):
    from urllib.request import Request, urlopen

    def put(upload):
        with urlopen(Request(upload["url"], ARCHIVE, upload["headers"], method="PUT"), timeout=10):
            pass

    async def test(repos):
        announced = await repos.announce("ns", **offer())
        assert (await repos.announce("ns", **offer()))["exists"] is False
        await asyncio.to_thread(put, announced["upload"])
        assert (await repos.announce("ns", **offer()))["exists"] is True
        assert (await repos.url("ns", announced["code_repo_id"])).startswith("http")
        return await repos.fetch("ns", announced["code_repo_id"])

    with S3Server(tmp_path) as s3:
        bucket = Bucket(BUCKET, s3.url, access_key=ACCESS, secret_key=SECRET)
        assert run(test, lambda: S3Blobs(bucket)) == ARCHIVE
