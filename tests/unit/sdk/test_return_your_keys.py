"""A body that wrote files hands back exactly the keys it wrote: four kinds, at home and on a worker."""

import asyncio

import pytest

from dreamlake.lakeshore import RunContext, run, scope
from dreamlake.lakeshore.errors import KeyContractError
from dreamlake.lakeshore.function.body import call_locally, run_invocation


def at_home(fn, root):
    with scope("s", root=root):
        made = call_locally(fn, (), {})
        if hasattr(made, "__anext__"):

            async def collect():
                return [value async for value in made]

            return asyncio.run(collect())
        if hasattr(made, "__await__"):
            return asyncio.run(_await(made))
        return list(made) if hasattr(made, "__next__") else made


async def _await(coroutine):
    return await coroutine


def on_a_worker(fn, root):
    emitted = []
    result = run_invocation(fn, (), {}, context=RunContext(root=root, prefix="s"), emit=emitted.append)
    return emitted or result


PLACES = pytest.mark.parametrize("place", [at_home, on_a_worker])


def body_of(kind, keys, handed_back):
    """Make a body of a kind that writes ``keys`` and hands back ``handed_back``."""

    def write():
        for key in keys:
            run.write(key).write_text(key)

    def sync():
        write()
        return handed_back

    async def coroutine():
        await asyncio.sleep(0)
        write()
        return handed_back

    def generator():
        write()
        yield handed_back

    async def async_generator():
        write()
        await asyncio.sleep(0)
        yield handed_back

    return {"sync": sync, "async": coroutine, "generator": generator, "async_generator": async_generator}[
        kind
    ]


KINDS = pytest.mark.parametrize("kind", ["sync", "async", "generator", "async_generator"])


@PLACES
@KINDS
@pytest.mark.parametrize(
    ("keys", "handed_back"),
    [
        (["a"], "a"),
        (["a"], "./a"),
        (["a", "d/b"], ["d/b", "a"]),
        (["a", "b"], {"x": "a", "y": ["b"]}),
        (["../shared/a"], "../shared/a"),
        ([], "any text"),
        ([], 42),
    ],
)
def test_exactly_the_written_keys_are_fine(tmp_path, place, kind, keys, handed_back):
    result = place(body_of(kind, keys, handed_back), tmp_path)
    assert result == ([handed_back] if "generator" in kind else handed_back)


@PLACES
@KINDS
@pytest.mark.parametrize(
    ("keys", "handed_back", "message"),
    [
        (
            ["a"],
            None,
            "wrote 'a' but {verb}ed None: {verb} the keys it wrote, as a str, list or dict: {verb} 'a'",
        ),
        (["a"], 3, "{verb}ed a value of type int: {verb} the keys it wrote"),
        (["a", "b"], "a", "wrote 'b' but did not {verb} it: {verb} every key it wrote ({verb} ['a', 'b'])"),
        (
            ["a"],
            ["a", "c"],
            "{verb}ed 'c' but wrote 'a': {verb} exactly the keys it wrote ({verb} 'a'), or write",
        ),
        (["a"], [["a"], 3], "{verb}ed a value of type list"),
        (["../a"], "a", "{verb}ed 'a' but wrote '../a'"),
    ],
)
def test_both_mistakes_raise_with_the_fix(tmp_path, place, kind, keys, handed_back, message):
    with pytest.raises(KeyContractError) as caught:
        place(body_of(kind, keys, handed_back), tmp_path)
    assert message.format(verb="yield" if "generator" in kind else "return") in str(caught.value)


@KINDS
def test_the_message_is_the_same_at_home_and_on_a_worker(tmp_path, kind):
    said = []
    for place in (at_home, on_a_worker):
        with pytest.raises(KeyContractError) as caught:
            place(body_of(kind, ["a"], None), tmp_path)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_each_call_has_its_own_ledger(tmp_path):
    def inner():
        run.write("inner.txt")
        return "inner.txt"

    def outer():
        call_locally(inner, (), {})
        run.write("outer.txt")
        return "outer.txt"

    with scope(root=tmp_path):
        assert call_locally(outer, (), {}) == "outer.txt"


def test_concurrent_async_calls_do_not_mix_their_ledgers(tmp_path):
    async def one(key):
        run.write(key)
        await asyncio.sleep(0)
        return key

    async def many():
        return await asyncio.gather(*(call_locally(one, (str(n),), {}) for n in range(20)))

    with scope(root=tmp_path):
        assert asyncio.run(many()) == [str(n) for n in range(20)]


def test_interleaved_generators_do_not_mix_their_ledgers(tmp_path):
    def stream(name):
        for n in range(3):
            run.write(f"{name}{n}")
            yield f"{name}{n}"

    with scope(root=tmp_path):
        pairs = list(zip(call_locally(stream, ("a",), {}), call_locally(stream, ("b",), {}), strict=True))
    assert pairs == [("a0", "b0"), ("a1", "b1"), ("a2", "b2")]


def test_a_generator_may_report_progress_before_its_first_write(tmp_path):
    def stream():
        yield 0.5
        run.write("a")
        yield "a"

    assert at_home(stream, tmp_path) == [0.5, "a"]


def test_a_key_written_in_a_nested_scope_is_returned_as_seen_from_the_call(tmp_path):
    def body():
        with scope("frames"):
            run.write("1.png")
        return "frames/1.png"

    assert on_a_worker(body, tmp_path) == "frames/1.png"


def test_a_key_returned_by_a_driver_outside_any_call_is_not_checked(tmp_path):
    with scope(root=tmp_path):
        run.write("a")
