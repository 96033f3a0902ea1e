"""Reports: each attempt ends once, a repeat gets its first answer, all others are fenced."""

import asyncio

import pytest

from claim_replica import failure, success
from lakeshore_controlplane.faults import Fenced
from lakeshore_controlplane.services.finishing import Report
from lakeshore_controlplane.services.topics import ended_of, outcome_of
from lakeshore_controlplane.store.lane.port import QueueKey

Q = QueueKey("ns", "q")


def test_a_success_is_stored_told_and_counted(replicas):
    async def test(one):
        await one.submit("a")
        await one.warm()
        await one.claim("w")
        one.clock.advance(4)
        bell, journal = one.bells.subscribe("done:ns"), one.bells.subscribe("journal:ns/a")
        assert await one.finishing.report_one("ns", "w", success("a", result=b"\0r\xff")) == "succeeded"
        row = await one.database.collection("invocations").find_one({"_id": "ns/a"})
        assert (row["state"], bytes(row["resultBlob"]), row["error"]) == ("succeeded", b"\0r\xff", None)
        assert row["finishedAt"] == one.clock.steady()
        assert "leaseUntil" not in row
        assert ended_of(bell.payloads()[0]) == outcome_of(row)
        assert await journal.wait(0)
        assert one.counted == [(Q, 1, 4.0)]
        assert one.idle == [("ns", "w")]
        await one.placing.close()
        assert await one.lane.sizes(Q) == (0, 0, 0)
        bell.close()
        journal.close()

    replicas.run(test)


def test_a_result_may_be_a_reference(replicas):
    async def test(one):
        await one.submit("a")
        await one.claim("w")
        await one.finishing.report_one("ns", "w", Report("a", 1, "succeeded", result_ref="blob/1"))
        assert outcome_of(await one.row("a"))[2:] == (1, None, None, "blob/1")

    replicas.run(test)


@pytest.mark.parametrize("state", ["failed", "killed", "timeout"])
def test_each_terminal_state_can_be_reported(replicas, state):
    async def test(one):
        await one.submit("a")
        await one.claim("w")
        report = Report("a", 1, state, error={"type": "E", "message": "m", "traceback": "t"})
        assert await one.finishing.report_one("ns", "w", report) == state
        row = await one.row("a")
        assert (row["state"], row["error"]) == (state, {"type": "E", "message": "m", "traceback": "t"})

    replicas.run(test)


def test_the_same_report_twice_gets_its_first_answer_and_another_one_is_fenced(replicas):
    async def test(one, two):
        await one.submit("done", "again", "poison")
        await one.warm()
        await one.claim("w", 3)
        reports = [success("done"), failure("again", retry=True), failure("poison", retry=True, crashed=True)]
        answers = [await one.finishing.report_one("ns", "w", report) for report in reports]
        assert answers == ["succeeded", "queued", "queued"]
        await two.claim("w2", 2)
        for _ in range(2):
            assert [await two.finishing.report_one("ns", "w", report) for report in reports] == answers
            assert await two.finishing.report("ns", "w", reports) == []
        assert [await one.state(report.id) for report in reports] == ["succeeded", "running", "running"]
        for other in (success("done", result=b"other"), failure("done"), failure("again")):
            with pytest.raises(Fenced):
                await two.finishing.report_one("ns", "w", other)
        with pytest.raises(Fenced):
            await two.finishing.report_one("ns", "stranger", success("done"))
        assert len(one.counted) == 1
        assert two.counted == []
        assert two.tallies.fenced_acks == 4

    replicas.run(test)


def test_a_named_report_is_repeated_by_its_name_only(replicas):
    async def test(one):
        await one.submit("a")
        await one.claim("w")
        told = Report("a", 1, "succeeded", result=b"r", report_id="one")
        assert await one.finishing.report("ns", "w", [told]) == []
        assert await one.finishing.report("ns", "w", [told]) == []
        assert await one.finishing.report("ns", "w", [success("a")]) == ["a"]
        again = Report("a", 1, "succeeded", result=b"r", report_id="two")
        assert await one.finishing.report("ns", "w", [again]) == ["a"]

    replicas.run(test)


