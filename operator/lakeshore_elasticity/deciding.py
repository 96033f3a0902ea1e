"""``decide``: from a policy and a snapshot to what shall be done. No clock, no I/O, no memory of its own."""

from __future__ import annotations

import math

from lakeshore_elasticity.decision import Decision, Kind, State
from lakeshore_elasticity.policies import Policy
from lakeshore_elasticity.shrinking import Shrink, shrink
from lakeshore_elasticity.signals import NOT_READY, Signals
from lakeshore_elasticity.wanting import Want, ceiling, wanted

PENDING_WHILE_FAILING = 4
"""Workers that may be on their way while starts fail."""
BACKOFF_S = 10.0
BACKOFF_MOST_S = 300.0
CHECK_S = 30.0


def decide(policy: Policy, signals: Signals, state: State | None, now: float) -> Decision:
    """Say how many workers there shall be, and which are to be ordered, cancelled or drained.

    ``now`` is on the clock of the snapshot, in seconds. ``state`` is that of the last decision, None after a
    restart. Workers on their way count as there, so nothing is ordered twice while they start.
    """
    want = wanted(policy, signals, state)
    there = sum(worker.phase != "draining" for worker in signals.workers)
    going = len(signals.workers) - there
    surplus = there - want.count
    if surplus < 0:
        return _grow(policy, signals, want, there, going, now)
    kept = state.surplus_since if state is not None else None
    since = None if surplus == 0 else now if kept is None else kept
    remembered = State(want.bursting, since)
    if since is None:
        return _stay(want, there, "", remembered)
    age = now - signals.as_of
    if age > policy.common.stale_after_s:
        return _stay(want, there, f"; the snapshot is {age:.0f} s old, so none goes", remembered)
    less = shrink(policy, signals, surplus, since, now)
    return _go(want, there, less, remembered)


def _grow(policy: Policy, signals: Signals, want: Want, there: int, going: int, now: float) -> Decision:
    missing = want.count - there
    start = min(missing, max(0, ceiling(policy) - there - going))
    notes = []
    if start < missing:
        notes.append(f"{going} are still going")
    step = policy.common.scale_up.max_step
    if step is not None and start > step:
        start = step
        notes.append(f"at most {step} at once")
    next_s = CHECK_S if start == missing else 1.0
    if signals.start_failures and start:
        start, note, next_s = _after_failures(signals, start, now)
        notes.append(note)
    why = want.why + "".join(f"; {note}" for note in notes)
    kind: Kind = "scale_up" if start else "tick_noop"
    unmet = want.raw - there - start
    return Decision(
        there + start,
        want.count,
        why,
        kind,
        start,
        unmet=unmet,
        next_check_s=next_s,
        state=State(want.bursting),
    )


def _after_failures(signals: Signals, start: int, now: float) -> tuple[int, str, float]:
    """Order few and seldom while starts fail: another image pull or quota request will not do better."""
    count = signals.start_failures
    pause = min(BACKOFF_MOST_S, BACKOFF_S * 2.0 ** min(count - 1, 30))
    left = (signals.last_failure_at if signals.last_failure_at is not None else now) + pause - now
    cause = f": {signals.failure}" if signals.failure else ""
    if left > 0:
        return 0, f"{_starts(count)} failed, trying again in {left:.0f} s{cause}", left
    pending = sum(worker.phase in NOT_READY for worker in signals.workers)
    return (
        min(start, max(0, PENDING_WHILE_FAILING - pending)),
        f"{_starts(count)} failed, going slowly{cause}",
        pause,
    )


def _starts(count: int) -> str:
    return "1 start" if count == 1 else f"{count} starts in a row"


def _stay(want: Want, there: int, note: str, state: State) -> Decision:
    return Decision(
        there,
        want.count,
        want.why + note,
        "tick_noop",
        unmet=max(0, want.raw - there),
        next_check_s=CHECK_S,
        state=state,
    )


def _go(want: Want, there: int, less: Shrink, state: State) -> Decision:
    gone = len(less.cancel) + len(less.victims)
    next_s = min(CHECK_S, max(less.next_s, 0.05))
    if not gone:
        surplus = there - want.count
        waits = f"; {surplus} more than that, busy or not idle for long enough"
        return Decision(there, want.count, want.why + waits, "tick_noop", next_check_s=next_s, state=state)
    notes = []
    if less.cancel:
        notes.append(f"{len(less.cancel)} not started yet, cancelled")
    if less.victims:
        notes.append(f"{len(less.victims)} idle, drained")
    left = there - gone
    after = state if left > want.count else State(state.bursting)
    return Decision(
        left,
        want.count,
        f"{want.why}; {', '.join(notes)}",
        "scale_down",
        cancel=less.cancel,
        victims=less.victims,
        next_check_s=next_s if math.isfinite(less.next_s) else CHECK_S,
        state=after,
    )
