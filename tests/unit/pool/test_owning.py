"""One pool per queue on a machine."""

import os
import subprocess
import sys

import pytest

from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.pool.owning import own_queue


def test_a_queue_has_one_owner_until_it_lets_go(tmp_path):
    held = own_queue(tmp_path, "default", "q")
    with pytest.raises(
        ConfigError, match=rf"queue 'q' has a pool .* \(process {os.getpid()}\): stop that one"
    ):
        own_queue(tmp_path, "default", "q")
    os.close(held)
    os.close(own_queue(tmp_path, "default", "q"))


def test_other_queues_namespaces_and_homes_are_free(tmp_path):
    held = [
        own_queue(tmp_path / home, namespace, queue)
        for home in ("one", "two")
        for namespace, queue in (("a", "b"), ("a", "c"), ("b", "a"), ("a.b", "c"), ("a", "b.c"))
    ]
    for fd in held:
        os.close(fd)


def test_the_end_of_a_process_lets_its_queue_go_however_it_ends(tmp_path):
    code = (
        "import pathlib, sys, time\n"
        "from dreamlake.lakeshore.pool.owning import own_queue\n"
        "own_queue(pathlib.Path(sys.argv[1]), 'default', 'q')\n"
        "print('held', flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(ConfigError, match=f"process {owner.pid}"):
            own_queue(tmp_path, "default", "q")
        owner.kill()
    os.close(own_queue(tmp_path, "default", "q"))


def test_a_worker_does_not_inherit_the_hold(tmp_path):
    held = own_queue(tmp_path, "default", "q")
    assert not os.get_inheritable(held)
    os.close(held)


def test_a_home_that_cannot_hold_the_lock_is_said(tmp_path):
    (tmp_path / "pools").write_text("in the way")
    with pytest.raises(ConfigError, match="set LAKESHORE_HOME elsewhere"):
        own_queue(tmp_path, "default", "q")
