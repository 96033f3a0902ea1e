"""HTML that cannot be spoiled by what is put into it.

>>> html('<b title="{tip}">{name}</b>', name="<script>", tip='"')
'<b title="&#34;">&lt;script&gt;</b>'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import LiteralString, TypeAlias

_REPLACED = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""What has no place in a page: controls, lone surrogates, and marks that would turn the text around them."""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"})
_UNQUOTED = re.compile(r"=\s*{")


class Markup(str):
    """Text that is HTML already. Made by ``html`` and ``join`` alone."""

    __slots__ = ()


Part: TypeAlias = str | int | float | None
"""What may be put into HTML. None shows as nothing."""


def html(template: LiteralString, /, **parts: Part) -> Markup:
    """Fill ``{name}`` in ``template``; every part that is not ``Markup`` is escaped.

    Raises ``ValueError`` for a template that puts a part into an attribute without quotes.
    """
    _check(template)
    return Markup(template.format_map({name: escape(part) for name, part in parts.items()}))


def join(parts: Iterable[Part], between: LiteralString = "") -> Markup:
    """Put parts one after the other, escaped."""
    return Markup(between.join([escape(part) for part in parts]))


def escape(part: Part) -> Markup:
    """Make a part fit for a text or a quoted attribute."""
    if isinstance(part, Markup):
        return part
    if part is None:
        return Markup()
    return Markup(_REPLACED.sub("\ufffd", str(part)).translate(_ESCAPES))


@lru_cache(maxsize=512)
def _check(template: str) -> None:
    if _UNQUOTED.search(template):
        raise ValueError(f"put quotes around the attribute in {template!r}")
