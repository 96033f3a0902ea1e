"""Numbers and times as people read them. Pure."""

from __future__ import annotations

import datetime as dt
import math
import re

from lakeshore_controlplane.api.ui.markup import Markup, html

NOTHING = "–"  # noqa: RUF001 - the dash of an empty cell
_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def span(seconds: float | None) -> str:
    """Say a duration: ``0.25 s``, ``12 s``, ``3 min 5 s``, ``2 h 4 min``."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 59.5:
        return f"{_rounded(max(0.0, seconds))} s"
    for unit, unit_s, part, part_s in _UNITS:
        if seconds >= unit_s:
            whole, rest = divmod(seconds, unit_s)
            parts = int(rest // part_s)
            return f"{whole:,.0f} {unit} {parts} {part}" if parts else f"{whole:,.0f} {unit}"
    return "1 min"


def _rounded(seconds: float) -> str:
    if seconds < 0.001:
        return "0"
    return f"{seconds:.2g}" if seconds < 9.95 else f"{seconds:.0f}"


def count(number: object) -> str:
    """Say a whole number with thousands set apart."""
    return f"{number:,}" if isinstance(number, int) else NOTHING


def size(number: int) -> str:
    """Say a number of bytes."""
    if number < 1_000:
        return f"{number} B"
    for unit in ("kB", "MB"):
        number_of = number / (1_000 if unit == "kB" else 1_000_000)
        if number_of < 999.5:
            return f"{number_of:.3g} {unit}"
    return f"{number / 1e9:.3g} GB"


def ago(at: object, now: float) -> Markup:
    """Say how long ago a plane time was, with the time itself for those who point at it."""
    if not isinstance(at, int | float) or not math.isfinite(now - at):
        return html("{nothing}", nothing=NOTHING)
    text = f"{_whole(now - at)} ago" if at <= now else f"in {_whole(at - now)}"
    if abs(at - now) < 1:
        text = "just now"
    return html('<time datetime="{iso}" title="{utc}">{text}</time>', iso=_iso(at), utc=utc(at), text=text)


def _whole(seconds: float) -> str:
    return span(math.floor(seconds))


def utc(at: float) -> str:
    """Say a plane time as a date and a clock, in UTC."""
    return _iso(at).replace("T", " ").replace("Z", " UTC")


def _iso(at: float) -> str:
    try:
        return dt.datetime.fromtimestamp(at, dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return f"{at:g}"


def terminal_text(text: str) -> str:
    """Give what a terminal would show of printed text: no colours, and of a line drawn anew its last form."""
    plain = _TERMINAL.sub("", text).replace("\r\n", "\n")
    return "\n".join([line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n")])


def middle_out(text: str, most: int) -> str:
    """Shorten to about ``most`` characters: the beginning and the end, where the cause tends to stand."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters are left out here ...\n{text[-half:]}"
