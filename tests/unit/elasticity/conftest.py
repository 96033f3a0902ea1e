"""A small world to run policies in: jobs, workers that take a while to start, and a clock that is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from lakeshore_elasticity import Decision, Policy, Signals, State, Worker, decide
from lakeshore_elasticity.steady import moving_rate


@dataclass
class _Member:
    id: str
    phase: str
    since: float
    created_at: float
    ready_at: float
    ends: list[float] = field(default_factory=list)


class World:
    """Jobs are taken in order by the oldest worker with a free slot. ``step`` moves the clock and decides once."""

    def __init__(self, policy: Policy, *, start_s: float = 5.0, slots: int = 1, uneven: bool = False) -> None:
        self.policy, self.start_s, self.slots, self.uneven = policy, start_s, slots, uneven
        self.now = 1000.0
        self.state: State | None = None
        self.lifecycle = "active"
        self.waiting: list[tuple[float, float]] = []
        self.members: dict[str, _Member] = {}
        self.decisions: list[tuple[float, Decision]] = []
        self.finished = 0
        self.ordered = 0
        self.arrived = self.counted = 0
        self.work_s = self.arrivals_per_s = 0.0
        self.mean_duration_s: float | None = None
        self.start_delay_s: float | None = None
        self.arrivals_per_s = 0.0
        self._arrived = 0

    def submit(self, durations: Sequence[float]) -> None:
        self.waiting += [(self.now, duration) for duration in durations]
        self._arrived += len(durations)
        for duration in durations:
            mean = self.mean_duration_s
            self.mean_duration_s = duration if mean is None else mean + 0.1 * (duration - mean)
        self.arrived += len(durations)
        self.work_s += sum(durations)

    @property
    def there(self) -> int:
        return sum(member.phase != "draining" for member in self.members.values())

    @property
    def leased(self) -> int:
        return sum(len(member.ends) for member in self.members.values())

    def changes(self, since: float) -> list[Decision]:
        return [one for at, one in self.decisions if at >= since and one.kind != "tick_noop"]

    def run(self, seconds: float, step: float = 1.0) -> None:
        until = self.now + seconds
        while self.now < until:
            self.step(step)

    def run_until_done(self, limit: float = 100_000.0) -> None:
        until = self.now + limit
        while self.waiting or self.leased:
            assert self.now < until, f"{len(self.waiting)} jobs wait and {self.leased} run after {limit} s"
            self.step()

    def step(self, dt: float = 1.0) -> Decision:
        self.now += dt
        self.arrivals_per_s = moving_rate(self.arrivals_per_s, self.arrived - self.counted, dt)
        self.counted = self.arrived
        self._advance()
        decision = decide(self.policy, self.signals(), self.state, self.now)
        self.state = decision.state
        self.decisions.append((self.now, decision))
        self._apply(decision)
        return decision

    def signals(self) -> Signals:
        return Signals(
            queued=len(self.waiting),
            leased=self.leased,
            as_of=self.now,
            workers=tuple(
                Worker(m.id, m.phase, m.since, m.created_at, leased=len(m.ends))
                for m in self.members.values()
            ),
            oldest_age_s=self.now - self.waiting[0][0] if self.waiting else 0.0,
            slots=self.slots,
            lifecycle=self.lifecycle,
            mean_duration_s=self.work_s / self.arrived if self.arrived else None,
            start_delay_s=self.start_s if self.ordered else None,
            arrivals_per_s=self.arrivals_per_s,
        )

    def _advance(self) -> None:
        for member in list(self.members.values()):
            if member.phase == "starting" and self.now >= member.ready_at:
                member.phase, member.since = "ready_idle", self.now
                self.start_delay_s = self.start_s
            left = [end for end in member.ends if end > self.now]
            self.finished += len(member.ends) - len(left)
            if member.ends and not left:
                member.since = self.now
                member.phase = "ready_idle" if member.phase == "ready_busy" else member.phase
            member.ends = left
            if member.phase == "draining" and not left:
                del self.members[member.id]
        for member in self.members.values():
            while self.waiting and member.phase.startswith("ready") and len(member.ends) < self.slots:
                _, duration = self.waiting.pop(0)
                if not member.ends:
                    member.phase, member.since = "ready_busy", self.now
                member.ends.append(self.now + duration)

    def _start_delay(self) -> float:
        """Give ``start_s``, or when starts are uneven a half, once, one and a half, twice of it in turn."""
        return self.start_s * (self.ordered % 4 + 1) / 2 if self.uneven else self.start_s

    def _apply(self, decision: Decision) -> None:
        for name in decision.cancel:
            assert self.members.pop(name).phase in {"pending", "starting"}
        for name in decision.victims:
            member = self.members[name]
            assert member.phase == "ready_idle"
            assert not member.ends
            member.phase, member.since = "draining", self.now
        for _ in range(decision.start):
            self.ordered += 1
            name = f"w{self.ordered:05d}"
            self.members[name] = _Member(name, "starting", self.now, self.now, self.now + self._start_delay())


@pytest.fixture(scope="session")
def world() -> type[World]:
    return World
