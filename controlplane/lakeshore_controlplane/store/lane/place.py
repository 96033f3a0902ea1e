"""How a row's place is written down: the members of a lane's sorted sets, the same in Redis and in memory."""

from __future__ import annotations

from typing import NamedTuple

from lakeshore_controlplane.store.lane.port import Entry

ORDER_DIGITS = 20
ID_AT = ORDER_DIGITS + 1
"""Where the id begins in a member of ``ready``."""

EXPIRED_AT_A_TIME = 100
EXPIRED_AGAIN_S = 5.0
LET_IN_AT_A_TIME = 5_000
"""How much of what waited one ``take`` lets in, so that a million that are due at once do not stop Redis."""


class Place(NamedTuple):
    """``score`` is -priority; ``order`` is padded, so that members compare as their orders do."""

    id: str
    score: str
    order: str
    attention_at: str

    @property
    def ready_member(self) -> str:
        """The member of ``ready``."""
        return f"{self.order}:{self.id}"

    @property
    def waiting_member(self) -> str:
        """The member of ``waiting``: it carries the score as well."""
        return f"@{self.score}:{self.order}:{self.id}"


def place(entry: Entry) -> Place:
    """Write an entry's place down; floats as ``repr`` does, which reads back exactly."""
    at = entry.attention_at
    # 0.0 - x and not -x: there is one zero only, as its text is compared.
    score = repr(0.0 - entry.priority)
    return Place(entry.id, score, f"{entry.order:0{ORDER_DIGITS}d}", "" if at is None else repr(float(at)))


def bounded_temperature(temperature: float) -> float:
    """Keep a temperature (units of priority, above 0) where neither it nor its reciprocal overflows."""
    return min(max(temperature, 1e-300), 1e300)
