"""Verbs as generators of requests, so that threads and event loops run the very same ones.

A verb yields what it wants from the control plane and is sent what came of it, or thrown the error.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from dreamlake.lakeshore.dispatch.http.attempts import Repeat

T = TypeVar("T")


class Ask(NamedTuple):
    """A request below the namespace: a POST of ``body``, or a GET without one. What comes of it: the answer's map.

    ``wait_s``: how long the server may wait before it answers. ``holds``: whether it waits as a rule, not as an
    exception.
    """

    path: str
    body: Mapping[str, object] | None = None
    wait_s: float = 0.0
    repeat: Repeat = "always"
    holds: bool = True


class Fetch(NamedTuple):
    """A GET of raw bytes, wherever the control plane says that they lie."""

    path: str


class Bring(NamedTuple):
    """A payload to be announced and uploaded. What comes of it: its reference, a str."""

    data: bytes


Step: TypeAlias = Ask | Fetch | Bring
Steps: TypeAlias = Generator[Step, Any, T]
