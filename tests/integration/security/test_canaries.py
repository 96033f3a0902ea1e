"""What is secret stays in its row: marked tokens, arguments, results, errors and frames are looked for everywhere."""

import base64
import gzip
import re
import uuid
from contextlib import closing

import pytest

from security_stand import JSON, MSGPACK, ROOT, Caller, replica_process
from servers.fixtures import Bucket

ARGS, RESULT, ERROR, FRAME, NOISE, LARGE = (
    f"canary-{name}-71c2" for name in ("args", "result", "error", "frame", "noise", "large")
)
GUESSED = "dlk_canary-guessed-71c2-" + "g" * 30
MARKS = (ARGS, RESULT, ERROR, FRAME, NOISE, LARGE, GUESSED, ROOT)


class Seen:
    """All that a replica showed while it worked: by where it was seen."""

    def __init__(self):
        self.answers, self.secrets = [], []
        self.log = self.metrics = self.lanes = ""
        self.documents = {}


@pytest.fixture(scope="module")
def seen(document_server, lane_server, object_server, worker_id_number, tmp_path_factory):
    """Work through a life with marks in everything, at debug level, and collect what is left."""
    import redis

    found = Seen()
    bucket = Bucket(
        object_server.url, f"test-{uuid.uuid4().hex}", object_server.access_key, object_server.secret_key
    )
    lanes = numbered(lane_server.url, worker_id_number)
    with closing(bucket.client()) as client, closing(redis.Redis.from_url(lanes, socket_timeout=10)) as lane:
        client.create_bucket(Bucket=bucket.name)
        lane.flushdb()
        env = {
            "LAKESHORE_LOG_LEVEL": "debug",
            "LAKESHORE_REDIS_URL": lanes,
            "LAKESHORE_BLOBS": "s3",
            "LAKESHORE_S3_ENDPOINT": bucket.url,
            "LAKESHORE_S3_BUCKET": bucket.name,
            "LAKESHORE_S3_ACCESS_KEY": bucket.access_key,
            "LAKESHORE_S3_SECRET_KEY": bucket.secret_key,
        }
        found.secrets.append(bucket.secret_key)
        folder = tmp_path_factory.mktemp("canaries")
        with replica_process(document_server, folder, **env) as (root, _, log):
            live(root, found)
            found.metrics = root.get("/metrics").body.decode()
            found.documents = documents(document_server, root)
            found.lanes = repr([(key, plain(lane, key)) for key in lane.scan_iter()])
            for page in ("/healthz", "/readyz", "/openapi.json"):
                found.answers.append(root.get(page))
        found.log = log.read_text()
        for item in client.list_objects_v2(Bucket=bucket.name).get("Contents", []):
            client.delete_object(Bucket=bucket.name, Key=item["Key"])
        client.delete_bucket(Bucket=bucket.name)
        lane.flushdb()
    return found


def numbered(url, number):
    """The database of a Redis that this worker of pytest-xdist has to itself."""
    address, _, last = url.rpartition("/")
    return f"{address}/{int(last) + number}" if last.isdigit() else f"{url.rstrip('/')}/{number}"


def plain(lane, key):
    """The content of a key, whatever kind it is."""
    kind = lane.type(key).decode()
    if kind == "stream":
        return "frames"
    read = {
        "string": lambda: lane.get(key),
        "hash": lambda: lane.hgetall(key),
        "zset": lambda: lane.zrange(key, 0, -1),
        "set": lambda: lane.smembers(key),
        "list": lambda: lane.lrange(key, 0, -1),
    }
    return read[kind]()


def documents(document_server, caller):
    import pymongo

    with pymongo.MongoClient(document_server.url, serverSelectionTimeoutMS=10_000) as client:
        names = [name for name in client.list_database_names() if name.startswith("test_")]
        (name,) = [n for n in names if client[n]["tokens"].count_documents({"name": "canary"})]
        return {c: repr(client[name][c].find().to_list()) for c in client[name].list_collection_names()}


def live(root, found):
    """Submit, run, end well and badly, stream, refuse and guess."""
    made = root.post_json("/v1/tokens", {"name": "canary", "scopes": ["producer", "worker", "admin"]}).value
    found.secrets.append(made["token"])
    caller = Caller(f"http://{root.address.netloc}", made["token"])
    for name, args in (("inline", ARGS.encode()), ("spilled", LARGE.encode() * 100_000), ("bad", b"x")):
        submission = {"invocation_id": name, "queue": "q", "args_blob": args}
        assert caller.post("/v1/producer/submit", submission).status == 200
    poll = {"worker_id": "w", "queue": "q", "max": 10, "lease_s": 60.0}
    assert len(caller.post("/v1/daemon/poll", poll).value["commands"]) == 3
    assert caller.post("/v1/daemon/event", {"kind": "note", "queue": "q", "data": {"a": 1}}).status == 200
    chunk = {"invocation_id": "inline", "seq": 0, "bytes": FRAME.encode(), "worker_id": "w"}
    assert caller.post("/v1/daemon/result-chunk", chunk).status == 200
    ends = [
        {"invocation_id": "inline", "state": "succeeded", "result_blob": RESULT.encode()},
        {"invocation_id": "spilled", "state": "succeeded", "result_blob": LARGE.encode() * 100_000},
        {
            "invocation_id": "bad",
            "state": "failed",
            "error": {"type": "E", "message": ERROR, "traceback": ERROR},
        },
    ]
    for end in ends:
        assert caller.post("/v1/daemon/ack", {"worker_id": "w", **end}).status == 200
    found.answers += refusals(caller)
    caller.close()


