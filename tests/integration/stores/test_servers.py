"""The servers that tests run against: they keep what they acknowledged, and leave nothing behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pymongo
import pymongo.errors
import pytest
import redis

from lakeshore_controlplane import embedded
from servers.document_server import DocumentServer
from servers.fixtures import Bucket
from servers.lane_server import LaneServer
from servers.object_server import ObjectServer

USED = []  # the databases of tests in this file that have ended


class Rows:
    """Numbers kept in a document server."""

    def __init__(self, url):
        self._client = pymongo.MongoClient(
            url, serverSelectionTimeoutMS=500, socketTimeoutMS=500, journal=True
        )
        self._rows = self._client.kept.numbers
        self.down = pymongo.errors.PyMongoError

    def put(self, number):
        self._rows.insert_one({"_id": number})

    def all(self):
        return {row["_id"] for row in self._rows.find()}

    def close(self):
        self._client.close()


class Members:
    """Numbers kept in a lane server."""

    def __init__(self, url):
        self._client = redis.Redis.from_url(url, socket_timeout=0.5)
        self.down = (redis.ConnectionError, redis.TimeoutError)

    def put(self, number):
        self._client.sadd("numbers", number)

    def all(self):
        return {int(member) for member in self._client.smembers("numbers")}

    def close(self):
        self._client.close()


class Objects:
    """Numbers kept in an object server, one object each."""

    def __init__(self, server):
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        quick = Config(connect_timeout=0.5, read_timeout=0.5, retries={"total_max_attempts": 1})
        self._client = Bucket(server.url, "numbers", server.access_key, server.secret_key).client(quick)
        self.down = (BotoCoreError, ClientError)

    def put(self, number):
        with contextlib.suppress(self._client.exceptions.BucketAlreadyOwnedByYou):
            self._client.create_bucket(Bucket="numbers")
        self._client.put_object(Bucket="numbers", Key=str(number), Body=b"x")

    def all(self):
        return {
            int(item["Key"]) for item in self._client.list_objects_v2(Bucket="numbers").get("Contents", [])
        }

    def close(self):
        self._client.close()


KINDS = {
    "documents": (DocumentServer, lambda server: Rows(server.url)),
    "lanes": (LaneServer, lambda server: Members(server.url)),
    "objects": (ObjectServer, Objects),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def server(kind):
    with kind[0]() as started:
        yield started


@pytest.fixture
def kept(kind, server):
    with contextlib.closing(kind[1](server)) as client:
        yield client


def test_what_a_server_acknowledged_is_there_after_kill_9_and_a_restart(server, kept):
    for number in range(100):
        kept.put(number)
    pid, port = server.pid, server.port
    server.kill()
    with pytest.raises(kept.down):
        kept.all()
    server.restart()
    assert server.port == port
    assert server.pid != pid
    assert kept.all() == set(range(100))


def test_a_restarted_server_has_its_data(server, kept):
    kept.put(1)
    server.restart()
    assert kept.all() == {1}


def test_a_frozen_server_does_not_answer_and_a_thawed_one_does(server, kept):
    kept.put(1)
    server.freeze()
    assert not server.answers()
    with pytest.raises(kept.down):
        kept.all()
    server.thaw()
    assert kept.all() == {1}


def test_a_server_that_cannot_start_says_what_it_wrote_and_leaves_nothing():
    class Broken(LaneServer):
        def command(self):
            return ["sh", "-c", "echo cannot open the storage; exit 3"]

    broken = Broken()
    with pytest.raises(AssertionError, match="ended with status 3 as it started:\ncannot open"), broken:
        pass
    assert not broken.folder.exists()


def test_a_server_whose_port_another_has_is_not_taken_for_the_other(server):
    late = type(server)()
    late.port = server.port
    with pytest.raises(AssertionError, match="is taken by another process"), late:
        pass
    assert server.answers()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_is_gone_with_its_data_when_who_started_it_was_ended(kind, how, until):
    program = (
        "import sys, time, importlib\n"
        "module, name = sys.argv[1:]\n"
        "server = getattr(importlib.import_module(module), name)().__enter__()\n"
        "print(server.pid, server.folder, flush=True)\n"
        "time.sleep(60)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", program, kind[0].__module__, kind[0].__name__],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    with starter:
        pid, folder = starter.stdout.readline().split()
        starter.send_signal(how)
    until(lambda: not Path(folder).exists(), "the data folder to go")
    until(lambda: not runs(int(pid)), "the server to end")


def test_a_shared_server_that_a_test_killed_or_froze_is_there_for_the_next(document_server):
    document_server.kill()
    document_server.ensure()
    assert document_server.answers()
    document_server.freeze()
    document_server.ensure()
    assert document_server.answers()


def test_the_fixtures_give_empty_stores(mongo_url, mongo_database, redis_url, s3_bucket):
    with pymongo.MongoClient(mongo_url) as client:
        assert client[mongo_database].list_collection_names() == []
        client[mongo_database].rows.insert_one({})
    USED.append(mongo_database)
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("a", "b")
    with contextlib.closing(s3_bucket.client()) as client:
        assert "Contents" not in client.list_objects_v2(Bucket=s3_bucket.name)
        client.put_object(Bucket=s3_bucket.name, Key="a/b", Body=b"body")
        url = client.generate_presigned_url(
            "get_object", {"Bucket": s3_bucket.name, "Key": "a/b"}, ExpiresIn=60
        )
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.read() == b"body"


def test_the_fixtures_leave_nothing_for_the_next_test(document_server, redis_url, object_server):
    with pymongo.MongoClient(document_server.url) as client:
        assert not [name for name in client.list_database_names() if name in USED]
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0


def test_an_embedded_server_keeps_its_rows_and_ends_with_its_context(tmp_path):
    for number in range(2):
        with (
            embedded.DocumentServer(tmp_path / "data") as server,
            contextlib.closing(Rows(server.url)) as rows,
        ):
            rows.put(number)
            assert rows.all() == set(range(number + 1))
        assert not server.running
        assert not embedded.answers(server.port)


def test_an_embedded_server_ends_when_its_owner_is_killed_and_the_next_finds_the_rows(tmp_path):
    program = (
        "import sys, time, pymongo, pathlib\n"
        "from lakeshore_controlplane.embedded import DocumentServer\n"
        "with DocumentServer(pathlib.Path(sys.argv[1])) as server:\n"
        "    for number in range(100):\n"
        "        pymongo.MongoClient(server.url).kept.numbers.insert_one({'_id': number})\n"
        "    print(server.port, flush=True)\n"
        "    time.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
    with owner:
        port = int(owner.stdout.readline())
        owner.kill()
    with embedded.DocumentServer(tmp_path) as server, contextlib.closing(Rows(server.url)) as rows:
        assert not embedded.answers(port), "the folder is free once its server has ended"
        assert rows.all() == set(range(100))


def test_a_data_folder_in_use_is_refused_with_a_line_that_says_by_whom(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "LOCK_LIMIT_S", 0.1)
    with embedded.DocumentServer(tmp_path) as first, contextlib.closing(Rows(first.url)) as rows:
        with pytest.raises(
            embedded.EmbeddedServerError, match=f"in use by another server .process {os.getpid()}.: stop"
        ):
            embedded.DocumentServer(tmp_path).__enter__()
        rows.put(1)


def test_an_embedded_server_does_not_take_another_server_on_its_port_for_itself(
    tmp_path, monkeypatch, document_server
):
    port = int(document_server.url.rpartition(":")[2].split("/")[0])
    monkeypatch.setattr(embedded, "free_port", lambda: port)
    with pytest.raises(embedded.EmbeddedServerError, match=r"ended while it started: .*in use"):
        embedded.DocumentServer(tmp_path).__enter__()


def test_without_a_document_server_one_line_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(
        embedded.EmbeddedServerError, match="install mongod, or run `cargo install secantus-mdb"
    ) as refused:
        embedded.DocumentServer(tmp_path / "data").__enter__()
    assert "\n" not in str(refused.value)
    monkeypatch.setenv("LAKESHORE_SECANTUSD", str(tmp_path / "none"))
    with pytest.raises(embedded.EmbeddedServerError, match="LAKESHORE_SECANTUSD is not a program"):
        embedded.DocumentServer(tmp_path / "data").__enter__()


def test_an_embedded_server_that_ends_at_once_is_reported_with_its_last_words(tmp_path, monkeypatch):
    program = tmp_path / "secantusd-rs"
    program.write_text("#!/bin/sh\necho first; echo cannot open the storage; exit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("LAKESHORE_SECANTUSD", str(program))
    with pytest.raises(embedded.EmbeddedServerError, match="cannot open the storage"):
        embedded.DocumentServer(tmp_path / "data").__enter__()


def runs(pid):
    """Whether a process runs; one that ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.fixture
def until():
    def until(condition, what, limit_s=20):
        ends = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < ends, f"waited {limit_s} s for {what}"
            time.sleep(0.01)

    return until
