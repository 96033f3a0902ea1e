"""Which decisions are told: those that change something, and each new reason once."""

import json
from dataclasses import asdict

from dreamlake.lakeshore.pool.events import EventFilter
from lakeshore_elasticity import Decision, MaxCount, Signals, Worker, decide


def decision(kind="tick_noop", reason="nothing to do", **more):
    return Decision(1, 1, reason, kind, **more)


SIGNALS = Signals(queued=3, leased=1, as_of=9.0, workers=(Worker("a", "ready_idle", 1.0, 0.0),))


def test_an_event_says_what_was_seen_what_was_done_and_why():
    done = decision("scale_up", "3 queued", start=2, unmet=4)
    event = EventFilter().event("q", SIGNALS, done)
    assert (event.queue, event.kind, event.reason, event.at) == ("q", "scale_up", "3 queued", 9.0)
    assert event.before == {"queued": 3, "leased": 1, "workers": 1}
    assert event.after == {"desired": 1, "started": 2, "cancelled": [], "drained": [], "unmet": 4}
    assert json.loads(json.dumps(asdict(event))) == asdict(event)


def test_the_same_reason_is_told_once():
    told = EventFilter()
    assert told.event("q", SIGNALS, decision()) is not None
    assert told.event("q", SIGNALS, decision()) is None


def test_a_reason_that_differs_in_its_numbers_alone_is_the_same():
    told = EventFilter()
    assert told.event("q", SIGNALS, decision(reason="1 queued, 2.5 s")) is not None
    assert told.event("q", SIGNALS, decision(reason="12 queued, 0.25 s")) is None
    assert told.event("q", SIGNALS, decision(reason="12 leased, 0.25 s")) is not None


def test_a_reason_that_comes_back_is_told_again():
    told = EventFilter()
    events = [told.event("q", SIGNALS, decision(reason=reason)) for reason in ("a", "b", "a")]
    assert None not in events


def test_each_change_is_told_though_its_reason_is_the_same():
    told = EventFilter()
    for kind in ("scale_up", "scale_up", "scale_down", "scale_down"):
        assert told.event("q", SIGNALS, decision(kind)).kind == kind


def test_a_whole_burst_is_a_handful_of_events():
    """A queue that fills, is worked off and is idle: told are the changes, not the two hundred looks."""
    told, state, events = EventFilter(), None, []
    workers = ()
    for tick in range(200):
        queued = max(0, 20 - tick)
        signals = Signals(queued=queued, leased=0, as_of=float(tick), workers=workers)
        done = decide(MaxCount(4, idle_timeout_s=5.0), signals, state, float(tick))
        state = done.state
        workers = tuple(worker for worker in workers if worker.id not in (*done.victims, *done.cancel))
        workers += tuple(
            Worker(f"{tick}-{n}", "ready_idle", float(tick), float(tick)) for n in range(done.start)
        )
        events.append(told.event("q", signals, done))
    kinds = [event.kind for event in events if event is not None]
    assert kinds[0] == "scale_up"
    assert "scale_down" in kinds
    assert len(kinds) < 40
