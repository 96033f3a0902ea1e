"""S3 that is slow, refuses connections, hangs up midway or is away for payloads that do not fit into rows."""

import hashlib
import subprocess

import fault_bodies as bodies
import pytest

from servers.partition import Partition

SIZE = 200_000


@pytest.fixture
def net(site, object_server):
    return site.enter(Partition(object_server.port))


@pytest.fixture
def replica(site, net, s3_bucket):
    return site.replica(
        blobs="s3",
        s3_endpoint=f"http://127.0.0.1:{net.port}",
        s3_bucket=s3_bucket.name,
        s3_access_key=s3_bucket.access_key,
        s3_secret_key=s3_bucket.secret_key,
        s3_presigning="false",  # everything passes through the replica, and so through the trouble
        inline_limit=4096,
    )


@pytest.fixture
def queue(site, replica):
    site.worker(replica.url, "--lease", 3)
    made = site.queue(replica.url, timeout=30)
    assert made.result(made.submit(bodies.echo, block(0)), timeout=20) == block(0)
    return made


def block(number):
    return hashlib.sha256(number.to_bytes(4, "big")).digest() * (SIZE // 32)


def assert_served(site, queue, ids):
    """Each gives what it was given; all ended once, and none of the large values lies in a row."""
    for number, inv_id in ids.items():
        assert queue.result(inv_id, timeout=60) == block(number)
    rows = site.witness.assert_all_ended([*ids.values()])
    assert all("argsRef" in rows[inv_id] and "resultRef" in rows[inv_id] for inv_id in ids.values())


def test_slow_object_store_slows_only_what_needs_it(site, net, queue):
    net.delay(0.05)
    ids = {number: queue.submit(bodies.echo, block(number)) for number in range(1, 3)}
    assert queue.result(queue.submit(bodies.double, 4), timeout=20) == 8
    assert_served(site, queue, ids)


def test_object_store_that_breaks_connections_loses_no_payload(site, net, queue):
    """They break while payloads are on their way in and out: nothing is cut short, and nothing is lost."""
    net.delay(0.02)
    ids = {}
    for number in range(1, 13):
        ids[number] = queue.submit(bodies.echo, block(number))
        net.reset()
    net.delay(0)
    assert_served(site, queue, ids)


def test_object_store_that_is_away_is_waited_for_and_stops_no_other_worker(
    site, replica, object_server, queue
):
    """A worker whose result cannot be taken now keeps it, and claims nothing more until it is."""
    site.worker(replica.url, "--lease", 3)
    waiting = queue.submit(bodies.echo, block(1))
    object_server.kill()
    small = [queue.submit(bodies.double, n) for n in range(5)]
    assert [queue.result(inv_id, timeout=30) for inv_id in small] == [0, 2, 4, 6, 8]
    object_server.start()
    assert_served(site, queue, {1: waiting, 2: queue.submit(bodies.echo, block(2))})


def test_head_job_whose_arguments_cannot_be_had_now_lets_others_run(site, object_server, replica):
    queue = site.queue(replica.url, timeout=30)
    head = queue.submit(bodies.echo, block(1))
    object_server.kill()
    small = [queue.submit(bodies.double, n) for n in range(5)]
    site.worker(replica.url, "--lease", 3)
    assert [queue.result(inv_id, timeout=20) for inv_id in small] == [0, 2, 4, 6, 8]
    object_server.start()
    assert_served(site, queue, {1: head})


def test_code_that_cannot_be_fetched_now_is_waited_for(site, object_server, replica, tmp_path, monkeypatch):
    tree = tmp_path / "project"
    tree.mkdir()
    (tree / "fault_project.py").write_text("def triple(x):\n    return 3 * x\n")
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", tree, *words], check=True)
    monkeypatch.syspath_prepend(tree)
    monkeypatch.delenv("LAKESHORE_PUSH_CODE")
    import fault_project

    queue = site.queue(replica.url, timeout=30)
    job = queue.submit(fault_project.triple, 4)
    object_server.kill()
    worker = site.worker(replica.url, "--lease", 3)
    site.until(lambda: "could not fetch the code" in worker.output(), "the worker to ask for the code")
    object_server.start()
    assert queue.result(job, timeout=20) == 12
    assert site.witness.rows()[job]["attempt"] == 1
