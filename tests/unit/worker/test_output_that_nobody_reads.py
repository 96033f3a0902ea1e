"""A worker whose output's reader is gone ends with its own status, not with Python's 120 for a failed flush."""

import os
import subprocess
import sys

import pytest

LEFT_OVER = "import sys; sys.stdout.write('left over'); sys.stderr.write('left over')\n"
LET_GO = "from dreamlake.lakeshore.daemon.__main__ import _let_go_of_output; _let_go_of_output()\n"


@pytest.mark.parametrize(("program", "status"), [(LEFT_OVER, 120), (LEFT_OVER + LET_GO, 0)])
def test_what_cannot_be_written_is_dropped(program, status):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=buffered,
            stdout=writer,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.returncode == status
