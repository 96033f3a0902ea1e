"""The name that somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Give ``: did you mean X?`` for the known name most like ``name``, or else list them all."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f": did you mean {close[0]}?"
    return f": there are {', '.join(sorted(names))}"
