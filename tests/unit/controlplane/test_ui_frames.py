"""Frames are shown for what they are; whatever their bytes are, showing them is cheap and runs nothing."""

import datetime as dt
import pickle
import subprocess
import sys
import uuid
from decimal import Decimal

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dreamlake.lakeshore import wire
from lakeshore_controlplane.api.ui.frame_text import LARGEST, frame_text, value_text


def shown(body, kind=wire.FrameKind.VALUE):
    return frame_text(wire.WireFrame(kind, 0, body).encode())


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("plain text", "plain text"),
        ({"step": 3, "loss": 0.5, "ok": None}, "{'step': 3, 'loss': 0.5, 'ok': None}"),
        ((1, [2, "x"]), "(1, [2, 'x'])"),
        (b"abc", "<3 B: 61 62 63>"),
        (Decimal("1.50"), "1.50"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (dt.date(2026, 12, 1), "2026-12-01"),
        (1 << 70, str(1 << 70)),
        ([1 << 70_000], "[<a whole number of 70001 bits>]"),
        (np.zeros((3, 224), "float32"), "<array of float32, 3 x 224, 2.69 kB>"),
        (list(range(100)), None),
    ],
)
def test_values_are_shown_in_short(body, text):
    found = shown(body)
    assert found.kind == "value"
    assert found.text == text or (text is None and found.text.endswith("22, 23, ... 76 more]"))


def test_an_image_is_shown_by_its_format_and_size():
    found = shown({"picture": Image.new("RGB", (4, 4))})
    assert found.text.startswith("{'picture': <image PNG, ")


def test_an_error_is_shown_by_type_and_message():
    found = shown({"type": "ValueError", "message": "no", "traceback": "..."}, wire.FrameKind.ERROR)
    assert found == ("error", "ValueError: no")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        pickle.dumps(["not", "a", "frame"]),
        msgpack.packb([99, 0, None, {}]),
        msgpack.packb([0, 0]),
        msgpack.packb([0, 0, {"k": 1}, {}])[:-1],
        b"\xdd\xff\xff\xff\xff" * 200,
        b"x" * (LARGEST + 1),
    ],
)
def test_what_is_no_frame_is_shown_by_its_size_and_first_bytes(data):
    found = frame_text(data)
    assert found.kind == ""
    assert found.text.startswith("<")
    assert len(found.text) < 100


@pytest.mark.parametrize("code", [1, 2, 3, 5, 16, 17, 20, 21, 22, 23, 24, 26, 31, 77])
@given(inner=st.binary(max_size=40))
@settings(max_examples=20)
def test_no_extension_can_break_a_page(code, inner):
    data = msgpack.packb([0, 0, msgpack.ExtType(code, inner), {}])
    assert isinstance(frame_text(data).text, str)


@given(data=st.binary(max_size=300))
def test_any_bytes_are_shown(data):
    assert len(frame_text(data).text) < 4_000


def test_nesting_is_cut():
    body = "end"
    for _ in range(400):
        body = [body]
    assert shown(body).text == "[[[[[[[...]]]]]]]"


def test_long_values_are_cut():
    assert len(shown({"a": "x" * 50_000}).text) < 2_100
    assert len(value_text("y" * 50_000)) < 2_100


def test_showing_arrays_images_and_tensors_loads_none_of_their_packages():
    frames = [
        wire.WireFrame(wire.FrameKind.VALUE, 0, np.zeros(3)).encode(),
        wire.WireFrame(wire.FrameKind.VALUE, 0, Image.new("L", (2, 2))).encode(),
        msgpack.packb([0, 0, msgpack.ExtType(2, msgpack.packb(["float32", [1], b"abcd"])), {}]),
    ]
    code = (
        "import sys; from lakeshore_controlplane.api.ui.frame_text import frame_text; "
        f"print([frame_text(data).text for data in {frames!r}]); "
        "print([name for name in ('numpy', 'PIL', 'torch', 'pickle') if name in sys.modules and name != 'pickle'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    texts, loaded = ran.stdout.strip().splitlines()
    assert texts.startswith("['<array of float64, 3, 24 B>', '<image PNG, ")
    assert "<tensor of float32, 1, 4 B>" in texts
    assert loaded == "[]"
