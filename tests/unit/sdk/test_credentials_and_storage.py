"""TemporaryCredentials and the Storage seam."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dreamlake.lakeshore import RunContext, Storage, TemporaryCredentials, run
from dreamlake.lakeshore.function.body import run_invocation

SOON = datetime(2030, 1, 1, tzinfo=UTC)


def credentials(**changes):
    given = {
        "access_key_id": "AKIA1",
        "secret_access_key": "s3cr3t-key",
        "session_token": "t0k3n-value",
        "expiration": SOON,
        "region": "eu-north-1",
        "bucket": "scenes",
    }
    return TemporaryCredentials(**{**given, **changes})


def test_secrets_are_never_in_the_representation():
    shown = f"{credentials()!r} {credentials()!s}"
    assert "AKIA1" in shown
    assert "s3cr3t" not in shown
    assert "t0k3n" not in shown


def test_boto3_takes_the_keyword_arguments():
    assert credentials().to_boto3_kwargs() == {
        "aws_access_key_id": "AKIA1",
        "aws_secret_access_key": "s3cr3t-key",
        "aws_session_token": "t0k3n-value",
        "region_name": "eu-north-1",
    }
    assert credentials(endpoint="http://minio:9000").to_boto3_kwargs()["endpoint_url"] == "http://minio:9000"


def test_credentials_are_frozen_and_expire():
    with pytest.raises(AttributeError):
        credentials().bucket = "other"
    assert credentials().expired(SOON)
    assert not credentials().expired(SOON - timedelta(seconds=1))


def test_an_expiration_without_a_time_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        credentials(expiration=datetime(2030, 1, 1))


class Remembering(Storage):
    def __init__(self, folder: Path) -> None:
        self.folder, self.published = folder, []

    def read(self, location):
        return self.folder / location.replace("/", "_")

    def write(self, location, *, dir=False):  # noqa: A002
        return self.folder / location.replace("/", "_")

    def publish(self, locations):
        self.published.append(list(locations))


def test_another_storage_takes_the_place_of_the_directory(tmp_path):
    storage = Remembering(tmp_path)
    context = RunContext(root=tmp_path, prefix="s/1", storage=storage)

    def body():
        run.write("a.txt").write_text("A")
        run.write("b.txt")
        return ["a.txt", "b.txt"]

    run_invocation(body, (), {}, context=context, emit=print)
    assert (tmp_path / "s_1_a.txt").read_text() == "A"
    assert storage.published == [["s/1/a.txt", "s/1/b.txt"]]


def test_nothing_is_published_when_the_body_fails(tmp_path):
    storage = Remembering(tmp_path)

    def body():
        run.write("a.txt")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        run_invocation(body, (), {}, context=RunContext(root=tmp_path, storage=storage), emit=print)
    assert storage.published == []
