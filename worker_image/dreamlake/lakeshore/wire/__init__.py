"""The wire format: values, envelopes and frames as bytes.

>>> from dreamlake.lakeshore import wire
>>> wire.unpack(wire.pack({"pair": (1, 2)}))
{'pair': (1, 2)}

It is msgpack with integer extension codes, so a tagged leaf can never collide with a user's dict. Importing
it loads none of numpy, torch and Pillow.
"""

from __future__ import annotations

from dreamlake.lakeshore.errors import WireError
from dreamlake.lakeshore.wire import plain as plain  # enters the codecs of built-in types
from dreamlake.lakeshore.wire.codec import Codec, register
from dreamlake.lakeshore.wire.envelope import WIRE_VERSION, Envelope
from dreamlake.lakeshore.wire.frames import FrameKind, FrameReader, WireFrame
from dreamlake.lakeshore.wire.packing import pack
from dreamlake.lakeshore.wire.unpacking import unpack

__all__ = [
    "WIRE_VERSION",
    "Codec",
    "Envelope",
    "FrameKind",
    "FrameReader",
    "WireError",
    "WireFrame",
    "pack",
    "register",
    "unpack",
]
