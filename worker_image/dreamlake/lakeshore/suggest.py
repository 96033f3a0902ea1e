"""The name that somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LISTED = 12


def nearest(name: str, known: Iterable[str]) -> str:
    """Give ``: did you mean X?`` for the known name most like ``name``, or else list them (a dozen at most).

    ``known`` holds one name at least.
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f": did you mean {close[0]}?"
    rest = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f": there are {', '.join(names[:_LISTED])}{rest}"
