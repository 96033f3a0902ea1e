"""Started processes end, and their cost is read from /proc."""

import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from yardstick.processes import cpu_s, family, rss_mib, started, tail, wait_for


def _gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def _start(code: str, folder: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return started([sys.executable, "-c", code], env=os.environ, log=folder / "log", cwd=folder)


def test_a_process_and_its_children_end_with_the_block(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open('child', 'w').write(f'{child.pid}\\n')\n"
        "time.sleep(60)\n"
    )
    told = tmp_path / "child"
    with _start(code, tmp_path) as process:
        wait_for(lambda: told.exists() and told.read_text().endswith("\n"), "the child's id", 20)
        child = int(told.read_text())
        assert family(process.pid) >= {process.pid, child}
    wait_for(lambda: _gone(process.pid) and _gone(child), "both are gone", 10)


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('up', 'w')\ntime.sleep(60)\n"
    monkeypatch.setattr("yardstick.processes.end_group.__defaults__", (0.2,))
    with _start(code, tmp_path) as process:
        wait_for((tmp_path / "up").exists, "it ignores SIGTERM", 20)
    assert process.returncode == -9


def test_work_shows_in_the_processor_time() -> None:
    before = cpu_s({os.getpid()})
    wait_for(lambda: sum(range(200_000)) and cpu_s({os.getpid()}) >= before + 0.05, "50 ms of work", 20, 0)


def test_memory_is_counted_in_mib() -> None:
    before = rss_mib(os.getpid())
    held = bytearray(os.urandom(1 << 16) * 1024)  # 64 MiB
    assert 48 < rss_mib(os.getpid()) - before < 160
    del held


def test_a_wait_that_ends_in_vain_names_what_it_waited_for() -> None:
    with pytest.raises(TimeoutError, match=r"the moon: not within 0\.05 s"):
        wait_for(lambda: False, "the moon", 0.05)


def test_a_process_that_is_gone_costs_nothing() -> None:
    done = subprocess.Popen([sys.executable, "-c", "pass"])
    done.wait(20)
    assert cpu_s({done.pid}) == 0


def test_the_tail_of_a_log_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n\ntwo\n  three\nfour\n")
    assert tail(log) == "two | three | four"
    assert tail(tmp_path / "none") == ""
