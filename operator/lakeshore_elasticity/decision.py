"""What a policy answers, and the little that it remembers between two answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["scale_up", "scale_down", "tick_noop"]


@dataclass(frozen=True, slots=True)
class State:
    """What the next decision needs of the last one.

    It holds no more than what can be observed again: without it (``None``, after a restart) ``surplus_since``
    starts anew, which delays a cancellation by at most the damping time and changes nothing else.

    ``bursting``: whether the pool bursts, to be shown; it is read anew off the workers each time.
    ``surplus_since``: since when there have been more workers than wanted.
    """

    bursting: bool = False
    surplus_since: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now.

    ``desired``: workers that shall exist once it is done, those that are going not counted. ``wanted``: workers
    that the policy asks for, within its bounds; while more exist that are busy or not idle for long enough to go,
    it is less. ``start``: workers to order. ``cancel``: ids of workers that have not started, to be taken back.
    ``victims``: ids of idle workers to drain. ``reason``: in words. ``unmet``: workers that the demand would take
    beyond what is allowed. ``next_check_s``: seconds after which the answer may change even if nothing is heard.
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
