"""Topics: messages that every reader sees."""

import subprocess
import sys
import threading

import pytest

from dreamlake.lakeshore import Dispatch, SyncQueue, Topic
from dreamlake.lakeshore.errors import ConfigError


def test_messages_are_numbered_and_read_in_order_any_number_of_times(plane):
    topic = Topic("progress", dispatch=plane)
    assert [topic.post(value) for value in ("a", {"b": 1}, None)] == [0, 1, 2]
    topic.post((1, 2), final=True)
    for _ in range(2):
        assert list(topic.stream()) == ["a", {"b": 1}, None, (1, 2)]
    assert list(topic.entries(since=1)) == [(2, None), (3, (1, 2))]


def test_listen_gives_the_first_message_after_since_or_none(plane):
    topic = SyncQueue("q", dispatch=plane).topic("progress")
    assert topic.listen(timeout=0.05) is None
    topic.post("first")
    topic.post("second")
    assert topic.listen() == "first"
    assert topic.listen(since=0) == "second"
    assert topic.listen(since=1, timeout=0.05) is None


def test_a_waiting_reader_sees_what_is_posted_later(plane):
    topic = Topic("t", dispatch=plane)
    found = []
    reader = threading.Thread(target=lambda: found.extend(topic.stream(timeout=20)))
    reader.start()
    topic.post(1)
    topic.post(2, final=True)
    reader.join(20)
    assert found == [1, 2]


def test_a_stream_without_news_is_a_timeout_error_that_names_no_job(plane):
    with pytest.raises(TimeoutError, match=r"read on later with since=-1$"):
        list(Topic("t", dispatch=plane).stream(timeout=0.05))


def test_topics_of_other_names_and_queues_are_apart(plane):
    Topic("t", dispatch=plane).post(1)
    assert Topic("u", dispatch=plane).listen(timeout=0.01) is None
    assert SyncQueue("q", dispatch=plane).topic("t").listen(timeout=0.01) is None


def test_trimming_forgets_the_oldest_and_numbers_go_on(plane):
    topic = Topic("t", dispatch=plane)
    for n in range(4):
        topic.post(n)
    assert topic.trim(keep_last=1) == 3
    assert topic.listen(since=2) == 3
    assert topic.post("next") == 4


def test_a_message_posted_by_one_process_is_seen_by_another(tmp_path):
    path = tmp_path / "dispatch.sqlite"
    plane = Dispatch(str(path))
    program = f"""
from dreamlake.lakeshore import Dispatch, Topic
plane = Dispatch({str(path)!r})
ping, pong = Topic("ping", dispatch=plane), Topic("pong", dispatch=plane)
pong.post("here")
for value in ping.stream(timeout=30):
    pong.post(value * 2, final=value == 3)
plane.close()
"""
    other = subprocess.Popen([sys.executable, "-c", program])
    try:
        ping, pong = Topic("ping", dispatch=plane), Topic("pong", dispatch=plane)
        assert pong.listen(timeout=30) == "here"
        for value in (1, 2, 3):
            ping.post(value, final=value == 3)
        assert list(pong.stream(timeout=30)) == ["here", 2, 4, 6]
        assert other.wait(30) == 0
    finally:
        other.kill()
        other.wait(10)
        plane.close()


@pytest.mark.parametrize("name", ["", 3, "x" * 300])
def test_a_name_that_cannot_be_is_refused(plane, name):
    with pytest.raises(ConfigError, match="topic name"):
        Topic(name, dispatch=plane)
