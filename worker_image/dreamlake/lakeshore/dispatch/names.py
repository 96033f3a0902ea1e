"""Which names queues, namespaces, invocations, workers and journals may have."""

from __future__ import annotations

import re

from dreamlake.lakeshore.errors import ConfigError

_QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
_INVOCATION = re.compile(r"[A-Za-z0-9._:/-]{1,128}", re.ASCII)
_JOURNAL_LIMIT = 1024
_FREE_LIMIT = 512


def check_queue(name: str) -> str:
    """Give the queue name back. Raises ``ConfigError`` when it is not one.

    No slash: a name is one segment of a path, in URLs and on the command line.
    """
    return _check_short("queue name", name)


def check_namespace(name: str) -> str:
    """Give the namespace back. Raises ``ConfigError`` when it is not one."""
    return _check_short("namespace", name)


def check_invocation(inv_id: str) -> str:
    """Give the invocation id back. Raises ``ConfigError`` when it is not one."""
    if not isinstance(inv_id, str) or not _INVOCATION.fullmatch(inv_id):
        raise ConfigError(
            f"invocation id {inv_id!r}: use 1 to 128 letters, digits or any of . _ - : /, for example a new ULID"
        )
    return inv_id


def check_journal(name: str) -> str:
    """Give the journal id back; topics put free text into theirs. Raises ``ConfigError`` when it cannot be one."""
    return _check_free("journal id", name, _JOURNAL_LIMIT)


def check_worker(worker_id: str) -> str:
    """Give the worker id back. Raises ``ConfigError`` when it cannot be one."""
    return _check_free("worker id", worker_id, _FREE_LIMIT)


def check_key(key: str) -> str:
    """Give the submission key back. Raises ``ConfigError`` when it cannot be one."""
    return _check_free("key", key, _FREE_LIMIT)


def _check_short(what: str, name: str) -> str:
    if not isinstance(name, str) or not _QUEUE.fullmatch(name):
        raise ConfigError(
            f"{what} {name!r}: use 1 to 128 letters, digits or any of . _ - :, beginning with a letter or digit"
        )
    return name


def _check_free(what: str, text: str, limit: int) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= limit or not _storable(text):
        shown = text if not isinstance(text, str) or len(text) <= 80 else text[:80] + "..."
        raise ConfigError(f"{what} {shown!r}: use a str of 1 to {limit} characters without NUL")
    return text


def _storable(text: str) -> bool:
    """A lone surrogate has no UTF-8 form, so SQLite could not keep it."""
    return (text.isascii() and "\0" not in text) or not re.search("[\0\ud800-\udfff]", text)
