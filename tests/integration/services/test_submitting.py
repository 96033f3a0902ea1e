"""Submitting to a control plane: each id once, each key once, all of a batch or none."""

import asyncio

import pytest

from hand_clock import HandClock
from lakeshore_controlplane.faults import (
    BadRequest,
    DeadlineTooNear,
    IdConflict,
    PayloadTooLarge,
    QueueUnavailable,
)
from lakeshore_controlplane.services.submission import Submission, Submitted
from lakeshore_controlplane.store.lane.port import Entry, LaneDownError, QueueKey
from submitting_replica import Stage, item

Q = QueueKey("ns", "q")


@pytest.fixture
def play(mongo_url, mongo_database):
    return Stage(mongo_url, mongo_database, HandClock()).play


def test_a_submitted_invocation_is_a_queued_row_with_a_place_in_the_lane(play):
    async def scenario(one):
        await one.placing.refill(Q)
        assert await one.submit("a", priority=2.5) == Submitted("a", "q")
        row = await one.lookups.get("ns", "a")
        taken = await one.lane.take(Q, 5, kind="fifo", temperature=1.0, now=1000.0, held_until=1030.0)
        return row, taken.ids, one.arrived.counts

    row, ids, arrived = play(scenario)
    assert (row["state"], row["queue"], row["priority"], row["attempt"]) == ("queued", "q", 2.5, 0)
    assert ids == ["a"]
    assert arrived == {"ns/q": 1}


def test_submitting_rings_for_workers_and_for_those_who_watch_the_queue(play):
    async def scenario(one):
        work, change = one.bells.subscribe("work:ns/q"), one.bells.subscribe("change:ns/q")
        await one.submit("a")
        return await work.wait(1.0), await change.wait(1.0)

    assert play(scenario) == (True, True)


def test_the_same_submission_twice_is_one(play):
    async def scenario(one):
        first, again = await one.submit("a"), await one.submit("a")
        return first, again, await one.count(), one.arrived.counts

    first, again, count, arrived = play(scenario)
    assert (first.duplicate, again.duplicate) == (False, True)
    assert (count, arrived) == (1, {"ns/q": 1})


@pytest.mark.parametrize(
    "other",
    [item("a", b"other"), item("a", queue="other"), item("a", key="k"), Submission("a", "q", None, "ref")],
)
def test_an_id_with_other_content_is_refused(play, other):
    async def scenario(one):
        await one.submit("a")
        with pytest.raises(IdConflict, match="invocation a exists already with other content: nothing was"):
            await one.submitting.submit("ns", other)
        return await one.count() + await one.count("other")

    assert play(scenario) == 1


def test_an_id_of_another_namespace_is_another_id(play):
    async def scenario(one):
        await one.submit("a", b"1")
        assert await one.submit("a", b"2", ns="other") == Submitted("a", "q")
        return await one.lookups.count("other", "q")

    assert play(scenario) == 1


def test_a_key_gives_the_earlier_invocation_of_its_queue(play):
    async def scenario(one):
        return [
            await one.submit("a", key="k"),
            await one.submit("b", b"2", key="k"),
            await one.submit("c", queue="other", key="k"),
            await one.submit("d", key="k", ns="elsewhere"),
            await one.lookups.get("ns", "b"),
        ]

    assert play(scenario) == [
        Submitted("a", "q"),
        Submitted("a", "q", duplicate=True),
        Submitted("c", "other"),
        Submitted("d", "q"),
        None,
    ]


def test_a_known_key_wins_over_a_known_id(play):
    async def scenario(one):
        await one.submit("a", b"1", key="k")
        return await one.submit("a", b"2", key="k")

    assert play(scenario) == Submitted("a", "q", duplicate=True)


def test_a_key_is_remembered_after_the_end(play):
    async def scenario(one):
        await one.submit("a", key="k")
        await one.database.collection("invocations").update_one(
            {"_id": "ns/a"}, {"$set": {"state": "succeeded"}}
        )
        return await one.submit("b", key="k")

    assert play(scenario) == Submitted("a", "q", duplicate=True)


