"""The image's file: what it copies is there and let through, and what it starts as suits a cluster."""

import fnmatch
import re
import tomllib
from pathlib import Path

from lakeshore_controlplane.settings import Settings

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "controlplane" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
LINES = [line for line in TEXT.splitlines() if line and not line.startswith("#")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def arguments(instruction):
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{instruction} ")]


def test_what_is_copied_from_the_repository_is_there_and_not_ignored():
    let_in = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line[:1] == "!"
    }
    sources = [name for copy in arguments("COPY") if "--from" not in copy for name in copy.split()[:-1]]
    assert sources
    for source in sources:
        assert any(fnmatch.fnmatch(name, source) for name in let_in), source
        assert source == "sit[e]" or (ROOT / source).exists(), source


def test_every_package_of_the_wheel_is_copied():
    copied = " ".join(arguments("COPY"))
    for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert package in copied


def test_the_source_that_installed_needs_to_be_built_is_copied():
    for name in (
        PROJECT["project"]["readme"],
        *PROJECT["project"]["license-files"],
        "pyproject.toml",
        "uv.lock",
    ):
        assert any(name in copy.split()[:-1] for copy in arguments("COPY")), name


def test_it_runs_as_a_number_that_is_not_root():
    user, group = re.fullmatch(r"(\d+):(\d+)", arguments("USER")[-1]).groups()
    assert int(user) > 0
    assert int(group) > 0


def test_nothing_needs_a_shell_at_run_time():
    assert arguments("ENTRYPOINT") == ['["python3", "-m", "lakeshore_controlplane"]']
    assert not arguments("CMD")


def test_its_environment_is_of_settings_that_there_are():
    given = dict(re.findall(r"(LAKESHORE_\w+)=(\S+)", " ".join(arguments("ENV"))))
    settings = Settings(**{name.removeprefix("LAKESHORE_").lower(): value for name, value in given.items()})
    assert settings.host == "0.0.0.0"
    assert str(settings.port) in arguments("EXPOSE")


def test_nothing_is_imported_from_the_folder_that_it_starts_in():
    assert "PYTHONSAFEPATH=1" in " ".join(arguments("ENV"))


def test_its_label_says_the_version():
    assert f'image.version="{PROJECT["project"]["version"]}"' in " ".join(arguments("LABEL"))


def test_both_kinds_of_site_are_stages():
    stages = re.findall(r"^FROM \S+ AS (\w+)$", TEXT, re.MULTILINE)
    assert re.search(r"^ARG SITE=(\w+)$", TEXT, re.MULTILINE)[1] in stages
    assert "given" in stages
