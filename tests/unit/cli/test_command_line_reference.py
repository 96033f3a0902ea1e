"""docs/command-line.md names every command and flag that there is, and none that there is not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from dreamlake.lakeshore.cli.app import app

PAGE = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text()
SHARED = {"--json", "--namespace", "--url", "--token", "--help", "-h"}
PLANE = {"--namespace", "--url", "--token"}
UNSHARED = {"simulate": PLANE, "server": {*PLANE, "--json"}}
"""What the few commands without a plane do without."""
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name))


COMMANDS = sorted(commands(typer.main.get_command(app)))
SECTIONS = {
    match["name"].strip(): match["text"]
    for match in re.finditer(
        r"^### `lakeshore (?P<name>[a-z ]+)[^`]*`\n(?P<text>.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL
    )
}


def test_each_command_has_a_section_and_each_section_a_command():
    assert sorted(SECTIONS) == COMMANDS


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "worker once"])
def test_the_flags_of_a_command_are_those_of_its_parser(lakeshore, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "300")
    shown = _help_of_server() if command == "server" else lakeshore(*command.split(), "--help").out
    known = {flag for line in shown.splitlines() if re.match(r"\s+-", line) for flag in _head(line)}
    written = {
        flag
        for row in re.findall(r"^\| (`-.*?) \|", SECTIONS[command], re.MULTILINE)
        for flag in FLAG.findall(row)
    }
    assert written == known - SHARED
    assert known >= SHARED - UNSHARED.get(command, set())


def _help_of_server():
    """Its process becomes the server's, so it needs one of its own."""
    start = "from dreamlake.lakeshore.cli import main; main()"
    command = [sys.executable, "-c", start, "server", "--help"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def _head(line):
    """The flags that a line of help is about: its first column, before the description."""
    return FLAG.findall(re.split(r"\s{2,}", line.strip())[0])


def test_the_shared_flags_are_described_once():
    table = PAGE[: PAGE.index("## Submitting")]
    assert {
        flag for row in re.findall(r"^\| (`-.*?) \|", table, re.MULTILINE) for flag in FLAG.findall(row)
    } == SHARED


def test_each_exit_status_of_the_code_is_explained():
    from dreamlake.lakeshore.cli.app import INTERRUPTED, NO_SUCCESS, OK, WRONG_USE

    for status in (OK, NO_SUCCESS, WRONG_USE, INTERRUPTED):
        assert f"\n| {status} | " in PAGE
