"""Errors as rows hold them: BSON takes no lone surrogates and no endless text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from lakeshore_controlplane.documents import ErrorInfo

_FIELDS = ("type", "message", "traceback")
_LONGEST = 512 * 1024
"""Characters of one text that are kept: its beginning and its end, where the cause tends to stand."""


def error_to_row(error: Mapping[str, object] | None) -> ErrorInfo | None:
    """Make an error storable: text that is no UTF-8 becomes bytes, with its surrogates passed on."""
    if error is None:
        return None
    found = {name: _to_row(str(error[name])) for name in _FIELDS if error.get(name) is not None}
    return cast("ErrorInfo", {"type": "Error", "message": "", **found})


def error_from_row(stored: Mapping[str, object] | None) -> dict[str, object] | None:
    """Give an error as it was told: ``{type, message, traceback?}`` of text."""
    if stored is None:
        return None
    return {name: _from_row(value) for name, value in stored.items()}


def _to_row(text: str) -> str | bytes:
    if len(text) > _LONGEST:
        half = _LONGEST // 2
        text = f"{text[:half]}\n... {len(text) - 2 * half} characters are left out here ...\n{text[-half:]}"
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _from_row(value: object) -> object:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
