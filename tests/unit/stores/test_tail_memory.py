"""A tail in memory: the newest frames of a journal, without a gap and within bounds."""

from lakeshore_controlplane.store.tail.memory import JOURNAL_BYTES, JOURNAL_FRAMES, MemoryTail

MUCH = 1 << 30


def test_a_journal_forgets_its_oldest_frames_beyond_a_thousand(runner):
    async def told():
        tail = MemoryTail()
        await tail.append("j", [(n, b"x") for n in range(3000)])
        assert await tail.read("j", -1, MUCH) == []
        kept = await tail.read("j", 2999 - JOURNAL_FRAMES, MUCH)
        assert [seq for seq, _ in kept] == list(range(3000 - JOURNAL_FRAMES, 3000))

    runner.run(told())


def test_a_journal_keeps_four_mebibytes_at_most(runner):
    async def told():
        tail = MemoryTail()
        for n in range(20):
            await tail.append("j", [(n, bytes(1024 * 1024))])
        kept = await tail.read("j", 16, MUCH)
        assert [seq for seq, _ in kept] == [17, 18, 19]
        await tail.append("j", [(20, bytes(JOURNAL_BYTES))])
        assert tail._used == 0, (
            "a frame above the limit is not kept, and what was before it is no tail any more"
        )

    runner.run(told())


def test_the_whole_keeps_what_was_used_last(runner):
    async def told():
        tail = MemoryTail(total_bytes=100_000)
        for n in range(10):
            await tail.append(f"j{n}", [(0, bytes(15_000))])
            await tail.read("j0", -1, MUCH)
        assert tail._used <= 100_000
        assert [n for n in range(10) if await tail.read(f"j{n}", -1, MUCH)] == [0, 5, 6, 7, 8, 9]

    runner.run(told())


def test_many_empty_appends_leave_nothing(runner):
    async def told():
        tail = MemoryTail()
        for n in range(1000):
            await tail.append(f"j{n}", [])
        assert not tail._journals

    runner.run(told())
