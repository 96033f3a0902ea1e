"""The examples of docs/command-line.md run as they stand, in order."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_examples_run(env, project):
    shutil.copy(ROOT / "examples" / "hello" / "hello_udf.py", project)
    page = (ROOT / "docs" / "command-line.md").read_text()
    examples = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 5
    ran = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", "\n".join(examples)],
        env=env,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "\n42\n" in ran.stdout
    assert "queue images is draining (priority)" in ran.stdout
    assert (project / "queue.yaml").exists()
