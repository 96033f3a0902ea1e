"""Pillow images keep mode, size, samples and, where it can hold them, their format."""

from __future__ import annotations

import io
import random

import msgpack
import pytest
from PIL import Image

from dreamlake.lakeshore.wire import WireError, pack, unpack

MODES = [
    "1",
    "L",
    "LA",
    "P",
    "RGB",
    "RGBA",
    "CMYK",
    "YCbCr",
    "LAB",
    "HSV",
    "I",
    "F",
    "La",
    "RGBa",
    "RGBX",
    "I;16",
]


def picture(mode: str) -> Image.Image:
    empty = Image.new(mode, (13, 7))
    made = Image.frombytes(mode, empty.size, random.Random(1).randbytes(len(empty.tobytes())))
    if mode == "P":
        made.putpalette(list(range(256)) * 3)
    return made


def stored(image: Image.Image, name: str) -> Image.Image:
    out = io.BytesIO()
    image.save(out, name)
    return Image.open(io.BytesIO(out.getvalue()))


def payload_of(data: bytes) -> list:
    extension = msgpack.unpackb(data)
    assert extension.code == 3
    return msgpack.unpackb(extension.data)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_comes_back_with_its_samples(mode):
    image = picture(mode)
    back = unpack(pack([image]))[0]
    assert (back.mode, back.size, back.tobytes()) == (mode, image.size, image.tobytes())
    assert back.getpalette() == image.getpalette()


def test_an_image_without_a_format_travels_as_png():
    assert payload_of(pack(picture("RGB")))[0] == "PNG"


@pytest.mark.parametrize(
    "name, mode", [("PNG", "RGBA"), ("TIFF", "CMYK"), ("TIFF", "F"), ("WEBP", "RGB"), ("JPEG", "L")]
)
def test_a_known_format_is_kept(name, mode):
    image = stored(picture(mode), name)
    assert payload_of(pack(image))[0] == name
    back = unpack(pack(image))
    assert (back.format, back.mode, back.size) == (name, mode, image.size)
    if name != "JPEG":
        assert back.tobytes() == image.tobytes()


def test_a_jpeg_keeps_its_quantisation():
    image = stored(Image.linear_gradient("L"), "JPEG")
    back = unpack(pack(image))
    assert back.quantization == image.quantization
    worst = max(abs(one - other) for one, other in zip(back.tobytes(), image.tobytes(), strict=True))
    assert worst <= 2


def test_a_format_that_is_not_lossless_falls_back_to_png():
    image = stored(picture("P"), "GIF")
    back = unpack(pack(image))
    assert back.format == "PNG"
    assert back.convert("RGB").tobytes() == image.convert("RGB").tobytes()


def test_transparency_of_a_palette_is_kept():
    image = picture("P")
    image.info["transparency"] = 3
    assert unpack(pack(image)).convert("RGBA").tobytes() == image.convert("RGBA").tobytes()


def test_a_mode_that_cannot_travel_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match="convert"):
        pack(Image.new("PA", (2, 2)))


def test_an_image_without_pixels_is_refused():
    with pytest.raises(TypeError, match="without pixels"):
        pack(Image.new("L", (0, 3)))


@pytest.mark.parametrize(
    "payload",
    [
        ["PNG", b"not a png"],
        ["PNG", b""],
        ["EPS", b"%!PS-Adobe-3.0 EPSF-3.0\n"],
        ["PNG", "text"],
        [None, b""],
        ["RAW:F:999999x999999", b"\0" * 16],
        ["RAW:F:2x2", b"\0" * 5],
        ["RAW:nope:1x1", b"\0"],
        ["RAW:F:0x1", b""],
        ["PNG"],
        7,
    ],
)
def test_a_malformed_image_is_a_wire_error(payload):
    with pytest.raises(WireError):
        unpack(msgpack.packb(msgpack.ExtType(3, pack(payload))))


def test_only_the_named_format_reads_an_image():
    for other in ("GIF", "BMP", "TIFF"):
        out = io.BytesIO()
        picture("L").save(out, other)
        with pytest.raises(WireError):
            unpack(msgpack.packb(msgpack.ExtType(3, pack(["PNG", out.getvalue()]))))


def test_a_truncated_image_shows_when_it_is_unpacked():
    name, data = payload_of(pack(picture("RGB")))
    with pytest.raises(WireError):
        unpack(msgpack.packb(msgpack.ExtType(3, pack([name, data[: len(data) // 2]]))))
