"""A network that drops answers: what the server did is not done twice."""

import threading

from servers.partition import Partition


def test_a_message_of_a_topic_whose_answer_is_lost_is_there_once(served):
    topic = "topic:default:news"
    with Partition(int(served.url.rpartition(":")[2])) as net:
        plane = served.connect(f"http://127.0.0.1:{net.port}")
        assert plane.journal_append(topic, None, b"first") == 0
        net.cut_towards_client()
        seqs = []
        thread = threading.Thread(target=lambda: seqs.append(plane.journal_append(topic, None, b"second")))
        thread.start()
        entries = served.plane.journal_read(topic, since=0, timeout=10)
        assert next(entries) == (1, b"second")
        net.reset()
        net.heal()
        thread.join(20)
        assert seqs == [1]
        assert plane.journal_append(topic, None, b"third", final=True) == 2
    assert [data for _, data in served.plane.journal_read(topic, timeout=10)] == [
        b"first",
        b"second",
        b"third",
    ]
