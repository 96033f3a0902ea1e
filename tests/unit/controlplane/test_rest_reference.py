"""docs/rest.md is what its module gives."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_is_what_the_module_gives():
    made = subprocess.run(
        [sys.executable, "-m", "lakeshore_controlplane.api.reference"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    page = (ROOT / "docs" / "rest.md").read_text(encoding="utf-8")
    assert page == made.stdout, "run python -m lakeshore_controlplane.api.reference > docs/rest.md"