def test_report_12_an_id_is_used_again_after_a_purge(play):
    async def scenario(one):
        await one.submit("a", b"1", deadline=one.clock.wall() + 5)
        await one.rows.remove(["ns/a"])
        await one.submit("a", b"2")
        return await one.lookups.get("ns", "a")

    row = play(scenario)
    assert (row["state"], row["attempt"], row["deadline"]) == ("queued", 0, None)


@pytest.mark.parametrize("atomic", [True, False])
def test_a_batch_mixes_new_ids_known_ids_and_known_keys(play, atomic):
    async def scenario(one):
        await one.submit("a", key="k")
        found = await one.submit_many(
            item("b", b"2"),
            item("c", b"3", key="k"),
            item("b", b"2"),
            item("d", b"4", key="new"),
            item("e", b"5", key="new"),
            atomic=atomic,
        )
        return found, await one.count(), one.arrived.counts

    found, count, arrived = play(scenario)
    assert [answer.id for answer in found] == ["b", "a", "b", "d", "d"]
    assert [answer.duplicate for answer in found] == [False, True, True, False, True]
    assert (count, arrived) == (3, {"ns/q": 3})


def test_a_batch_is_claimed_in_its_order(play):
    ids = [f"i{n}" for n in range(300)]

    async def scenario(one):
        await one.placing.refill(Q)
        await one.submit_many(*map(item, ids), atomic=True)
        taken = await one.lane.take(Q, 300, kind="fifo", temperature=1.0, now=1000.0, held_until=1030.0)
        return taken.ids

    assert play(scenario) == ids


@pytest.mark.parametrize("place", [0, 1])
def test_an_atomic_batch_with_one_conflict_stores_nothing(play, place):
    async def scenario(one):
        await one.submit("old")
        batch = [item("new")]
        batch.insert(place, item("old", b"2"))
        with pytest.raises(IdConflict, match="old"):
            await one.submit_many(*batch, atomic=True)
        return await one.lookups.get("ns", "new"), one.arrived.counts

    assert play(scenario) == (None, {"ns/q": 1})


def test_an_atomic_batch_that_contradicts_itself_stores_nothing(play):
    async def scenario(one):
        with pytest.raises(IdConflict, match="invocation a "):
            await one.submit_many(item("b"), item("a", b"1"), item("a", b"2"), atomic=True)
        return await one.count()

    assert play(scenario) == 0


def test_a_batch_stores_what_it_can_and_says_what_it_cannot(play):
    async def scenario(one):
        await one.submit("old")
        await one.queue("closed", state="paused")
        return await one.submit_many(
            item("a"), item("old", b"2"), item("b", queue="closed"), item("c", delay_s="soon"), item("d")
        )

    a, old, b, c, d = play(scenario)
    assert (a, d) == (Submitted("a", "q"), Submitted("d", "q"))
    assert isinstance(old, IdConflict)
    assert isinstance(b, QueueUnavailable)
    assert isinstance(c, BadRequest)
    assert "delay_s 'soon': use a finite number" in str(c)


def test_what_repeats_a_refused_one_of_its_batch_is_refused_as_well(play):
    async def scenario(one):
        await one.queue(state="paused")
        return await one.submit_many(item("a", key="k"), item("b", key="k"))

    assert [type(answer) for answer in play(scenario)] == [QueueUnavailable] * 2


def test_an_empty_batch_is_nothing(play):
    async def scenario(one):
        return await one.submit_many(atomic=True), await one.queue_rows.of_namespace("ns")

    assert play(scenario) == ([], [])


