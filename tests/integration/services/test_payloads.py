"""Arguments and results beyond what a row takes."""

import asyncio
import hashlib

import pytest

from blob_server import ACCESS, BUCKET, SECRET, S3Server
from lakeshore_controlplane.faults import BadRequest, NotFound, PayloadTooLarge
from lakeshore_controlplane.services.payloads import Payloads, Stored
from lakeshore_controlplane.store.blobs.folder import FolderBlobs
from lakeshore_controlplane.store.blobs.s3 import Bucket, S3Blobs

KIB = 1024


def sha(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(params=["folder", "s3"])
def run(request, tmp_path):
    """Run a test on payloads with limits of 1, 64 and 256 KiB."""

    async def with_payloads(test):
        if request.param == "folder":
            blobs = FolderBlobs(tmp_path)
        else:
            url = request.getfixturevalue("s3").url
            blobs = S3Blobs(Bucket(BUCKET, url, access_key=ACCESS, secret_key=SECRET))
        limits = {"inline_limit": KIB, "through_limit": 64 * KIB, "upload_limit": 256 * KIB}
        try:
            return await test(Payloads(blobs=blobs, **limits))
        finally:
            await blobs.close()

    return lambda test: asyncio.run(with_payloads(test))


def test_what_a_row_takes_stays_in_the_row(run):
    async def test(payloads):
        assert await payloads.take_args("ns", "job", b"x" * KIB, None) == Stored(blob=b"x" * KIB)
        assert await payloads.take_result("ns", "job", 1, None, None) == Stored()

    run(test)


def test_what_is_larger_is_spilled_and_read_back(run):
    data = b"large" * KIB

    async def test(payloads):
        args = await payloads.take_args("ns", "job", data, None)
        result = await payloads.take_result("ns", "job", 1, data, None)
        assert args.blob is result.blob is None
        assert args.ref != result.ref
        assert await payloads.args_of("ns", {"argsRef": args.ref}) == data
        assert await payloads.size("ns", result.ref) == len(data)
        return await payloads.fetch("ns", result.ref)

    assert run(test) == data


def test_args_of_a_row_that_has_them_inline(run):
    assert run(lambda payloads: payloads.args_of("ns", {"argsBlob": b"inline"})) == b"inline"


def test_the_same_submission_twice_has_the_same_reference_and_another_content_another_one(run):
    async def test(payloads):
        first = await payloads.take_args("ns", "job", b"1" * 2 * KIB, None)
        assert await payloads.take_args("ns", "job", b"1" * 2 * KIB, None) == first
        conflict = await payloads.take_args("ns", "job", b"2" * 2 * KIB, None)
        assert await payloads.fetch("ns", first.ref) == b"1" * 2 * KIB
        await payloads.discard("ns", [conflict.ref])  # its row was refused
        assert await payloads.fetch("ns", first.ref) == b"1" * 2 * KIB

    run(test)


def test_results_of_two_attempts_lie_apart(run):
    async def test(payloads):
        stale = await payloads.take_result("ns", "job", 1, b"r" * 2 * KIB, None)
        valid = await payloads.take_result("ns", "job", 2, b"r" * 2 * KIB, None)
        await payloads.discard("ns", [stale.ref])
        return await payloads.fetch("ns", valid.ref)

    assert run(test) == b"r" * 2 * KIB


@pytest.mark.parametrize("inv_id", ["a/b", "..", "../../etc", "a.b:c", "x" * 128, "/"])
def test_any_id_that_an_invocation_may_have_can_be_spilled(run, inv_id):
    async def test(payloads):
        stored = await payloads.take_args("ns", inv_id, b"x" * 2 * KIB, None)
        assert "/" not in stored.ref
        return await payloads.fetch("ns", stored.ref)

    assert run(test) == b"x" * 2 * KIB


def test_over_the_limit_is_refused_with_the_limit_and_what_to_do(run):
    async def test(payloads):
        with pytest.raises(PayloadTooLarge, match="65537 bytes and the limit here is 64 KiB") as caught:
            await payloads.take_args("ns", "job", b"x" * (64 * KIB + 1), None)
        assert "run.write" in caught.value.hint
        with pytest.raises(PayloadTooLarge):
            await payloads.announce("ns", size=1 << 39, sha256=sha(b""))

    run(test)


def test_a_client_announces_puts_and_submits(run):
    data = b"payload" * KIB

    async def test(payloads):
        announced = await payloads.announce("ns", size=len(data), sha256=sha(data))
        with pytest.raises(NotFound, match="no payload"):
            await payloads.take_args("ns", "job", None, announced["ref"])  # it has not come yet
        await payloads.put("ns", announced["ref"], data)
        await payloads.put("ns", announced["ref"], data)
        stored = await payloads.take_args("ns", "job", None, announced["ref"])
        return await payloads.args_of("ns", {"argsRef": stored.ref})

    assert run(test) == data


def test_other_bytes_than_announced_are_refused_and_nothing_is_stored(run):
    async def test(payloads):
        announced = await payloads.announce("ns", size=5, sha256=sha(b"right"))
        for wrong in (b"wrong", b"right and more", b""):
            with pytest.raises(BadRequest, match="other content"):
                await payloads.put("ns", announced["ref"], wrong)
        with pytest.raises(NotFound):
            await payloads.accept("ns", announced["ref"])

    run(test)


def test_the_payload_of_another_tenant_is_not_found(run):
    async def test(payloads):
        stored = await payloads.take_args("ours", "job", b"secret" * KIB, None)
        announced = await payloads.announce("ours", size=6, sha256=sha(b"secret"))
        await payloads.put("ours", announced["ref"], b"secret")
        for ref in (stored.ref, announced["ref"]):
            for call in (payloads.fetch, payloads.size, payloads.accept):
                with pytest.raises(NotFound):
                    await call("theirs", ref)
            await payloads.discard("theirs", [ref])
        assert await payloads.fetch("ours", stored.ref) == b"secret" * KIB

    run(test)


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "../../etc/passwd",
        f"payload.5.{'0' * 64}.../x",
        f"payload.5.{'0' * 64}.a/b",
        f"payload.-5.{'0' * 64}.a",
        f"payload.5.{'0' * 63}.a",
        f"payload.5.{'0' * 64}.a\n",
        f"secret.5.{'0' * 64}.a",
        f"payload.{'9' * 30}.{'0' * 64}.a",
        None,
        5,
    ],
)
def test_what_is_no_reference_is_not_found(run, ref):
    async def test(payloads):
        for call in (payloads.fetch, payloads.size, payloads.accept, payloads.url):
            with pytest.raises(NotFound):
                await call("ns", ref)
        with pytest.raises(NotFound):
            await payloads.put("ns", ref, b"")

    run(test)


