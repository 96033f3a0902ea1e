"""Which names queues, namespaces, invocations, workers and journals may have: the rules that the SDK's planes have.

Every check gives the name back or raises ``ValueError`` with one line that says what to use.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_SHORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
_INVOCATION = re.compile(r"[A-Za-z0-9._:/-]{1,128}", re.ASCII)
_JOURNAL_LIMIT = 1024
_FREE_LIMIT = 512


def check_queue(name: str) -> str:
    """Check a queue name: one segment of a path."""
    return _check_short("queue name", name)


def check_namespace(name: str) -> str:
    """Check a namespace."""
    return _check_short("namespace", name)


def check_invocation(inv_id: str) -> str:
    """Check an invocation id."""
    if not isinstance(inv_id, str) or not _INVOCATION.fullmatch(inv_id):
        raise ValueError(
            f"invocation id {_shown(inv_id)}: use 1 to 128 letters, digits or any of . _ - : /, for example a new ULID"
        )
    return inv_id


def check_journal(name: str) -> str:
    """Check a journal id; topics put free text into theirs."""
    return _check_free("journal id", name, _JOURNAL_LIMIT)


def check_worker(worker_id: str) -> str:
    """Check a worker id."""
    return _check_free("worker id", worker_id, _FREE_LIMIT)


def check_key(key: str) -> str:
    """Check a submission key."""
    return _check_free("key", key, _FREE_LIMIT)


def nearest(name: str, known: Iterable[str]) -> str:
    """Give ``: did you mean '...'?`` when one of ``known`` is like ``name``, else an empty text."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f": did you mean {found[0]!r}?" if found else ""


def _check_short(what: str, name: str) -> str:
    if not isinstance(name, str) or not _SHORT.fullmatch(name):
        raise ValueError(
            f"{what} {_shown(name)}: use 1 to 128 letters, digits or any of . _ - :, beginning with a letter or digit"
        )
    return name


def _check_free(what: str, text: str, limit: int) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= limit or not _storable(text):
        raise ValueError(f"{what} {_shown(text)}: use a str of 1 to {limit} characters without NUL")
    return text


def _shown(text: object) -> str:
    return repr(text if not isinstance(text, str) or len(text) <= 80 else text[:80] + "...")


def _storable(text: str) -> bool:
    """A lone surrogate has no UTF-8 form, so no store could keep it."""
    return (text.isascii() and "\0" not in text) or not re.search("[\0\ud800-\udfff]", text)