@pytest.mark.parametrize("state", ["draining", "paused", "archived"])
@pytest.mark.parametrize("atomic", [True, False])
def test_a_closed_queue_says_how_to_open_it_and_still_answers_repeats(play, state, atomic):
    async def scenario(one):
        await one.submit("a", key="k")
        await one.queue(state=state)
        known = await one.submit_many(item("a", key="k"), item("b", key="k"), atomic=atomic)
        text = rf"'q' is {state} and takes no new work.*lakeshore queues unarchive q"
        with pytest.raises(QueueUnavailable, match=text):
            await one.submit("c")
        await one.queue()
        return known, await one.submit("c")

    known, c = play(scenario)
    assert [(answer.id, answer.duplicate) for answer in known] == [("a", True), ("a", True)]
    assert c == Submitted("c", "q")


def test_a_deadline_that_is_too_near_is_refused_and_a_known_one_answered(play):
    async def scenario(one):
        await one.submit("known", deadline=one.clock.wall() + 5)
        await one.queue(deadline_cutoff_s=10.0)
        near = one.clock.wall() + 9.9
        with pytest.raises(DeadlineTooNear, match=r"invocation a .*deadline_cutoff_s 10"):
            await one.submit("a", deadline=near)
        with pytest.raises(DeadlineTooNear):
            await one.submit_many(item("b"), item("c", deadline=near), atomic=True)
        return [
            await one.submit("known", deadline=one.clock.wall() + 5),
            await one.submit("d", deadline=near + 0.2),
            await one.submit("e"),
            await one.count(),
        ]

    known, *_, count = play(scenario)
    assert known.duplicate
    assert count == 3


def test_a_delayed_row_waits_in_the_lane_for_the_end_of_its_delay_or_its_deadline(play):
    async def scenario(one):
        await one.submit("a", delay_s=10.0)
        first = await one.lane.next_due(Q)
        await one.submit("b", delay_s=10.0, deadline=one.clock.wall() + 4.0)
        return first, await one.lane.next_due(Q)

    assert play(scenario) == (1010.0, 1004.0)


def test_children_share_the_root_of_their_tree(play):
    async def scenario(one):
        await one.submit("root")
        await one.submitting.submit("ns", item("child", parent="root"))
        await one.submit_many(
            item("grandchild", parent="child"), item("great", parent="grandchild"), item("x", parent="gone")
        )
        tree = await one.lookups.tree("ns", "root")
        stray = await one.lookups.get("ns", "x")
        return [row["id"] for row in tree], stray["root"], stray["parent"]

    assert play(scenario) == (["root", "child", "grandchild", "great"], "gone", "gone")


def test_a_priority_queue_may_take_another_field_as_the_priority(play):
    async def scenario(one):
        await one.queue(kind="priority", kind_params={"priority_field": "p"})
        await one.submit("a", priority=1.0, p=7)
        return (await one.lookups.get("ns", "a"))["priority"]

    assert play(scenario) == 7.0


def test_a_lane_that_is_down_loses_no_submission(play):
    class DownLane:
        async def push(self, queue, entries: list[Entry]):
            raise LaneDownError("down")

    async def scenario(one):
        one.placing._lane = DownLane()
        await one.submit("a")
        return await one.count(), one.placing.doubtful

    assert play(scenario) == (1, {Q})


@pytest.mark.parametrize("value", [1 << 70, "\ud800", object()])
def test_a_field_that_no_row_can_hold_is_refused_with_one_line(play, value):
    async def scenario(one):
        with pytest.raises(BadRequest, match="cannot be stored"):
            await one.submit("a", extra=value)
        return await one.count()

    assert play(scenario) == 0


def test_a_row_that_is_too_large_is_refused(play):
    async def scenario(one):
        with pytest.raises(PayloadTooLarge, match="args_ref"):
            await one.submit("a", b"x" * (17 << 20))

    play(scenario)


def test_many_submitters_of_one_key_get_one_invocation(play):
    async def scenario(one, other):
        found = await asyncio.gather(
            *((one, other)[n % 2].submit(f"i{n}", b"%d" % n, key="k") for n in range(40))
        )
        return {answer.id for answer in found}, await one.count()

    ids, count = play(scenario, replicas=2)
    assert len(ids) == 1
    assert count == 1