def test_two_replicas_get_the_same_report_at_once_and_it_counts_once(replicas):
    async def test(one, two):
        names = [f"i{n}" for n in range(50)]
        await one.submit(*names)
        await one.warm()
        await one.claim("w", 50)
        reports = [success(name, result=name.encode()) for name in names]
        fenced = await asyncio.gather(
            *[replica.finishing.report("ns", "w", reports) for replica in (one, two)],
            *[replica.finishing.report("ns", "w", [report]) for report in reports for replica in (one, two)],
        )
        assert not any(fenced)
        rows = await one.database.collection("invocations").find({"state": "succeeded"}).to_list()
        assert {row["_id"]: bytes(row["resultBlob"]) for row in rows} == {
            f"ns/{name}": name.encode() for name in names
        }

    replicas.run(test)


def test_an_end_and_a_cancel_at_once_have_one_winner(replicas):
    async def test(one, two):
        names = [f"i{n}" for n in range(60)]
        await one.submit(*names)
        await one.warm()
        await one.claim("w", 60)
        fenced, cancelled = await asyncio.gather(
            one.finishing.report("ns", "w", [success(name, result=name.encode()) for name in names]),
            two.cancelling.cancel("ns", [*reversed(names)]),
        )
        assert sorted(fenced) == sorted(cancelled)
        for name in names:
            assert await one.state(name) == ("killed" if name in fenced else "succeeded")

    replicas.run(test)


def test_many_reports_in_one_go_are_each_judged_alone(replicas):
    async def test(one):
        names = ["ok", "ok2", "failed", "again", "later", "cancelled", "released"]
        await one.submit(*names)
        await one.warm()
        await one.claim("w", 7)
        await one.leasing.release("ns", "w", ["released"])
        assert await one.cancelling.cancel("ns", ["cancelled"]) == ["cancelled"]
        reports = [
            success("ok"),
            success("ok2"),
            failure("failed"),
            failure("again", retry=True),
            failure("later", retry=True, delay_s=10.0),
            success("cancelled"),
            success("released"),
            success("unknown"),
            success("ok", attempt=2),
        ]
        fenced = await one.finishing.report("ns", "w", reports)
        assert sorted(fenced) == ["cancelled", "ok", "released", "unknown"]
        states = [await one.state(name) for name in names]
        assert states == ["succeeded", "succeeded", "failed", "queued", "queued", "killed", "queued"]
        assert one.counted == [(Q, 2, 0.0)]
        assert await one.claim("w", 5) == [("again", 2), ("released", 1)]
        assert await one.leasing.next_due("ns", "q") == pytest.approx(10)
        one.clock.advance(10)
        assert await one.claim("w", 5) == [("later", 2)]

    replicas.run(test)


def test_a_report_without_a_number_or_a_worker_is_of_what_runs(replicas):
    async def test(one):
        await one.submit("a", "b")
        await one.claim("w", 2)
        assert await one.finishing.report_one("ns", "w", success("a", attempt=None)) == "succeeded"
        assert await one.finishing.report_one("ns", None, success("b", attempt=None)) == "succeeded"
        with pytest.raises(Fenced, match="this worker no longer holds invocation b, which is succeeded"):
            await one.finishing.report_one("ns", None, failure("b", attempt=None))

    replicas.run(test)


def test_fenced_texts_say_where_the_invocation_is(replicas):
    async def test(one):
        await one.submit("a", "b")
        await one.claim("w", 2)
        one.clock.advance(31)
        await one.claim("w2", 1)
        await one.cancelling.cancel("ns", ["b"])
        for name, says in (
            ("a", "which is running as attempt 2 on w2"),
            ("b", "which is cancelled"),
            ("x", "which is not on this plane"),
        ):
            text = f"worker w no longer holds invocation {name}, {says}: nothing was changed; drop this attempt's"
            with pytest.raises(Fenced, match=text):
                await one.finishing.report_one("ns", "w", success(name))

    replicas.run(test)


