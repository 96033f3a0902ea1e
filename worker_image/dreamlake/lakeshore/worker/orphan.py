"""Processes that must not outlive the one that started them.

A slot's child without its parent would run a body whose lease nobody renews; a pool's worker without the
pool would wait for work that nobody scales for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LOOK_EVERY_S = 1.0


def end_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Arrange that this process gets signal ``number`` when the process that started it dies.

    On Linux the kernel sends it, even while a body keeps the GIL; elsewhere a thread looks once a second.
    """
    parent = os.getppid()
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - costs milliseconds, and only these processes need it

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, number) == 0:
            if os.getppid() != parent:  # it died between the two lines
                os.kill(os.getpid(), number)
            return
    threading.Thread(target=_watch, args=(parent, number), name="lakeshore-orphan", daemon=True).start()


def _watch(parent: int, number: signal.Signals) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os.kill(os.getpid(), number)
