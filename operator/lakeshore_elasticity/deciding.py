"""``decide``: from a policy and a snapshot to what shall be done. No clock, no I/O, no memory of its own."""

from __future__ import annotations

from lakeshore_elasticity.decision import Decision, State
from lakeshore_elasticity.policies import Policy
from lakeshore_elasticity.shrinking import Shrink, shrink
from lakeshore_elasticity.signals import Headcount, Signals, head_count
from lakeshore_elasticity.wanting import Want, room, wanted

PENDING_WHILE_FAILING = 4
"""Workers that may be on their way while starts fail."""
BACKOFF_S = 10.0
"""Seconds without a new order after one failed start; they double with each further one."""
BACKOFF_MOST_S = 300.0
CHECK_S = 30.0
"""Seconds until a look without a reason."""
RETRY_S = 1.0


def decide(policy: Policy, signals: Signals, state: State | None, now: float) -> Decision:
    """Say how many workers there shall be, and which are to be ordered, cancelled or drained.

    ``now`` is on the clock of the snapshot, in seconds. ``state`` is that of the last decision, None after a
    restart. Workers on their way count as there, so nothing is ordered twice while they start.
    """
    heads = head_count(signals)
    want = wanted(policy, signals, heads)
    surplus = heads.there - want.count
    if surplus < 0:
        return _grow(policy, signals, want, heads, now)
    if surplus == 0:
        return _stay(want, heads, "", State(want.bursting))
    kept = state.surplus_since if state is not None else None
    since = now if kept is None else kept
    remembered = State(want.bursting, since)
    age = now - signals.as_of
    if age > policy.common.stale_after_s:
        return _stay(want, heads, f"; the snapshot is {age:.0f} s old, so none goes", remembered)
    less = shrink(policy, signals, heads, surplus=surplus, since=since, now=now)
    return _go(want, heads, less, remembered)


def _grow(policy: Policy, signals: Signals, want: Want, heads: Headcount, now: float) -> Decision:
    missing = want.count - heads.there
    start = min(missing, room(policy, heads))
    notes = []
    if start < missing:
        notes.append(f"{heads.going} are still going")
    step = policy.common.scale_up.max_step
    if step is not None and start > step:
        start = step
        notes.append(f"at most {step} at once")
    next_s = CHECK_S if start == missing else RETRY_S
    if signals.start_failures and start:
        start, note, next_s = _after_failures(signals, heads, start, now)
        notes.append(note)
    return Decision(
        desired=heads.there + start,
        wanted=want.count,
        reason=want.why + "".join(f"; {note}" for note in notes),
        kind="scale_up" if start else "tick_noop",
        start=start,
        unmet=want.raw - heads.there - start,
        next_check_s=next_s,
        state=State(want.bursting),
    )


def _after_failures(signals: Signals, heads: Headcount, start: int, now: float) -> tuple[int, str, float]:
    """Order few and seldom while starts fail: another image pull or quota request will not do better."""
    count = signals.start_failures
    pause = min(BACKOFF_MOST_S, BACKOFF_S * 2.0 ** min(count - 1, 30))
    left = (signals.last_failure_at if signals.last_failure_at is not None else now) + pause - now
    cause = f": {signals.failure}" if signals.failure else ""
    failed = f"{'1 start' if count == 1 else f'{count} starts in a row'} failed"
    if left > 0:
        return 0, f"{failed}, trying again in {left:.0f} s{cause}", left
    allowed = max(0, PENDING_WHILE_FAILING - heads.not_ready)
    return min(start, allowed), f"{failed}, going slowly{cause}", pause


def _stay(want: Want, heads: Headcount, note: str, state: State) -> Decision:
    return Decision(
        desired=heads.there,
        wanted=want.count,
        reason=want.why + note,
        kind="tick_noop",
        unmet=max(0, want.raw - heads.there),
        next_check_s=_soon(want, CHECK_S),
        state=state,
    )


def _go(want: Want, heads: Headcount, less: Shrink, state: State) -> Decision:
    gone = len(less.cancel) + len(less.victims)
    left = heads.there - gone
    if gone:
        notes = []
        if less.cancel:
            notes.append(f"{len(less.cancel)} not started yet, cancelled")
        if less.victims:
            notes.append(f"{len(less.victims)} idle, drained")
        note = ", ".join(notes)
    else:
        note = f"{left - want.count} more than that, busy or not idle for long enough"
    return Decision(
        desired=left,
        wanted=want.count,
        reason=f"{want.why}; {note}",
        kind="scale_down" if gone else "tick_noop",
        cancel=less.cancel,
        victims=less.victims,
        unmet=max(0, want.raw - left),
        next_check_s=_soon(want, less.next_s),
        state=state if left > want.count else State(state.bursting),
    )


def _soon(want: Want, next_s: float) -> float:
    """Bound the time to the next look: never a busy loop, never out of sight."""
    return max(0.05, min(CHECK_S, want.next_s, next_s))
