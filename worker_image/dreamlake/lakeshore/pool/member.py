"""What a pool's worker process runs: a worker that does not outlive its pool.

``python -m dreamlake.lakeshore.pool.member PID FLAGS...``, where PID is the pool's. A worker without its pool would
wait for work that nobody scales for. The pool's id is given, not asked for: it may be gone before this process has
come so far as to ask who its parent is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from dreamlake.lakeshore.worker.orphan import end_with_parent


def main(argv: Sequence[str]) -> int:
    """Run a worker with the flags that follow the pool's process id, and give its exit status."""
    end_with_parent(signal.SIGTERM)  # a drain: a running job ends
    if os.getppid() != int(argv[0]):
        return 0
    from dreamlake.lakeshore.daemon.__main__ import main as run_daemon  # noqa: PLC0415 - first things first

    return run_daemon(argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
