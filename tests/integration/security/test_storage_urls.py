"""Where clients are sent for large things: only ever to the configured endpoint, for what they asked and no more."""

import hashlib
import socket
import urllib.error
import urllib.request
from contextlib import closing
from urllib.parse import parse_qs, urlsplit

import pytest

from security_stand import opened

DATA = b"as it was announced" * 1000
SHA256 = hashlib.sha256(DATA).hexdigest()
ANNOUNCED = {"size": len(DATA), "sha256": SHA256}
EVIL = {
    "Host": "evil.example",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "https",
    "Forwarded": "host=evil.example",
    "Origin": "http://evil.example",
    "X-Original-URL": "http://evil.example/",
}


@pytest.fixture
def stored(document_server, mongo_url, mongo_database, s3_bucket):
    with opened(
        document_server,
        mongo_database,
        blobs="s3",
        s3_endpoint=s3_bucket.url,
        s3_bucket=s3_bucket.name,
        s3_region=s3_bucket.region,
        s3_access_key=s3_bucket.access_key,
        s3_secret_key=s3_bucket.secret_key,
    ) as found:
        yield found, s3_bucket


def put(upload, data, url=None):
    """Upload by a presigned URL as a client would; the status."""
    headers = {name: value for name, value in upload["headers"].items() if name != "content-length"}
    request = urllib.request.Request(url or upload["url"], data=data, headers=headers, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def test_urls_lead_to_the_configured_endpoint_whatever_the_request_says(stored):
    stand, bucket = stored
    caller = stand.of("red", "producer")
    payload = caller.post("/v1/producer/payloads", ANNOUNCED, **EVIL).value
    repo = {**ANNOUNCED, "commit": "1" * 40, "remote": "http://evil.example/x.git"}
    code = caller.post("/v1/producer/code-repos", repo, **EVIL).value
    for upload in (payload["upload"], code["upload"]):
        assert at(upload["url"]) == (bucket.url, f"/{bucket.name}/red/")
        assert put(upload, DATA) == 200
    assert caller.post("/v1/producer/code-repos", repo).value["exists"]
    for target in (f"/payloads/{payload['ref']}", f"/code-repos/{code['code_repo_id']}/archive"):
        answer = caller.get(f"/v1/producer{target}", **EVIL)
        assert answer.status == 307
        assert at(answer.headers["location"]) == (bucket.url, f"/{bucket.name}/red/")
        with urllib.request.urlopen(answer.headers["location"], timeout=10) as found:
            assert found.read() == DATA
        assert bucket.secret_key not in repr(answer)
    assert int(parse_qs(urlsplit(payload["upload"]["url"]).query)["X-Amz-Expires"][0]) <= 3600


def at(url):
    parts = urlsplit(url)
    path = "/".join(parts.path.split("/")[:3]) + "/"
    return f"{parts.scheme}://{parts.netloc}", path


def test_an_upload_url_takes_the_announced_bytes_alone_at_their_place_alone(stored):
    stand, _ = stored
    upload = stand.of("red", "producer").post("/v1/producer/payloads", ANNOUNCED).value["upload"]
    assert put(upload, b"x" * len(DATA)) >= 400
    assert put(upload, DATA + b"x") >= 400
    for elsewhere in ("/red/", "/blue/"), (SHA256, "0" * 64), ("X-Amz-Expires=3600", "X-Amz-Expires=360000"):
        changed = upload["url"].replace(*elsewhere)
        assert changed != upload["url"]
        assert put(upload, DATA, changed) == 403
    read = urllib.request.Request(upload["url"])
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(read, timeout=10)
    with refused.value:
        assert refused.value.code == 403


def test_references_of_another_tenant_get_no_url(stored):
    stand, _ = stored
    payload = stand.of("red", "producer").post("/v1/producer/payloads", ANNOUNCED).value
    assert put(payload["upload"], DATA) == 200
    blue = stand.of("blue", "admin")
    for form in ("/v1/producer", "/v1/namespaces/blue/producer"):
        answer = blue.get(f"{form}/payloads/{payload['ref']}")
        assert (answer.status, answer.error) == (404, "not_found")


REFERENCES = (
    "http://evil.example/x",
    "//evil.example/x",
    "s3://bucket/key",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data/",
    "payload.5." + "0" * 64 + ".http://evil.example",
    "payload.5." + "0" * 64 + ".../../blue/x",
    "args.5." + "0" * 64 + ".%2e%2e",
)


def test_a_reference_that_is_a_url_or_a_path_is_none(stored, rows_of):
    stand, _ = stored
    caller = stand.of("red", "admin")
    before = rows_of(stand)
    for ref in REFERENCES:
        submission = {"invocation_id": "by-url", "queue": "q", "args_ref": ref}
        assert caller.post("/v1/producer/submit", submission).status == 404, ref
        answer = caller.get(f"/v1/producer/payloads/{ref}")
        assert (answer.status, answer.error) == (404, "not_found"), ref
        assert "location" not in answer.headers
    assert rows_of(stand) == before


@pytest.fixture
def rows_of(document_server):
    import pymongo

    with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
        yield lambda stand: client[stand.replica.settings.mongo_database]["invocations"].count_documents({})


def test_nobody_calls_the_remote_of_a_repository(stored):
    stand, _ = stored
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(0.3)
        remote = f"http://127.0.0.1:{listener.getsockname()[1]}/x.git"
        repo = {**ANNOUNCED, "commit": "2" * 40, "remote": remote}
        assert stand.of("red", "producer").post("/v1/producer/code-repos", repo).status == 200
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_remote_with_a_password_in_it_is_refused_without_repeating_it(stored):
    stand, _ = stored
    for remote in ("https://user:secret@example.org/a.git", "https://a:secret@[::1/x", "a\r\nb", "x" * 3000):
        repo = {**ANNOUNCED, "commit": "3" * 40, "remote": remote}
        answer = stand.of("red", "producer").post("/v1/producer/code-repos", repo)
        assert (answer.status, answer.error) == (400, "bad_request"), remote
        assert b"secret" not in answer.body


def test_the_public_endpoint_is_the_one_that_urls_name(document_server, mongo_url, mongo_database, s3_bucket):
    public = "https://storage.example.org"
    with opened(
        document_server,
        mongo_database,
        blobs="s3",
        s3_endpoint=s3_bucket.url,
        s3_bucket=s3_bucket.name,
        s3_access_key=s3_bucket.access_key,
        s3_secret_key=s3_bucket.secret_key,
        s3_public_endpoint=public,
    ) as stand:
        upload = stand.of("red", "producer").post("/v1/producer/payloads", ANNOUNCED).value["upload"]
        assert at(upload["url"])[0] == public
