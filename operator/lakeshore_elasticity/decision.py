"""What a policy answers, and the little that it remembers between two answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["scale_up", "scale_down", "tick_noop"]


@dataclass(frozen=True, slots=True)
class State:
    """What the next decision needs of the last one.

    It holds no more than what can be observed again: without it (``None``, after a restart) ``bursting`` is
    read off the workers that are there, and the damping times start anew, which delays a scale-down by those
    times and changes nothing else. ``surplus_since``: since when there have been more workers than wanted.
    """

    bursting: bool = False
    surplus_since: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now.

    ``desired``: workers that shall exist once it is done, those that are going not counted. ``wanted``: workers
    that the work asks for; while more are idle, not long enough to go, it is less. ``start``: workers to order. ``cancel``: ids of workers that have not started, to be taken back. ``victims``: ids of idle workers
    to drain. ``reason``: in words. ``unmet``: workers that the demand would take beyond what is allowed.
    ``next_check_s``: seconds after which the answer may change even if nothing is heard.
    """

    desired: int
    wanted: int
    reason: str
    kind: Kind
    start: int = 0
    cancel: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    unmet: int = 0
    next_check_s: float = 30.0
    state: State = State()
