"""Rule 4: a key is unique per namespace and queue; submitting it again gives the existing invocation."""

import threading

from dreamlake.lakeshore.dispatch.plane import RunConfig, Submission


def test_rule_4_a_key_submitted_again_gives_the_first_id_in_every_state(plane):
    assert plane.submit("q", b"e", id="a", key="k") == "a"
    assert plane.submit("q", b"e", id="b", key="k") == "a"
    plane.claim("q", "w")
    assert plane.submit("q", b"e", id="c", key="k") == "a"
    plane.ack("a", "w", result=b"r")
    assert plane.submit("q", b"e", id="d", key="k") == "a"
    assert [row["id"] for row in plane.invocations()] == ["a"]


def test_rule_4_keys_are_apart_by_queue_and_namespace(open_plane):
    one, two = open_plane(ns="one"), open_plane(ns="two")
    assert one.submit("q", b"e", id="a", key="k") == "a"
    assert one.submit("other", b"e", id="b", key="k") == "b"
    assert two.submit("q", b"e", id="a", key="k") == "a"
    assert (one.count("q"), one.count("other"), two.count("q")) == (1, 1, 1)


def test_rule_4_racing_producers_of_one_key_make_one_invocation(open_plane):
    planes = [open_plane() for _ in range(4)]
    start = threading.Barrier(4)
    got = []

    def produce(number):
        start.wait(10)
        for turn in range(20):
            item = Submission(f"p{number}-{turn}", b"e", RunConfig(key=f"k{turn}"))
            got.append((turn, planes[number].submit_many("q", [item])[0]))

    threads = [threading.Thread(target=produce, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(got) == 80
    assert len(set(got)) == 20
    assert planes[0].count("q") == 20
