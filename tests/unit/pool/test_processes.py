"""Worker processes of a pool, with real short-lived processes in their place."""

import os
import signal
import sys
import time

import pytest

from dreamlake.lakeshore.pool.processes import LOGS_KEPT, ProcessPool, last_lines, worker_command

SLEEP = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


@pytest.fixture
def make_pool(tmp_path):
    pools = []

    def make(code, clock=time.monotonic):
        pools.append(ProcessPool("q", [sys.executable, "-c", code], tmp_path / "logs", clock=clock))
        return pools[-1]

    yield make
    for pool in pools:
        pool.kill_all()


def wait_for(condition, what, limit_s=10.0):
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until, f"waited {limit_s} s for {what}"
        time.sleep(0.01)


def reaped(pool, count=1):
    gone = []
    wait_for(lambda: gone.extend(pool.reap()) or len(gone) >= count, f"{count} processes to end")
    return gone


def is_up(worker):
    wait_for(lambda: last_lines(worker.log) == "up", "the process to be up")


def test_a_started_worker_writes_to_its_own_log_and_is_reaped_with_its_status(make_pool):
    pool = make_pool("import sys; print('hello'); print('trouble', file=sys.stderr); sys.exit(3)")
    worker = pool.start()
    assert set(pool.workers) == {"q-1"}
    (end,) = reaped(pool)
    assert (end.worker, end.status, end.in_words) == (worker, 3, "exit status 3")
    assert not end.worker.draining
    assert sorted(worker.log.read_text().split()) == ["hello", "trouble"]
    assert pool.workers == {}
    assert pool.reap() == []


def test_workers_have_names_of_their_own_also_after_others_have_gone(make_pool):
    pool = make_pool("pass")
    first = pool.start()
    reaped(pool)
    assert [first.name, pool.start().name, pool.start().name] == ["q-1", "q-2", "q-3"]


def test_a_drain_is_one_sigterm_however_often_it_is_asked_for(make_pool):
    pool = make_pool(
        "import signal, time\n"
        "signal.signal(15, lambda *_: print('asked', flush=True))\n"
        "print('up', flush=True)\n"
        "until = time.monotonic() + 60\n"
        "while time.monotonic() < until: time.sleep(0.05)"
    )
    worker = pool.start()
    is_up(worker)
    pool.drain("q-1")
    pool.drain("q-1")
    wait_for(lambda: last_lines(worker.log, 1) == "asked", "the signal to arrive")
    assert worker.draining
    pool.stop_all()
    wait_for(lambda: worker.log.read_text().count("asked") == 2, "the second signal to arrive")


def test_a_drained_worker_is_marked_so_when_it_ends(make_pool):
    pool = make_pool(SLEEP)
    is_up(pool.start())
    pool.drain("q-1")
    (end,) = reaped(pool)
    assert end.worker.draining
    assert end.in_words == "ended by SIGTERM"


def test_a_worker_that_is_killed_is_reaped_as_one_that_nobody_asked_to_end(make_pool):
    pool = make_pool(SLEEP)
    worker = pool.start()
    os.kill(worker.pid, signal.SIGKILL)
    (end,) = reaped(pool)
    assert not end.worker.draining
    assert end.in_words == "ended by SIGKILL"


def test_killing_ends_those_that_ignore_requests(make_pool):
    pool = make_pool(STUBBORN)
    worker = pool.start()
    is_up(worker)
    pool.stop_all()
    assert worker.process.poll() is None
    pool.kill_all()
    assert worker.process.returncode == -signal.SIGKILL
    assert pool.workers == {}


def test_a_worker_is_out_of_reach_of_the_terminals_signals(make_pool):
    pool = make_pool(SLEEP)
    assert os.getsid(pool.start().pid) != os.getsid(0)


def test_a_signal_to_a_process_that_has_ended_does_no_harm(make_pool):
    pool = make_pool("pass")
    worker = pool.start()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    pool.drain("q-1")
    pool.stop_all()
    assert [end.status for end in reaped(pool)] == [0]


def test_a_machine_that_cannot_start_one_says_why(tmp_path):
    pool = ProcessPool("q", [str(tmp_path / "missing")], tmp_path)
    with pytest.raises(OSError, match="missing"):
        pool.start()
    assert pool.workers == {}


def test_only_the_latest_logs_are_kept(make_pool, tmp_path):
    pool = make_pool("print('x')")
    total = LOGS_KEPT + 3
    for _ in range(total):
        pool.start()
    reaped(pool, total)
    kept = {path.name for path in (tmp_path / "logs").iterdir()}
    assert len(kept) == LOGS_KEPT


def test_the_end_of_a_log_is_its_last_lines_that_are_not_blank(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"x" * 10_000 + b"\nfirst\n\n  second \nthird \xff\n")
    assert last_lines(log, 1) == "third \N{REPLACEMENT CHARACTER}"
    assert last_lines(log, 3) == "first / second / third \N{REPLACEMENT CHARACTER}"
    assert last_lines(tmp_path / "none") == ""


def test_a_workers_command_carries_the_settings_of_the_queue(tmp_path):
    plain = {"namespace": "n", "root": tmp_path, "concurrency": 2, "retries": 0}
    command = worker_command("q", **plain, lease_s=1.5, drain_timeout_s=3600.0)
    assert command[:4] == [sys.executable, "-m", "dreamlake.lakeshore.pool.member", str(os.getpid())]
    assert " ".join(command[4:]) == (
        f"--queue q --namespace n --root {tmp_path} --concurrency 2 --retries 0 "
        "--lease 1.5 --drain-timeout 3600"
    )
    silent = worker_command("q", **plain, lease_s=None, drain_timeout_s=None)
    assert "--lease" not in silent
    assert "--drain-timeout" not in silent


def test_the_end_of_a_log_has_nothing_that_moves_a_terminal(tmp_path):
    log = tmp_path / "log"
    log.write_text("\x1b[2J\x1b[31mred\x07\r\n")
    assert last_lines(log) == "[2J [31mred"
