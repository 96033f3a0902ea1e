"""Looking up invocations: one, many, a tree, a count."""

import pytest

from hand_clock import HandClock
from lakeshore_controlplane.faults import BadRequest
from lakeshore_controlplane.services.submission import Submission
from submitting_replica import Stage, item


@pytest.fixture
def play(mongo_url, mongo_database):
    return Stage(mongo_url, mongo_database, HandClock()).play


def test_a_row_has_every_field_of_the_contract_and_no_payload(play):
    submission = Submission(
        "a",
        "q",
        b"secret",
        run_config={"priority": 2, "key": "k", "retries": 3, "timeout_s": 1.5, "deadline": 1_800_000_060.0},
        function={"module": "m"},
        parent="p",
        correlation_id="c",
        code_repo_id="r",
    )

    async def scenario(one):
        await one.submitting.submit("ns", submission)
        return await one.lookups.get("ns", "a")

    assert play(scenario) == {
        "id": "a",
        "queue": "q",
        "state": "queued",
        "priority": 2.0,
        "key": "k",
        "parent": "p",
        "root": "p",
        "correlation_id": "c",
        "attempt": 0,
        "crashes": 0,
        "worker": None,
        "error": None,
        "submitted_at": 1000.0,
        "queued_at": 1000.0,
        "started_at": None,
        "finished_at": None,
        "due": None,
        "due_at": 1000.0,
        "lease_until": None,
        "deadline": 1060.0,
        "timeout_s": 1.5,
        "retries": 3,
        "code_repo": "r",
        "function": {"module": "m"},
    }


def test_a_failed_row_tells_its_error_with_any_text(play):
    async def scenario(one):
        await one.submit("a")
        error = {"type": "E", "message": "\ud800".encode("utf-8", "surrogatepass")}
        await one.database.collection("invocations").update_one(
            {"_id": "ns/a"}, {"$set": {"state": "failed", "error": error, "resultBlob": b"r"}}
        )
        return await one.lookups.get("ns", "a")

    row = play(scenario)
    assert row["error"] == {"type": "E", "message": "\ud800"}
    assert not {"resultBlob", "result"} & set(row)


def test_ids_of_other_namespaces_are_never_found(play):
    async def scenario(one):
        await one.submit("a", ns="other")
        return [
            await one.lookups.get("ns", "a"),
            await one.lookups.list("ns"),
            await one.lookups.tree("ns", "a"),
            await one.lookups.count("ns", "q"),
        ]

    assert play(scenario) == [None, [], [], 0]


def test_lists_are_newest_first_and_filtered(play):
    async def scenario(one):
        await one.submit_many(*(item(f"q{n}") for n in range(4)), item("o", queue="other"))
        await one.submitting.submit("ns", item("child", parent="q0"))
        await one.claim()
        found = [
            await one.lookups.list("ns", limit=3),
            await one.lookups.list("ns", queue="q", state="queued"),
            await one.lookups.list("ns", state="running"),
            await one.lookups.list("ns", root="q0"),
            await one.lookups.list("ns", queue="unknown"),
            await one.lookups.list("ns", limit=0),
        ]
        return [[row["id"] for row in rows] for rows in found]

    assert play(scenario) == [
        ["child", "o", "q3"],
        ["child", "q3", "q2", "q1"],
        ["q0"],
        ["child", "q0"],
        [],
        [],
    ]


def test_counts_are_by_state_and_delayed_rows_are_queued(play):
    async def scenario(one):
        await one.submit_many(item("a"), item("b", delay_s=60), item("c"))
        await one.claim()
        return [await one.count(state=state) for state in ("queued", "running", "succeeded", "timeout")]

    assert play(scenario) == [2, 1, 0, 0]


@pytest.mark.parametrize("state", ["cancelled", "", "Queued", "x" * 1000])
def test_an_unknown_state_is_answered_with_the_known_ones(play, state):
    async def scenario(one):
        for ask in (one.lookups.list("ns", state=state), one.lookups.count("ns", "q", state)):
            with pytest.raises(BadRequest, match="use one of queued, running, succeeded"):
                await ask

    play(scenario)
