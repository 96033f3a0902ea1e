"""The Lakeshore home and the default plane, from the environment."""

import os
import stat
from pathlib import Path

import pytest

from dreamlake.lakeshore import home as home_module
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.home import default_plane, dispatch_path, home, use_plane


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    monkeypatch.setenv("LAKESHORE_HOME", str(tmp_path / "deep" / "home"))
    monkeypatch.delenv("LAKESHORE_URL", raising=False)
    monkeypatch.setattr(home_module, "_default", None)


def test_the_home_is_made_for_its_user_alone(tmp_path):
    assert home() == tmp_path / "deep" / "home"
    assert stat.S_IMODE(home().stat().st_mode) == 0o700
    assert home() == home()


def test_without_a_setting_it_lies_in_the_users_home(monkeypatch, tmp_path):
    monkeypatch.delenv("LAKESHORE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".lakeshore"


def test_a_tilde_is_the_users_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LAKESHORE_HOME", "~/lake")
    assert home() == tmp_path / "lake"


def test_a_home_that_cannot_be_made_is_one_clear_line(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAKESHORE_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(ConfigError, match=r"cannot be made .*: set LAKESHORE_HOME to a folder") as caught:
        home()
    assert "\n" not in str(caught.value)


def test_a_home_that_cannot_be_written_to_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(ConfigError, match="cannot be written to"):
        home()


def test_the_default_plane_is_the_file_there_and_one_for_the_process():
    plane = default_plane()
    assert default_plane() is plane
    plane.submit("q", b"e", id="a")
    assert dispatch_path() == home() / "dispatch.sqlite"
    assert Path(dispatch_path()).is_file()
    plane.close()


def test_with_a_url_the_default_plane_is_the_control_plane(monkeypatch):
    monkeypatch.setenv("LAKESHORE_URL", "https://cp.example.com")
    monkeypatch.setenv("LAKESHORE_NAMESPACE", "team")
    plane = default_plane()
    assert repr(plane) == "HttpDispatch('https://cp.example.com', namespace='team')"
    plane.close()


def test_settings_of_a_worker_are_those_of_what_it_starts(monkeypatch):
    monkeypatch.setenv("LAKESHORE_URL", "https://cp.example.com")
    monkeypatch.setenv("LAKESHORE_CLIENT_TOKEN", "of the environment")
    monkeypatch.setenv("LAKESHORE_NAMESPACE", "of the environment")
    use_plane(None, token=None, namespace="team")
    assert "LAKESHORE_URL" not in os.environ
    assert "LAKESHORE_CLIENT_TOKEN" not in os.environ
    assert os.environ["LAKESHORE_NAMESPACE"] == "team"
    use_plane("http://localhost:1", token="t", namespace="default")
    assert os.environ["LAKESHORE_URL"] == "http://localhost:1"
    assert os.environ["LAKESHORE_CLIENT_TOKEN"] == "t"