def test_an_error_with_any_characters_and_any_length_survives(replicas):
    async def test(one):
        told = {"type": "Odd", "message": "nul \0, lone \udcff, snowman ☃", "traceback": "line\nline"}
        await one.submit("a", "long")
        await one.claim("w", 2)
        await one.finishing.report_one("ns", "w", failure("a", error=told))
        assert outcome_of(await one.row("a")).error == told
        huge = {"type": "Huge", "message": "begin" + "x" * 20_000_000 + "end"}
        await one.finishing.report("ns", "w", [failure("long", error=huge)])
        message = outcome_of(await one.row("long")).error["message"]
        assert message.startswith("beginxxx")
        assert message.endswith("xxxend")
        assert "characters are left out here" in message

    replicas.run(test)


def test_crashes_are_counted_to_the_third_and_never_beyond(replicas):
    async def test(one):
        await one.submit("bad")
        for attempt in (1, 2, 3):
            assert await one.claim("w") == [("bad", attempt)]
            report = failure(
                "bad", attempt, error={"type": "Killed", "message": "SIGSEGV"}, retry=True, crashed=True
            )
            answer = await one.finishing.report_one("ns", "w", report)
            assert answer == ("queued" if attempt < 3 else "failed")
            assert await one.finishing.report_one("ns", "w", report) == answer
        row = await one.row("bad")
        assert (row["crashes"], row["error"]["type"]) == (3, "PoisonJob")
        assert row["error"]["message"] == (
            "it took its worker down 3 times and is not tried again; the last time: Killed: SIGSEGV"
        )

    replicas.run(test)


def test_cancel_ends_what_is_live_and_wakes_everybody(replicas):
    async def test(one):
        await one.submit("running", "queued", "done", "more")
        await one.warm()
        await one.claim("w", 1)
        await one.claim("w2", 1)
        await one.finishing.report_one("ns", "w2", success("queued"))
        bells = [one.bells.subscribe(topic) for topic in ("work:ns/q", "done:ns", "journal:ns/running")]
        asked = ["running", "queued", "unknown", "more", "running"]
        assert await one.cancelling.cancel("ns", asked) == ["running", "more"]
        assert await one.cancelling.cancel("ns", asked) == []
        assert all([await bell.wait(0) for bell in bells])
        assert await one.cancelling.cancel("ns", ["done"]) == ["done"]
        assert await one.claim("w3", 5) == []
        assert await one.leasing.renew("ns", "w", ["running"], 30) == ["running"]
        for bell in bells:
            bell.close()

    replicas.run(test)


def test_hundreds_of_different_results_in_one_report_land_on_their_own_rows(replicas):
    async def test(one):
        ids = [f"j{n}" for n in range(250)]
        await one.submit(*ids)
        await one.warm()
        assert len(await one.claim("w", 250)) == 250
        await one.cancelling.cancel("ns", ["j7", "j200"])
        results = {inv_id: f"r-{inv_id}".encode() for inv_id in ids} | {"j9": b"big" * 20_000, "j10": None}
        reports = [success(inv_id, result=results[inv_id]) for inv_id in ids]
        assert await one.finishing.report("ns", "w", reports) == ["j7", "j200"]
        rows = {row["_id"]: row async for row in one.database.collection("invocations").find({})}
        for inv_id in set(ids) - {"j7", "j200"}:
            row = rows[f"ns/{inv_id}"]
            assert (row["state"], row["resultBlob"], row["error"]) == ("succeeded", results[inv_id], None)
            assert "leaseUntil" not in row
        assert [rows[f"ns/{inv_id}"]["state"] for inv_id in ("j7", "j200")] == ["killed", "killed"]
        assert await one.finishing.report("ns", "w", reports) == ["j7", "j200"], (
            "the same again: the same answer"
        )
        others = [success(inv_id, result=b"other") for inv_id in ids]
        assert await one.finishing.report("ns", "w", others) == ids, "another result comes too late"

    replicas.run(test)


def test_what_a_replica_remembers_of_a_lease_does_not_end_a_later_attempt(replicas):
    async def test(one):
        await one.submit("a", "b")
        await one.warm()
        await one.claim("w", 2, lease_s=5)
        one.clock.advance(6)
        await one.sweeping.sweep_once()
        assert await one.claim("other", 2) == [("a", 2), ("b", 2)]
        assert await one.finishing.report("ns", "w", [success("a"), success("b")]) == ["a", "b"]
        assert [await one.state(inv_id) for inv_id in ("a", "b")] == ["running", "running"]

    replicas.run(test)
