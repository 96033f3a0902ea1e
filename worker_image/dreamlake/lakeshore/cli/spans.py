"""Spans of time as people write them: ``90``, ``90s``, ``15min``, ``12h``, ``7d``."""

from __future__ import annotations

import re

from dreamlake.lakeshore.errors import ConfigError

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)?")
_SECONDS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def parse_span(text: str, flag: str) -> float:
    """Give a span in seconds. Raises ``ConfigError`` naming ``flag``."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"{flag} {text!r}: write a span of time such as 90s, 15min, 12h or 7d")
    return float(found[1]) * _SECONDS[found[2] or "s"]
