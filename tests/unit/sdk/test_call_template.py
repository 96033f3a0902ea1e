"""Packing many calls of one function: the same bytes as one by one."""

from hypothesis import given
from hypothesis import strategies as st

from dreamlake.lakeshore import RunConfig, RunContext, wire
from dreamlake.lakeshore.context.run_context import enter_context, leave_context
from dreamlake.lakeshore.function.enveloping import CallTemplate, envelope_of
from dreamlake.lakeshore.invocation_id import new_id


def call_me(x):
    return x


@given(st.one_of(st.integers(-5, 5), st.text(max_size=5), st.binary(max_size=70_000), st.lists(st.none())))
def test_a_template_gives_the_bytes_that_an_envelope_gives(item):
    inv_id = new_id()
    expected = envelope_of(call_me, (item,), {}, inv_id=inv_id).to_bytes()
    assert CallTemplate(call_me).encode(inv_id, wire.pack([item])) == expected


def test_every_size_class_of_arguments_is_framed_right():
    template = CallTemplate(call_me)
    for size in (0, 1, 200, 255, 256, 65_535, 65_536, 70_000):
        data = template.encode("A" * 26, b"x" * size)
        assert wire.Envelope.from_bytes(data).args == b"x" * size


def test_calls_carry_the_scope_and_the_running_invocation(tmp_path):
    token = enter_context(RunContext(root=tmp_path, prefix="scenes/1", invocation_id="P" * 26))
    try:
        made = CallTemplate(call_me).submissions([1, 2], RunConfig())
    finally:
        leave_context(token)
    envelopes = [wire.Envelope.from_bytes(item.envelope) for item in made]
    assert [envelope.prefix for envelope in envelopes] == ["scenes/1"] * 2
    assert [(item.parent, envelope.parent) for item, envelope in zip(made, envelopes, strict=True)] == [
        ("P" * 26, "P" * 26)
    ] * 2
    assert [envelope.arguments() for envelope in envelopes] == [([1], {}), ([2], {})]
    assert [envelope.id for envelope in envelopes] == [item.id for item in made]
