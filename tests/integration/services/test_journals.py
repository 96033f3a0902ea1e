"""Journals of a control plane: idempotent appends from several replicas, ends, fences, trims."""

import asyncio

import pytest

from lakeshore_controlplane.faults import BadRequest, Fenced, PayloadTooLarge, Refused
from lakeshore_controlplane.store.mongo.journals import LARGEST_FRAME
from waiting_replica import Stage


@pytest.fixture
def play(mongo_url, mongo_database):
    return Stage(mongo_url, mongo_database)


def frames_of(*texts):
    return [(None, text, False) for text in texts]


def test_a_repeated_frame_is_absorbed_and_keeps_its_first_content(play):
    async def scenario(one):
        assert await one.journals.append_one("ns", "j", (0, b"first", False)) is False
        assert await one.journals.append_one("ns", "j", (0, b"again", False)) is True
        assert await one.journals.append("ns", "j", frames_of(b"next")) == [1]
        again = [(0, b"x", False), (1, b"x", False), (2, b"new", True)]
        assert await one.journals.append("ns", "j", again) == [0, 1, 2]
        assert await one.journals.append("ns", "j", again) == [0, 1, 2]
        return await one.follow("j")

    assert play(scenario) == ([(0, b"first"), (1, b"next"), (2, b"new")], None)


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ([(None, b"", False)], "journal j ended with frame 1: frame 2 cannot follow; use another journal"),
        ([(7, b"", False)], "journal j ended with frame 1: frame 7 cannot follow; use another journal"),
        ([(7, b"", True)], "journal j ended with frame 1: frame 7 cannot follow; use another journal"),
        ([(-1, b"", False)], "journal j: seq -1 is below 0; the first frame has seq 0"),
        ([(0, b"", True)], "journal j: frame 0 cannot be the last, frame 1 is there"),
    ],
)
def test_what_cannot_follow_is_refused(play, frames, text):
    async def scenario(one):
        await one.append("j", 0, 1, final=True)
        with pytest.raises(Refused) as refused:
            await one.journals.append("ns", "j", frames)
        return refused.value.message, await one.seqs("j")

    assert play(scenario) == (text, [0, 1])


def test_a_batch_that_is_refused_leaves_nothing(play):
    async def scenario(one):
        for frames in ([(0, b"", True), (1, b"", False)], [(None, b"", True), (None, b"", False)]):
            with pytest.raises(Refused, match="journal j ended with frame 0: frame 1 cannot follow"):
                await one.journals.append("ns", "j", frames)
        with pytest.raises(BadRequest, match="give a seq to all frames of one append, or to none"):
            await one.journals.append("ns", "j", [(0, b"", False), (None, b"", False)])
        assert await one.journals.append("ns", "j", []) == []
        return await one.seqs("j")

    assert play(scenario) == []


def test_a_frame_that_is_there_can_become_the_final_one(play):
    async def scenario(one):
        await one.append("j", 0, 1)
        await one.append("j", 1, final=True)
        with pytest.raises(Refused, match="ended with frame 1"):
            await one.append("j", 2)
        return await one.follow("j")

    assert play(scenario) == ([(0, b"0"), (1, b"1")], None)


def test_many_writers_on_two_replicas_get_places_of_their_own(play):
    async def scenario(one, two):
        async def write(replica, name):
            got = []
            for number in range(10):
                texts = [f"{name}-{number}-{part}".encode() for part in range(3)]
                got += zip(
                    await replica.journals.append("ns", "topic:t", frames_of(*texts)), texts, strict=True
                )
            return got

        names = [(replica, f"{which}{n}") for which, replica in enumerate((one, two)) for n in range(4)]
        told = [pair for got in await asyncio.gather(*[write(*name) for name in names]) for pair in got]
        await one.journals.append("ns", "topic:t", [(None, b"", True)])
        return sorted(told), await two.follow("topic:t")

    told, (found, missing) = play(scenario)
    assert told == found[:-1]
    assert [seq for seq, _ in found] == list(range(8 * 10 * 3 + 1))
    assert missing is None


def test_only_one_of_many_ends_a_journal(play):
    async def scenario(one, two):
        async def end(replica):
            try:
                return await replica.journals.append("ns", "topic:t", [(None, b"end", True)])
            except Refused:
                return None

        ended = await asyncio.gather(*[end(replica) for replica in (one, two) * 5])
        return [seqs for seqs in ended if seqs], await two.follow("topic:t")

    assert play(scenario) == ([[0]], ([(0, b"end")], None))


def test_only_the_holder_of_the_lease_appends_in_its_name(play):
    async def scenario(one):
        told = []

        async def refused(worker):
            with pytest.raises(Fenced) as fenced:
                await one.append("a", 1, worker_id=worker)
            told.append(fenced.value.message)

        await refused("w")
        await one.submit("a")
        await refused("w")
        await one.claim("a")
        await one.append("a", 0, worker_id="w")
        await refused("stranger")
        await one.end("a", state="killed")
        await refused("w")
        return told, await one.seqs("a")

    told, seqs = play(scenario)
    texts = ["is not on this plane", "is queued", "is running as attempt 1 on w", "is cancelled"]
    workers = ["w", "w", "stranger", "w"]
    assert told == [
        f"worker {worker} no longer holds invocation a, which {text}: nothing was changed; "
        "drop this attempt's outcome"
        for worker, text in zip(workers, texts, strict=True)
    ]
    assert seqs == [0]


