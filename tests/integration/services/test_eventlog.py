"""The log of events: newest first, by queue, within its namespace."""

import pytest

from lakeshore_controlplane.faults import BadRequest, PayloadTooLarge
from waiting_replica import Stage


@pytest.fixture
def play(mongo_url, mongo_database):
    return Stage(mongo_url, mongo_database)


def test_lines_come_newest_first_by_queue(play):
    async def scenario(one):
        for number in range(10):
            await one.events.add("ns", kind="note", queue=f"q{number % 2}", data=number)
            play.clock.advance(0.001)
        await one.events.add("ns2", kind="note", queue="q0", invocation="a", worker="w")
        newest = await one.events.list("ns", limit=3)
        of_queue = await one.events.list("ns", queue="q0")
        theirs = await one.events.list("ns2")
        none = await one.events.list("ns", limit=0)
        return [line["data"] for line in newest], [line["data"] for line in of_queue], theirs, none

    newest, of_queue, theirs, none = play(scenario)
    assert newest == [9, 8, 7]
    assert of_queue == [8, 6, 4, 2, 0]
    assert [{**line, "at": 0} for line in theirs] == [
        {"at": 0, "kind": "note", "queue": "q0", "invocation": "a", "worker": "w", "data": None}
    ]
    assert none == []


@pytest.mark.parametrize(
    "data", [{"a": [1, None, b"b", 2**63]}, {1: 2, "$x": 3, "": 4}, "\ud800", 0, [], -(2**63)]
)
def test_any_value_comes_back(play, data):
    async def scenario(one):
        await one.events.add("ns", kind="note", queue="q", data=data)
        return (await one.events.list("ns"))[0]["data"]

    assert play(scenario) == data


def test_what_cannot_be_kept_is_refused(play):
    async def scenario(one):
        for refused, line in (
            (PayloadTooLarge, {"kind": "k", "data": bytes(70_000)}),
            (BadRequest, {"kind": "k", "data": 2**70}),
            (BadRequest, {"kind": "k\ud800"}),
            (BadRequest, {"kind": "k" * 513}),
        ):
            with pytest.raises(refused, match="event"):
                await one.events.add("ns", queue="q", **line)
        return await one.events.list("ns")

    assert play(scenario) == []


def test_old_lines_are_forgotten(play):
    async def scenario(one):
        await one.events.add("ns", kind="old", queue="q")
        play.clock.advance(8 * 24 * 3600)
        await one.events.add("ns", kind="new", queue="q")
        listed = await one.events.list("ns")
        return (
            [line["kind"] for line in listed],
            await one.events.forget_old("ns"),
            await one.events.forget_old("ns"),
        )

    assert play(scenario) == (["new"], 1, 0)
