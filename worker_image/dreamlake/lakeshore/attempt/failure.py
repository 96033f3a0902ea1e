"""Turn anything a body may raise into an ``ErrorInfo``, without trusting it to behave."""

from __future__ import annotations

import signal
import traceback

from dreamlake.lakeshore.errors import ErrorInfo

_MOST_MESSAGE = 16_384
_MOST_TRACEBACK = 65_536


def error_info(exc: BaseException) -> ErrorInfo:
    """Describe an exception of any class by type, message and traceback.

    Only text leaves the process, so it does not matter whether the exception can be pickled or how its
    constructor looks. A ``__str__`` that raises is reported as such.
    """
    return ErrorInfo(
        type=type(exc).__name__,
        message=_clip(_text(exc), _MOST_MESSAGE),
        traceback=_clip(_trace(exc), _MOST_TRACEBACK),
    )


def _text(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception as bad:
        return f"(its __str__ raised {type(bad).__name__})"


def _trace(exc: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(exc))
    except Exception:
        return f"{type(exc).__name__} (its traceback could not be rendered)"


def _clip(text: str, most: int) -> str:
    """Keep both ends: the beginning says where, the end says what."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    if len(clean) <= most:
        return clean
    half = most // 2
    return f"{clean[:half]}\n... {len(clean) - most} characters left out ...\n{clean[-half:]}"


def crash_info(status: int, *, out_of_memory: bool = False) -> ErrorInfo:
    """Describe how a slot's process died, from ``Popen.returncode`` (negative: minus the signal)."""
    if status >= 0:
        how = f"exited with status {status} in the middle of the job"
    else:
        how = f"was killed by {_signal_name(-status)}"
        if out_of_memory:
            how += ": the kernel's out-of-memory killer ended it; give the worker more memory or the job less data"
        elif -status == signal.SIGKILL:
            how += " (often the out-of-memory killer)"
    return ErrorInfo(type="WorkerCrash", message=f"the process that ran the job {how}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
