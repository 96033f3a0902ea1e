"""What a policy is told of a queue, its workers and their starts."""

import dataclasses
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from dreamlake.lakeshore.dispatch.plane import QueueSignals, WorkerRecord
from dreamlake.lakeshore.pool.observing import (
    ArrivalRate,
    StartRecord,
    is_ready,
    record_of,
    records_here,
    signals_of,
)
from dreamlake.lakeshore.pool.processes import WorkerProcess

HERE = socket.gethostname()
SEEN = QueueSignals("q", 7, 2, 3, 1.5, 100, 90, 0.25, 50.0, 12)
RECORD = WorkerRecord("w", "q", HERE, 11, "active", 1, started_at=10.5, last_seen_at=49.0, idle_since=20.0)


def process(pid=11, started_at=10.0, drain_began=None):
    # Only the process's id is read; starting real ones is for other tests.
    return WorkerProcess(f"q-{pid}", SimpleNamespace(pid=pid), started_at, Path("log"), drain_began)


def seen(processes=(), records=(), starts=None, slots=1):
    return signals_of(SEEN, "active", processes, records_here(records), starts or StartRecord(), slots=slots)


def phase(proc, *records):
    (worker,) = seen([proc], records).workers
    return worker.phase


def test_the_planes_numbers_are_passed_on():
    signals = seen(slots=4)
    assert (signals.queued, signals.leased, signals.demand) == (7, 3, 10)
    assert (signals.oldest_age_s, signals.mean_duration_s, signals.as_of) == (1.5, 0.25, 50.0)
    assert (signals.slots, signals.revision, signals.lifecycle) == (4, 12, "active")
    assert signals.workers == ()


def test_a_process_without_a_record_or_with_one_that_says_so_is_starting():
    assert phase(process()) == "starting"
    assert phase(process(), dataclasses.replace(RECORD, state="starting")) == "starting"


def test_a_worker_that_holds_leases_is_busy_and_one_without_is_idle_since_then():
    assert phase(process(), dataclasses.replace(RECORD, leased=1, idle_since=None)) == "ready_busy"
    (worker,) = seen([process()], [RECORD]).workers
    assert (worker.phase, worker.since, worker.created_at) == ("ready_idle", 20.0, 10.0)


@pytest.mark.parametrize("leased", [0, 1])
def test_a_worker_that_was_asked_to_go_is_draining_whatever_it_holds(leased):
    (worker,) = seen([process(drain_began=42.0)], [dataclasses.replace(RECORD, leased=leased)]).workers
    assert (worker.phase, worker.since, worker.leased) == ("draining", 42.0, leased)


def test_the_rate_of_arrivals_follows_what_the_plane_has_counted():
    rate = ArrivalRate()
    assert rate.update(SEEN) == 0.0
    for minute in range(1, 31):
        rate.update(dataclasses.replace(SEEN, arrived=100 + 120 * minute, as_of=50.0 + 60 * minute))
    assert rate.per_s == pytest.approx(2.0, rel=0.01)
    rate.update(dataclasses.replace(SEEN, arrived=100 + 3600, as_of=50.0 + 3600))
    assert rate.per_s < 0.1


def test_a_worker_is_not_idle_for_longer_than_it_lives():
    (worker,) = seen([process()], [dataclasses.replace(RECORD, idle_since=3.0)]).workers
    assert worker.since == 10.0


def test_records_of_other_machines_are_none_of_ours():
    assert phase(process(), dataclasses.replace(RECORD, host="elsewhere")) == "starting"


def test_the_record_of_an_earlier_process_of_the_same_id_is_not_this_ones():
    old = dataclasses.replace(RECORD, id="old", started_at=4.0)
    assert record_of(process(), records_here([old])) is None
    assert record_of(process(), records_here([old, RECORD])) is RECORD
    assert record_of(process(), records_here([RECORD, old])) is RECORD


def test_a_worker_is_ready_once_it_takes_jobs():
    assert not is_ready(None)
    assert not is_ready(dataclasses.replace(RECORD, state="starting"))
    assert is_ready(RECORD)


def test_starts_that_fail_are_counted_until_one_works():
    starts = StartRecord()
    starts.failed(5.0, "no root", started_at=1.0)
    starts.failed(6.0, "no root still", started_at=5.5)
    signals = seen(starts=starts)
    assert (signals.start_failures, signals.last_failure_at, signals.failure) == (2, 6.0, "no root still")
    starts.worked(2.0)
    signals = seen(starts=starts)
    assert (signals.start_failures, signals.failure, signals.start_delay_s) == (0, "", 2.0)


def test_the_delay_of_starts_is_a_mean_that_leans_to_the_latest():
    starts = StartRecord()
    for delay in (1.0, 2.0):
        starts.worked(delay)
    assert starts.delay_s == pytest.approx(1.3)


def test_starts_that_were_on_their_way_together_are_one_failure():
    starts = StartRecord()
    for at in (5.0, 5.1, 5.2):
        starts.failed(at, "no root", started_at=1.0)
    assert (starts.failures, starts.last_failure_at) == (1, 5.2)
    starts.failed(9.0, "no root", started_at=6.0)
    assert starts.failures == 2