def refusals(caller):
    """Requests that are refused with a mark in what was wrong with them, but not in a name that is to be shown."""
    marked, good = NOISE.encode(), {"Content-Type": JSON}
    yield caller.get("/v1/producer/queues", Authorization=f"Bearer {GUESSED}")
    yield caller.get("/v1/producer/queues", Authorization=f"Basic {GUESSED}")
    yield caller.get(f"/v1/producer/queues?token={GUESSED}&limit={NOISE}")
    yield caller.send("DELETE", f"/v1/tokens/{GUESSED}")
    yield caller.send("POST", "/v1/producer/submit", b'{"args_blob": "' + marked, good)
    yield caller.send("POST", "/v1/producer/submit", b"\xc1" + marked, {"Content-Type": MSGPACK})
    yield caller.send("POST", "/v1/producer/submit", marked, {"Content-Encoding": "gzip", **good})
    yield caller.send(
        "POST", "/v1/producer/submit", gzip.compress(marked), {"Content-Encoding": "gzip", **good}
    )
    for wrong in (
        {"invocation_id": "wrong", "queue": "q", "args_blob": NOISE + "!"},
        {"invocation_id": "wrong", "queue": "q", "args_blob": b"", "function": NOISE},
        {"invocation_id": "wrong", "queue": "q", "args_blob": b"", "run_config": {"retries": NOISE}},
        {"invocation_id": "wrong", "queue": "q", "args_blob": marked * 5_000_000},
    ):
        yield caller.post("/v1/producer/submit", wrong)
    fenced = {"worker_id": "other", "invocation_id": "inline", "state": "failed", "error": {"message": NOISE}}
    yield caller.post("/v1/daemon/ack", fenced)
    yield caller.post("/v1/daemon/ack", {**fenced, "error": [NOISE]})
    frame = {"invocation_id": "inline", "seq": 5, "bytes": marked, "worker_id": "other"}
    yield caller.post("/v1/daemon/result-chunk", frame)
    yield caller.post("/v1/daemon/event", {"kind": "k", "queue": "q", "data": {"a": NOISE * 5000}})
    ref = "payload.5." + "0" * 64 + ".a"
    yield caller.send("PUT", f"/v1/producer/payloads/{ref}", marked)


def forms(mark):
    """A mark as it would look in other clothes."""
    raw = mark.encode()
    yield mark
    yield raw.hex()
    yield base64.b64encode(raw).decode().rstrip("=")[:-2]


def marks_in(text, marks):
    return [mark for mark in marks for form in forms(mark) if form in text]


def test_the_log_at_debug_level_holds_no_mark(seen):
    assert "lakeshore" in seen.log
    assert not marks_in(seen.log, [*MARKS, *seen.secrets])
    assert not re.search(r"X-Amz-Signature|dlk_|canary", seen.log)


def test_metrics_hold_no_mark(seen):
    assert "lakeshore_request_seconds" in seen.metrics
    assert not marks_in(seen.metrics, [*MARKS, *seen.secrets])


def test_refusals_repeat_nothing_of_what_was_sent(seen):
    assert len(seen.answers) > 15
    for answer in seen.answers:
        shown = answer.body.decode() + repr(answer.headers)
        assert not marks_in(shown, [*MARKS, *seen.secrets]), answer
    refused = [answer.status for answer in seen.answers if answer.error]
    assert set(refused) <= {400, 401, 404, 409, 413}
    assert len(refused) > 12


def test_documents_hold_marks_in_their_rows_alone(seen):
    rows = seen.documents["invocations"]
    assert ARGS in rows
    assert RESULT in rows
    assert ERROR in rows
    for name, text in seen.documents.items():
        allowed = {"invocations": {ARGS, RESULT, ERROR}, "result_chunks": {FRAME}}.get(name, set())
        assert set(marks_in(text, MARKS)) <= allowed, name


def test_a_token_is_nowhere_in_plaintext(seen):
    for text in (*seen.documents.values(), seen.lanes, seen.log, seen.metrics):
        assert not marks_in(text, seen.secrets)
        assert ROOT not in text


def test_lanes_hold_no_arguments_results_and_errors(seen):
    assert "{default/q}" in seen.lanes
    assert not marks_in(seen.lanes, [ARGS, RESULT, ERROR, NOISE, LARGE, GUESSED, ROOT, *seen.secrets])


def test_a_mistake_of_ours_is_logged_without_what_it_was_about(stand, monkeypatch, caplog):
    async def mistaken(*_args, **_options):
        raise RuntimeError(f"could not handle {NOISE}")

    monkeypatch.setattr(stand.replica.plane.lookups, "get", mistaken)
    caplog.set_level("DEBUG", logger="lakeshore")
    answer = stand.of("red", "producer").post("/v1/producer/get", {"invocation_id": "any"})
    assert (answer.status, answer.error) == (500, "internal")
    assert NOISE.encode() not in answer.body
    (line,) = [record.getMessage() for record in caplog.records if record.name == "lakeshore.api"]
    assert "RuntimeError" in line
    assert "in mistaken" in line
    assert NOISE not in caplog.text
