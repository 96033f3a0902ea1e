"""Arguments and results that are too large for a request go by the object store, from the producer to the worker."""

import hashlib

import pytest

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.http import submitting, working
from dreamlake.lakeshore.dispatch.plane import Submission
from dreamlake.lakeshore.errors import InvocationFailedError, RefusedError

_BODIES = """
def turned(data):
    return data[::-1]


def pieces(*sizes):
    for size in sizes:
        yield bytes(size)
"""


@pytest.fixture
def turned(tmp_path, monkeypatch):
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "turning.py").write_text(_BODIES)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("LAKESHORE_PUSH_CODE", "off")
    import turning

    yield turning.turned
    monkeypatch.delitem(__import__("sys").modules, "turning")


def test_seventy_mebibytes_there_and_back_through_a_worker(serve, on_s3, turned):
    site = serve(**on_s3)
    data = hashlib.shake_128(b"large").digest(1 << 20) * 70
    inv_id = site.queue.submit(turned, data)
    site.worker()
    found = site.result(inv_id, 120)
    assert hashlib.sha256(found).digest() == hashlib.sha256(data[::-1]).digest()
    ((told, again),) = site.queue.results([inv_id])
    assert told == inv_id
    assert len(again) == len(data)


@pytest.fixture
def pieces(turned):
    import turning

    return turning.pieces


@pytest.fixture
def small_limit(monkeypatch):
    for module in (submitting, working):
        monkeypatch.setattr(module, "ALONG", 1000)


@pytest.fixture(params=["folder", "s3"])
def site(request, serve):
    return serve(**(request.getfixturevalue("on_s3") if request.param == "s3" else {}))


def test_uploads_go_through_the_server_where_there_is_no_object_store(site, small_limit):
    large, small = b"l" * 5000, b"s"
    site.plane.submit_many("default", [Submission("a", large), Submission("b", small)])
    claims = site.plane.claim_many("default", "w", 2)
    assert [job.envelope for job in claims] == [large, small]
    result = wire.pack(b"r" * 3_000_000)
    site.plane.ack("a", "w", result=result, attempt=1)
    assert site.plane.result("a") == result
    stream = site.plane.completions()
    stream.add(["a"])
    assert [outcome.result for outcome in stream.wait(10)] == [result]
    stream.close()


def test_the_same_submission_again_is_the_same_work(site, small_limit):
    for _ in range(2):
        assert site.plane.submit("default", b"x" * 5000, id="a") == "a"
    with pytest.raises(RefusedError, match="other content"):
        site.plane.submit("default", b"y" * 5000, id="a")
    assert site.plane.count("default") == 1


def test_a_result_that_is_gone_is_said_and_holds_up_nobody(serve, tmp_path, small_limit):
    site = serve()
    for name, result in (("lost", b"l" * 5_000_000), ("kept", b"k")):
        site.plane.submit("default", b"e", id=name)
        site.plane.claim("default", "w")
        site.plane.ack(name, "w", result=result, attempt=1)
    for blob in (tmp_path / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()
    with pytest.raises(InvocationFailedError, match="PayloadLost: its result is not in the blob store"):
        site.plane.result("lost")
    stream = site.plane.completions()
    stream.add(["lost", "kept"])
    ended = {outcome.id: outcome for outcome in stream.wait(10)}
    stream.close()
    assert ended["kept"].result == b"k"
    assert ended["lost"].error.type == "PayloadLost"


@pytest.mark.parametrize(
    "limits", [{}, {"inline_limit": 5_000}], ids=["by default", "with a small inline limit"]
)
def test_a_result_that_the_plane_refuses_ends_its_job_and_holds_up_nobody(serve, turned, limits):
    site = serve(blobs="none", **limits)
    site.worker()
    small = site.queue.submit(turned, b"ab")
    assert site.result(small) == b"ba"
    large = 2_000_000 if not limits else 50_000
    refused = site.queue.submit(bytes, large)
    after = site.queue.submit(turned, b"cd")
    with pytest.raises(
        InvocationFailedError, match=r"WireError: its result was refused: .* write the data to a file"
    ):
        site.result(refused)
    assert site.result(after) == b"dc"
    assert site.plane.get(refused)["attempt"] == 1


def test_a_value_that_no_journal_holds_ends_its_stream_and_its_job(serve, turned, pieces):
    """Its reader would wait for it in vain, and a job that lost what it yielded has not succeeded."""
    site = serve(blobs="none")
    site.worker()
    refused = site.queue.submit(pieces, 10, 17_000_000, 10)
    after = site.queue.submit(turned, b"cd")
    with pytest.raises(InvocationFailedError, match="WireError: a value that it yielded was refused: "):
        list(site.queue.stream(refused, timeout=60))
    assert site.plane.get(refused)["state"] == "failed"
    assert site.result(after) == b"dc"
