"""Fixtures for tests that need servers: started when a test first asks, once for each worker of pytest-xdist."""

import contextlib
import os
import uuid
from typing import NamedTuple

import pytest

from servers.document_server import DocumentServer
from servers.lane_server import LaneServer
from servers.object_server import REGION, GivenObjectServer, ObjectServer
from servers.process import GivenServer


@pytest.fixture(scope="session")
def document_server():
    """The document server that tests share; see ``ServerProcess`` for what can be done to it."""
    given = "LAKESHORE_TEST_MONGO_URL"
    with GivenServer(given) if os.environ.get(given) else DocumentServer() as server:
        yield server


@pytest.fixture(scope="session")
def lane_server():
    """The Redis or Valkey that tests share."""
    given = "LAKESHORE_TEST_REDIS_URL"
    with GivenServer(given) if os.environ.get(given) else LaneServer() as server:
        yield server


@pytest.fixture(scope="session")
def object_server():
    """The S3 that tests share."""
    given = "LAKESHORE_TEST_S3_URL"
    with GivenObjectServer(given) if os.environ.get(given) else ObjectServer() as server:
        yield server


@pytest.fixture
def mongo_url(document_server):
    """The URL of a document server that answers."""
    document_server.ensure()
    return document_server.url


@pytest.fixture
def mongo_database(mongo_url, document_server):
    """The name of a database that nobody else uses; it is dropped after the test."""
    import pymongo

    name = f"test_{uuid.uuid4().hex}"
    yield name
    document_server.ensure()
    with pymongo.MongoClient(mongo_url, serverSelectionTimeoutMS=10_000) as client:
        client.drop_database(name)


@pytest.fixture
def redis_url(lane_server, worker_id_number):
    """The URL of an empty Redis that nobody else uses; it is emptied after the test.

    A server that the environment names is shared by its numbered databases: number 0 and up from the URL's own,
    one for each worker of pytest-xdist.
    """
    import redis

    lane_server.ensure()
    address, _, number = lane_server.url.rpartition("/")
    if not number.isdigit():
        address, number = lane_server.url.rstrip("/"), "0"
    url = f"{address}/{int(number) + worker_id_number}"
    with contextlib.closing(redis.Redis.from_url(url, socket_timeout=10)) as client:
        client.flushdb()
        yield url
        lane_server.ensure()
        client.flushdb()


@pytest.fixture(scope="session")
def worker_id_number():
    """Which worker of pytest-xdist this is, from 0."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


class Bucket(NamedTuple):
    """An empty bucket and what it takes to reach it."""

    url: str
    name: str
    access_key: str
    secret_key: str
    region: str = REGION

    def client(self, config=None):
        """Make a boto3 client; the caller closes it."""
        import boto3
        from botocore.config import Config

        addressing = Config(signature_version="s3v4", s3={"addressing_style": "path"})
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name=self.region,
            config=addressing.merge(config) if config else addressing,
        )


@pytest.fixture
def s3_bucket(object_server):
    """A ``Bucket`` of its own, removed with what is in it after the test."""
    object_server.ensure()
    bucket = Bucket(
        object_server.url, f"test-{uuid.uuid4().hex}", object_server.access_key, object_server.secret_key
    )
    with contextlib.closing(bucket.client()) as client:
        client.create_bucket(Bucket=bucket.name)
        yield bucket
        object_server.ensure()
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket.name):
            for item in page.get("Contents", []):
                client.delete_object(Bucket=bucket.name, Key=item["Key"])
        client.delete_bucket(Bucket=bucket.name)
