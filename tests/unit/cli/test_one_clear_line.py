"""Whatever goes wrong: one line on stderr that says what to do next, and status 2."""

import os
import socket
import sqlite3

import pytest

from dreamlake.lakeshore.cli.output import duration, plain


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["queus"], "No such command 'queus'. Did you mean 'queues'?"),
        (["queues", "lst"], "No such command 'lst'. Did you mean 'list'?"),
        (["jobs", "list", "--jsn"], "No such option: --jsn"),
        (["jobs", "list", "--jsn"], "--json"),
        (["jobs", "list", "--limit", "0"], "Invalid value for '--limit'"),
        (["jobs", "list", "--limit", "many"], "Invalid value for '--limit'"),
        (["jobs", "show"], "Missing argument 'ID'"),
        (["queues", "show", "a", "b"], "unexpected extra argument"),
        (["jobs", "list", "--queue"], "requires an argument"),
        (["up", "--lease", "0.1", "-f", "x"], "Invalid value for '--lease'"),
        (["up"], "name a file with -f queue.yaml; `lakeshore up --example` prints a minimal one"),
        (
            ["up", "-f", "missing.yaml"],
            "missing.yaml: No such file or directory: give the path of a queue.yaml",
        ),
        (["up", "-f", "/"], "/: Is a directory"),
    ],
)
def test_wrong_use(lakeshore, words, said):
    ran = lakeshore(*words)
    assert ran.status == 2
    assert said in ran.error


@pytest.mark.parametrize("words", [["queus"], ["jobs", "list", "--jsn"], ["jobs", "show"]])
def test_wrong_use_names_the_help_that_has_more(lakeshore, words):
    assert "--help`)" in lakeshore(*words).error


@pytest.mark.parametrize("words", [[], ["jobs"], ["queues"], ["worker"]])
def test_without_a_command_there_is_help(lakeshore, words):
    ran = lakeshore(*words)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("Usage: lakeshore")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(lakeshore, flag):
    assert lakeshore("queues", "add", flag).out.startswith("Usage: lakeshore queues add")


def test_version(lakeshore):
    assert lakeshore("--version").out.startswith("lakeshore 0.")


COMMANDS = [["queues", "list"], ["jobs", "list"], ["submit", "os:getcwd", "--queue", "q"], ["worker", "once"]]


@pytest.fixture
def nowhere():
    """A URL on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("words", [COMMANDS[0], COMMANDS[2]])
def test_a_control_plane_that_does_not_answer_is_named(lakeshore, monkeypatch, nowhere, words):
    monkeypatch.setenv("LAKESHORE_URL", nowhere)
    monkeypatch.setenv("LAKESHORE_CLIENT_TOKEN", "dlk_secret")
    ran = lakeshore(*words)
    assert (ran.status, ran.out) == (2, "")
    assert f"no control plane answers at {nowhere} (Connection refused): is it running?" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "dlk_secret" not in ran.err


@pytest.mark.parametrize("words", COMMANDS)
def test_a_control_plane_that_cannot_be_one_is_refused_by_flag_and_by_environment(
    lakeshore, monkeypatch, words
):
    monkeypatch.setenv("LAKESHORE_URL", "lake.example:8080")
    ran = lakeshore(*words)
    assert (ran.status, ran.out) == (2, "")
    assert "no http:// or https:// in front" in ran.err
    assert len(ran.err.splitlines()) == 1
    monkeypatch.delenv("LAKESHORE_URL")
    assert "no http:// or https:// in front" in lakeshore(*words, "--url", "ftp://lake.example").err
    refused = lakeshore(*words, "--url", "http://lake.example", "--token", "two words").err
    assert "characters that no token has" in refused
    assert "two words" not in refused


@pytest.mark.parametrize("words", COMMANDS)
def test_a_home_that_cannot_be_made(lakeshore, monkeypatch, tmp_path, words):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAKESHORE_HOME", str(tmp_path / "file" / "home"))
    ran = lakeshore(*words)
    assert (ran.status, ran.out) == (2, "")
    assert "set LAKESHORE_HOME to a folder that you can write to" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_database_of_a_newer_version(lakeshore, home):
    lakeshore("queues", "add", "q")
    with sqlite3.connect(home / "dispatch.sqlite") as conn:
        conn.execute("PRAGMA user_version = 99")
    conn.close()
    before = (home / "dispatch.sqlite").read_bytes()
    ran = lakeshore("queues", "list")
    assert ran.status == 2
    assert "newer" in ran.error
    assert (home / "dispatch.sqlite").read_bytes() == before


def test_a_file_that_is_no_database(lakeshore, home):
    home.mkdir()
    (home / "dispatch.sqlite").write_text("not a database, and long enough to be looked at " * 10)
    ran = lakeshore("queues", "list")
    assert (ran.status, "is not a Lakeshore database" in ran.error) == (2, True)


def test_a_root_that_is_no_directory(lakeshore, tmp_path):
    file = tmp_path / "queue.yaml"
    file.write_text(lakeshore("up", "--example").out)
    ran = lakeshore("up", "-f", file, "--root", tmp_path / "nowhere")
    assert ran.status == 2
    assert ran.error == f"--root {tmp_path / 'nowhere'} is not a directory: create it or give another one"


def test_one_queue_in_two_files(lakeshore, tmp_path):
    files = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    for file in files:
        file.write_text(lakeshore("up", "--example").out)
    assert "queue 'hello' is there more than once" in lakeshore("up", "-f", files[0], "-f", files[1]).error


def test_a_home_whose_pools_cannot_be_locked(lakeshore, home, tmp_path):
    file = tmp_path / "queue.yaml"
    file.write_text(lakeshore("up", "--example").out)
    home.mkdir()
    (home / "pools").write_text("in the way")
    ran = lakeshore("up", "-f", file)
    assert ran.status == 2
    assert "pools" in ran.error


def test_the_example_is_a_queue_file(lakeshore):
    from dreamlake.lakeshore.pool.queue_file import parse_queues

    (spec,) = parse_queues(lakeshore("up", "--example").out, where="example")
    assert (spec.name, spec.unused) == ("hello", ())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (0, "0 s"),
        (0.034, "0.034 s"),
        (59.9, "59.9 s"),
        (90, "1.5 min"),
        (7200, "2 h"),
        (200_000, "2.31 d"),
        (-1, "0 s"),
    ],
)
def test_durations_are_in_their_largest_unit(value, shown):
    assert duration(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ((1, [2]), [1, [2]]),
        ({1: "a", "b": {2}}, {"1": "a", "b": "{2}"}),
        (float("nan"), "nan"),
        (b"text", "text"),
        (b"\xff", "ff"),
        (os.stat_result, repr(os.stat_result)),
        (2**70, 2**70),
    ],
)
def test_any_value_has_a_form_in_json(value, shown):
    assert plain(value) == shown