def test_a_spilled_payload_cannot_be_replaced_or_submitted_by_a_client(run):
    async def test(payloads):
        stored = await payloads.take_result("ns", "job", 1, b"r" * 2 * KIB, None)
        with pytest.raises(NotFound):
            await payloads.put("ns", stored.ref, b"r" * 2 * KIB)
        with pytest.raises(NotFound):
            await payloads.accept("ns", stored.ref)

    run(test)


@pytest.mark.parametrize(
    ("size", "digest"), [(-1, "0" * 64), ("5", "0" * 64), (True, "0" * 64), (5, "zz"), (5, None)]
)
def test_an_announcement_that_cannot_be_is_refused(run, size, digest):
    async def test(payloads):
        with pytest.raises(BadRequest):
            await payloads.announce("ns", size=size, sha256=digest)

    run(test)


def test_both_forms_at_once_are_refused(run):
    async def test(payloads):
        with pytest.raises(BadRequest, match="give one"):
            await payloads.take_args("ns", "job", b"", "ref")
        with pytest.raises(BadRequest, match="give one"):
            await payloads.take_result("ns", "job", 1, b"", "ref")

    run(test)


def test_discarding_what_is_gone_is_no_trouble(run):
    async def test(payloads):
        stored = await payloads.take_args("ns", "job", b"x" * 2 * KIB, None)
        await payloads.discard("ns", [stored.ref, stored.ref])
        await payloads.discard("ns", [stored.ref])
        await payloads.discard("ns", [])
        await payloads.discard("ns", ["../no-reference"])
        with pytest.raises(NotFound):
            await payloads.fetch("ns", stored.ref)

    run(test)


def test_beyond_the_servers_limit_a_client_uploads_by_itself(s3):
    from urllib.request import Request, urlopen

    data = b"b" * 100 * KIB

    def ask(method, url, body=None, headers=None):
        with urlopen(Request(url, body, headers or {}, method=method), timeout=10) as answer:
            return answer.read()

    async def main():
        blobs = S3Blobs(Bucket(BUCKET, s3.url, access_key=ACCESS, secret_key=SECRET))
        payloads = Payloads(blobs=blobs, inline_limit=KIB, through_limit=64 * KIB)
        announced = await payloads.announce("ns", size=len(data), sha256=sha(data))
        ref, upload = announced["ref"], announced["upload"]
        await asyncio.to_thread(ask, "PUT", upload["url"], data, upload["headers"])
        assert await payloads.accept("ns", ref) == len(data)
        assert payloads.served_by_ref(ref)
        with pytest.raises(PayloadTooLarge):
            await payloads.fetch("ns", ref)
        got = await asyncio.to_thread(ask, "GET", await payloads.url("ns", ref))
        await blobs.close()
        return got

    assert asyncio.run(main()) == data


def test_without_a_blob_store_rows_are_the_limit_and_the_error_says_what_to_set():
    payloads = Payloads(blobs=None, inline_limit=KIB)

    async def main():
        assert await payloads.take_args("ns", "job", b"small", None) == Stored(blob=b"small")
        for call in (
            payloads.take_args("ns", "job", b"x" * 2 * KIB, None),
            payloads.announce("ns", size=2 * KIB, sha256=sha(b"")),
        ):
            with pytest.raises(PayloadTooLarge, match="1 KiB") as caught:
                await call
            assert "LAKESHORE_BLOBS" in caught.value.hint
        with pytest.raises(BadRequest, match="rows alone"):
            await payloads.announce("ns", size=1, sha256=sha(b""))
        with pytest.raises(NotFound):
            await payloads.fetch("ns", f"payload.5.{'0' * 64}.a")
        await payloads.discard("ns", [f"payload.5.{'0' * 64}.a"])

    asyncio.run(main())
