"""What starting a command costs: libraries that only one command needs are loaded by it alone."""

import subprocess
import sys

import pytest


def modules_after(code):
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(ran.stdout.split())


def test_the_library_needs_nothing_of_the_command_line():
    loaded = modules_after(
        "import dreamlake.lakeshore, dreamlake.lakeshore.worker, dreamlake.lakeshore.queue"
    )
    assert not loaded & {"typer", "rich", "yaml", "click"}


@pytest.mark.parametrize("words", [["queues", "list"], ["jobs", "list"]])
def test_everyday_commands_load_no_table_no_yaml_and_no_pool(words):
    loaded = modules_after(f"from dreamlake.lakeshore.cli.app import run\nrun({words!r})")
    assert "dreamlake.lakeshore.cli.app" in loaded
    assert not loaded & {
        "rich",
        "yaml",
        "dreamlake.lakeshore.pool",
        "dreamlake.lakeshore.worker.running",
        "numpy",
    }


def test_the_command_line_needs_typer_alone_whatever_else_is_installed():
    """The locked typer brings click along; the one that development tools install must not be needed."""
    loaded = modules_after("import sys\nsys.modules['click'] = None\nimport dreamlake.lakeshore.cli.app")
    assert "dreamlake.lakeshore.cli.app" in loaded
