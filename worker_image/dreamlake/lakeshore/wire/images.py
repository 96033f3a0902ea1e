"""Extension for Pillow: ``[format, bytes]``; mode, size and palette are kept.

The image's own format is kept where it can hold the mode: losslessly for PNG, TIFF and WebP; a JPEG is
written with its own quantisation tables again, which may move a sample by a rounding. Every other image
travels as PNG, and a mode that PNG cannot hold as ``RAW:<mode>:<width>x<height>``.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

from PIL import Image

from dreamlake.lakeshore.wire.codec import Codec, add

# What each format gives back in the mode that went in. Decoders that start programs (EPS) are not among them.
_MODES: dict[str, frozenset[str]] = {
    "PNG": frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "I;16"}),
    "TIFF": frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I", "F", "I;16"}),
    "WEBP": frozenset({"RGB", "RGBA"}),
    "JPEG": frozenset({"L", "RGB", "CMYK"}),
}
_SETTINGS: dict[str, dict[str, Any]] = {
    "PNG": {"compress_level": 1},
    "WEBP": {"lossless": True, "exact": True},
    "JPEG": {"quality": "keep"},
}
_RAW = re.compile(r"RAW:([A-Za-z0-9;]{1,8}):(\d{1,6})x(\d{1,6})")
_RAW_MODES = frozenset({"F", "I", "CMYK", "YCbCr", "LAB", "HSV", "La", "RGBa", "RGBX", "I;16B", "I;16L"})


def _encode(image: Image.Image) -> list[Any]:
    if min(image.size) == 0:
        raise TypeError("cannot pack an image without pixels: send its size instead")
    kept = image.format if image.format in _MODES and image.mode in _MODES[image.format] else "PNG"
    if image.mode in _MODES[kept]:
        return [kept, _save(image, kept)]
    if image.mode in _RAW_MODES:
        return [f"RAW:{image.mode}:{image.width}x{image.height}", image.tobytes()]
    raise TypeError(f"cannot pack an image of mode {image.mode}: send image.convert('RGBA')")


def _save(image: Image.Image, kept: str) -> bytes:
    out = BytesIO()
    settings = dict(_SETTINGS.get(kept, {}))
    if "transparency" in image.info and kept in {"PNG", "WEBP"}:
        settings["transparency"] = image.info["transparency"]
    image.save(out, kept, **settings)
    return out.getvalue()


def _decode(payload: Any) -> Image.Image:
    name, data = payload
    if not isinstance(name, str) or not isinstance(data, bytes):
        raise TypeError("expected a format and bytes")
    raw = _RAW.fullmatch(name)
    if raw is not None:
        return _from_raw(raw[1], (int(raw[2]), int(raw[3])), data)
    if name not in _MODES:
        raise ValueError(f"image format {name!r} is not one of {', '.join(_MODES)}")
    image = Image.open(BytesIO(data), formats=[name])
    image.load()  # now, so that damage shows here and not in the body
    return image


def _from_raw(mode: str, size: tuple[int, int], data: bytes) -> Image.Image:
    if mode not in _RAW_MODES:
        raise ValueError(f"image mode {mode!r}")
    # No mode uses less than one byte a pixel, so this bounds what is reserved.
    if min(size) == 0 or size[0] * size[1] > len(data):
        raise ValueError(f"{len(data)} bytes are no {size[0]}x{size[1]} image")
    return Image.frombytes(mode, size, data)


add(Codec(3, Image.Image, encode=_encode, decode=_decode, subclasses=True))
