"""Every POST of a producer and a worker arrives twice: the results are those of one delivery."""

import pytest
from fault_twice import Twice

JOBS = 200
FRAMES = 400


@pytest.mark.parametrize("first", [True, False], ids=["first answer counts", "second answer counts"])
def test_every_post_delivered_twice_gives_the_same_results(site, first):
    replica = site.replica()
    between = site.enter(Twice(replica.port, first=first))
    producers = site.crowd(between.url, JOBS, 0.0, frames=FRAMES, workers=1)
    rows = site.assert_nothing_lost(producers)
    assert len(rows) == JOBS + 1
    assert len(producers[1].said("frame")) == FRAMES
    assert between.doubled > JOBS
    assert {row["attempt"] for row in rows.values()} == {1}, "claims were lost between the deliveries"
    assert len(site.notes()) == JOBS + 1


def test_messages_without_numbers_that_arrive_twice_are_stored_once(site):
    between = site.enter(Twice(site.replica().port, first=False))
    topic = site.queue(between.url).topic("news")
    numbers = [topic.post(n, final=n == 49) for n in range(50)]
    assert numbers == list(topic.stream()) == [*range(50)]
