"""Bars, and whether a figure meets them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from yardstick.figures import Spread, shown


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit on a figure, which passes when it is ``at_most``, ``under`` or ``at_least`` ``limit``."""

    sense: Literal["at_most", "under", "at_least"]
    limit: float
    text: str

    def met_by(self, figure: float) -> bool:
        """Say whether a figure keeps to the bar; a NaN never does."""
        if self.sense == "at_least":
            return figure >= self.limit
        return figure < self.limit if self.sense == "under" else figure <= self.limit


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report: a figure of ours in ``unit``, beside its bar when it has one.

    ``absent`` says why there is no figure. Bars are judged by the median of the repeats.
    """

    measure: str
    unit: str = ""
    figure: Spread | None = None
    bar: Bar | None = None
    absent: str = ""

    @property
    def measured(self) -> str:
        """Give the figure in words."""
        if self.figure is None:
            return f"not measured: {self.absent or 'no reason given'}"
        return f"{shown(self.figure)} {self.unit}".rstrip()

    @property
    def verdict(self) -> str:
        """Give ``met``, ``not met``, ``not measured``, or nothing for a row that has no bar."""
        if self.bar is None:
            return ""
        if self.figure is None:
            return "not measured"
        return "met" if self.bar.met_by(self.figure.median) else "**not met**"


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """What one peer reached, repeat by repeat; ``absent`` says why it did not run.

    ``loop_per_s``: jobs/s submitted one by one. ``batch_per_s``: by the peer's own batch verb, where it has
    one. Latencies, in milliseconds, are those of one call at a time.
    """

    name: str
    version: str = ""
    loop_per_s: list[float] = field(default_factory=list)
    batch_per_s: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)
    absent: str = ""


def best_rate(peers: list[PeerFigures], *, batch: bool) -> tuple[str, Spread] | None:
    """Give the peer with the highest median jobs/s, one by one or (``batch``) by either way."""
    found: list[tuple[str, Spread]] = []
    for peer in peers:
        ways = [peer.loop_per_s, peer.batch_per_s if batch else []]
        found += [(peer.name, Spread.of(rates)) for rates in ways if rates]
    return max(found, key=lambda each: each[1].median, default=None)


def best_latency(peers: list[PeerFigures]) -> tuple[str, Spread] | None:
    """Give the peer with the lowest median p50."""
    found = [(peer.name, Spread.of(peer.p50_ms)) for peer in peers if peer.p50_ms]
    return min(found, key=lambda each: each[1].median, default=None)


def ratio(figure: Spread, to: Spread) -> Spread:
    """Give ``figure / to`` by medians, from the worst pairing of repeats to the best."""
    return Spread(figure.least / to.most, figure.median / to.median, figure.most / to.least)
