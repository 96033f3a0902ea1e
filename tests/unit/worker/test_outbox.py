"""Reports go at once after a pause, together when they come thick and fast, and never get lost or reordered."""

import threading

import pytest

from dreamlake.lakeshore.worker.outbox import LogReport, Outbox


def report(n):
    return LogReport("id", 1, n, "x")


class Sink:
    def __init__(self):
        self.batches = []
        self.arrived = threading.Condition()

    def __call__(self, reports):
        with self.arrived:
            self.batches.append([r.seq for r in reports])
            self.arrived.notify_all()

    def wait_for(self, n):
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.all) >= n, timeout=10), f"{n} reports never came"

    @property
    def all(self):
        return [seq for batch in self.batches for seq in batch]


@pytest.fixture
def sink():
    return Sink()


def test_the_first_report_goes_at_once(sink):
    outbox = Outbox(sink)
    outbox.add(report(0))
    assert sink.all == [0]
    outbox.close()


def test_reports_in_quick_succession_share_a_trip_and_keep_their_order(sink):
    outbox = Outbox(sink)
    for n in range(1000):
        outbox.add(report(n))
    outbox.close()
    assert sink.all == list(range(1000))
    assert len(sink.batches) < 500


def test_a_report_is_not_held_when_nothing_follows(sink):
    outbox = Outbox(sink)
    for n in range(3):
        outbox.add(report(n))
    sink.wait_for(3)
    outbox.close()


def test_a_large_report_goes_without_waiting_for_others(sink):
    outbox = Outbox(sink)
    outbox.add(report(0))
    outbox.add(report(1), size=2_000_000)
    assert sink.all == [0, 1]
    outbox.close()


def test_what_the_sink_raises_reaches_the_body_and_its_reports_go_with_the_next_trip(sink):
    refusals = [BrokenPipeError("interrupted")]

    def refuses_once(reports):
        if refusals:
            raise refusals.pop()
        sink(reports)

    outbox = Outbox(refuses_once)
    with pytest.raises(BrokenPipeError):
        outbox.add(report(0))
    outbox.add(report(1))
    outbox.close()
    assert sink.all == [0, 1]


def test_close_sends_what_is_left_and_may_be_called_at_any_time(sink):
    outbox = Outbox(sink)
    outbox.add(report(0))
    outbox.add(report(1))
    outbox.close()
    assert sink.all == [0, 1]