@pytest.mark.parametrize("keep", [0, 1, 3, 10, 99])
def test_a_trimmed_head_is_no_gap(play, keep):
    async def scenario(one, two):
        await one.append("j", *range(10))
        assert await two.journals.trim("ns", "j", keep) == max(0, 10 - keep)
        assert await one.journals.trim("ns", "j", keep) == 0
        assert await one.journals.append("ns", "j", frames_of(b"ten")) == [10]
        return await two.seqs("j"), await two.seqs("j", since=8)

    kept = list(range(max(0, 10 - keep), 11))
    assert play(scenario) == (kept, [seq for seq in kept if seq > 8])


def test_a_retried_frame_that_was_trimmed_stays_away(play):
    async def scenario(one):
        await one.append("j", *range(5))
        await one.journals.trim("ns", "j")
        assert await one.append("j", *range(6), final=True) == list(range(6))
        return await one.follow("j")

    assert play(scenario) == ([(5, b"5")], None)


def test_trimming_a_whole_journal_leaves_its_end(play):
    async def scenario(one):
        await one.append("j", 0, 1, final=True)
        assert await one.journals.trim("ns", "j") == 2
        assert await one.journals.trim("ns", "unknown") == 0
        with pytest.raises(Refused, match="ended with frame 1"):
            await one.journals.append("ns", "j", frames_of(b"late"))
        return await one.follow("j")

    assert play(scenario) == ([], None)


@pytest.mark.parametrize(
    "name", ["topic:q:news of the day", "a/000000000001", "a%2F1", "ünï/😀" * 100, "x" * 1024, "a0", "~"]
)
def test_journals_of_any_name_keep_apart(play, name):
    async def scenario(one):
        others = [name + "/000000000000", "a", name.replace("/", "%2F") + "%", name[:-1] + "/0"]
        others = [other for other in others if other != name and len(other) <= 1024]
        for other in others:
            await one.append(other, 0, 1, 2)
        await one.append(name, 0, 1, final=True)
        await one.append(name, 0, namespace="n2")
        found = await one.follow(name)
        await one.journals.trim("ns", name)
        await one.rows.forget("ns", [name])
        left = [await one.seqs(other) for other in others] + [await one.seqs(name, namespace="n2")]
        return found, left, await one.append(name, 0)

    found, left, fresh = play(scenario)
    assert found == ([(0, b"0"), (1, b"1")], None)
    assert left == [[0, 1, 2]] * (len(left) - 1) + [[0]]
    assert fresh == [0]


@pytest.mark.parametrize("bad", ["", "a\0b", "\ud800", "x" * 1025])
def test_a_bad_journal_id_is_refused(play, bad):
    async def scenario(one):
        for use in (one.append(bad, 0), one.reading.read("ns", bad), one.journals.trim("ns", bad)):
            with pytest.raises(BadRequest, match="journal id"):
                await use

    play(scenario)


def test_large_frames_are_stored_up_to_the_limit_and_refused_above(play):
    async def scenario(one):
        whole = [(seq, bytes([seq]) * (4 << 20), False) for seq in range(5)]
        await one.journals.append("ns", "j", whole)
        await one.journals.append("ns", "j", [(5, bytes(LARGEST_FRAME), True)])
        with pytest.raises(PayloadTooLarge, match="yield it in parts"):
            await one.journals.append("ns", "other", [(0, b"", False), (1, bytes(LARGEST_FRAME + 1), False)])
        await one.tail.drop("ns/j")
        found, missing = await one.follow("j")
        return [(seq, len(data), data[0]) for seq, data in found], missing, await one.seqs("other")

    sizes = [(n, 4 << 20, n) for n in range(5)] + [(5, LARGEST_FRAME, 0)]
    assert play(scenario) == (sizes, None, [])


def test_a_retry_of_an_end_whose_answer_was_lost_ends_the_journal(play):
    async def scenario(one):
        await one.append("j", 0, 1, final=True)
        await one.database.collection("journals").delete_many({})  # the replica died before it noted the end
        await one.append("j", 0, 1, final=True)
        with pytest.raises(Refused, match="ended with frame 1"):
            await one.append("j", 2)
        return await one.follow("j")

    assert play(scenario) == ([(0, b"0"), (1, b"1")], None)


def test_the_same_append_again_is_one_append(play):
    async def scenario(one, two):
        three = frames_of(b"a", b"b", b"c")
        assert await one.journals.append("ns", "j", three, append_id="x") == [0, 1, 2]
        await one.journals.append("ns", "j", frames_of(b"d"))
        assert await two.journals.append("ns", "j", three, append_id="x") == [0, 1, 2]
        assert await two.journals.append("ns", "j", three, append_id="y") == [4, 5, 6]
        assert await one.journals.append("ns", "other", three, append_id="x") == [0, 1, 2]
        assert await one.journals.append("elsewhere", "j", three, append_id="x") == [0, 1, 2]
        last = [(None, b"e", True)]
        for replica in (one, two, one):
            assert await replica.journals.append("ns", "j", last, append_id="z") == [7]
        return await one.seqs("j")

    assert play(scenario) == [*range(8)]


def test_appends_that_race_with_their_own_repeats_are_stored_once(play):
    async def scenario(one, two):
        asked = [(name, replica) for name, replica in zip("abcdefgh" * 3, [one, two] * 12, strict=True)]
        found = await asyncio.gather(
            *[
                replica.journals.append("ns", "j", frames_of(*[name.encode()] * 3), append_id=name)
                for name, replica in asked
            ]
        )
        told = {(name, tuple(seqs)) for (name, _), seqs in zip(asked, found, strict=True)}
        await one.journals.append("ns", "j", [(None, b"", True)])
        return len(told), await one.seqs("j"), await one.follow("j")

    told, seqs, (frames, _) = play(scenario)
    assert told == 8
    assert seqs == [*range(25)]
    assert sorted(data for _, data in frames[:-1]) == sorted(name.encode() for name in "abcdefgh" * 3)
