"""Frames, and putting them together from pieces."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dreamlake.lakeshore.wire import FrameKind, FrameReader, WireError, WireFrame, pack

BODIES = (
    st.none() | st.integers() | st.text() | st.binary(max_size=300) | st.tuples(st.integers(), st.booleans())
)
FRAMES = st.builds(
    WireFrame,
    st.sampled_from(FrameKind),
    st.integers(0, 2**63),
    BODIES,
    st.dictionaries(st.text(max_size=4), BODIES, max_size=2),
)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def read(reader: FrameReader, *pieces: bytes) -> list[WireFrame]:
    return [frame for piece in pieces for frame in reader.feed(piece)]


def test_kinds_have_their_documented_numbers():
    assert {kind.name: int(kind) for kind in FrameKind} == {
        "VALUE": 0,
        "CHUNK": 1,
        "BEGIN": 2,
        "END": 3,
        "ERROR": 4,
    }


def test_a_frame_is_the_documented_array():
    frame = WireFrame(FrameKind.VALUE, 3, {"x": 1}, {"attempt": 2})
    assert msgpack.unpackb(frame.encode()) == [0, 3, {"x": 1}, {"attempt": 2}]


@pytest.mark.parametrize("kind", FrameKind)
def test_only_end_and_error_end_a_stream(kind):
    assert WireFrame(kind, 0).terminal == (kind.name in {"END", "ERROR"})


@settings(deadline=None)
@given(FRAMES)
def test_a_frame_comes_back_equal(frame):
    back = WireFrame.decode(frame.encode())
    assert back == frame
    assert type(back.kind) is FrameKind
    assert type(back.body) is type(frame.body)


@settings(deadline=None)
@given(st.lists(FRAMES, max_size=8), st.lists(st.integers(0), max_size=20))
def test_any_split_gives_the_frames_of_the_whole(frames, cuts):
    whole = b"".join(frame.encode() for frame in frames)
    reader = FrameReader()
    assert read(reader, *split(whole, cuts)) == frames
    assert reader.pending == 0


def test_byte_by_byte_each_frame_appears_with_its_last_byte():
    frames = [WireFrame(FrameKind.VALUE, seq, list(range(seq * 50))) for seq in range(6)]
    reader, seen, ends = FrameReader(), [], []
    total = 0
    for frame in frames:
        total += len(frame.encode())
        ends.append(total)
    whole = b"".join(frame.encode() for frame in frames)
    for place in range(len(whole)):
        seen.extend((place + 1, frame) for frame in reader.feed(whole[place : place + 1]))
    assert seen == list(zip(ends, frames, strict=True))


def test_an_iterator_that_is_dropped_loses_nothing():
    frames = [WireFrame(FrameKind.VALUE, seq) for seq in range(3)]
    reader = FrameReader()
    first = next(reader.feed(b"".join(frame.encode() for frame in frames)))
    reader.feed(b"")
    assert [first, *reader.feed(b"")] == frames


def test_what_is_pending_shows_that_a_stream_broke_off():
    reader = FrameReader()
    data = WireFrame(FrameKind.VALUE, 0, "x" * 100).encode()
    assert read(reader, data[:-1]) == []
    assert reader.pending == len(data) - 1


def test_frames_before_a_malformed_one_are_given_then_the_error_stays():
    good = WireFrame(FrameKind.VALUE, 0, "good")
    reader = FrameReader()
    frames = reader.feed(good.encode() + b"\xc1" + good.encode())
    assert next(frames) == good
    with pytest.raises(WireError):
        next(frames)
    with pytest.raises(WireError):
        read(reader, good.encode())


@pytest.mark.parametrize(
    "raw, reason",
    [
        ([0, 1, 2], r"\[kind, seq, body, meta\]"),
        ([0, 0, None, {}, 1], r"\[kind, seq, body, meta\]"),
        ({"kind": 0}, r"\[kind, seq, body, meta\]"),
        ([5, 0, None, {}], "kind 5.*upgrade"),
        ([True, 0, None, {}], "kind"),
        ([0, -1, None, {}], "seq"),
        ([0, 1.0, None, {}], "seq"),
        ([0, 0, None, []], "meta"),
    ],
)
def test_what_is_no_frame_is_refused(raw, reason):
    with pytest.raises(WireError, match=reason):
        WireFrame.decode(pack(raw))
    with pytest.raises(WireError, match=reason):
        read(FrameReader(), pack(raw))


def test_a_frame_without_meta_has_an_empty_one():
    assert WireFrame.decode(pack([0, 0, 1, None])).meta == {}


@pytest.mark.parametrize("piece", [100, 4096, 10**6])
def test_a_frame_above_the_limit_is_refused_and_one_at_the_limit_is_not(piece):
    data = WireFrame(FrameKind.VALUE, 0, b"x" * 5000).encode()

    def pieces() -> list[bytes]:
        return [data[start : start + piece] for start in range(0, len(data), piece)]

    assert len(read(FrameReader(max_frame_bytes=len(data)), *pieces())) == 1
    with pytest.raises(WireError, match=f"larger than {len(data) - 1} bytes"):
        read(FrameReader(max_frame_bytes=len(data) - 1), *pieces())


def test_a_frame_above_the_limit_is_refused_before_its_end():
    data = WireFrame(FrameKind.VALUE, 0, b"x" * 500_000).encode()
    with pytest.raises(WireError, match="larger than 1000 bytes"):
        read(FrameReader(max_frame_bytes=1000), data[:2000])


def test_many_frames_may_exceed_the_limit_together():
    data = WireFrame(FrameKind.VALUE, 0, b"x" * 900).encode()
    assert len(read(FrameReader(max_frame_bytes=1000), data * 5000)) == 5000


@settings(deadline=None)
@given(st.lists(st.binary(max_size=50), max_size=5))
def test_arbitrary_streams_give_frames_or_a_wire_error(pieces):
    try:
        read(FrameReader(max_frame_bytes=1000), *pieces)
    except WireError as problem:
        assert str(problem)
