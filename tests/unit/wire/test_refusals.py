"""What would lose its type is refused, with the way out in the message."""

from __future__ import annotations

import collections
import dataclasses
import enum
import pathlib

import numpy as np
import pydantic
import pytest

from dreamlake.lakeshore.wire import pack


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    A = "a"


class Colour(enum.Enum):
    RED = 1


class Text(str):
    __slots__ = ()


class Point(collections.namedtuple("Point", "x y")):
    pass


@dataclasses.dataclass
class Pose:
    x: float


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float


class Model(pydantic.BaseModel):
    x: int


CASES = [
    (Level.LOW, r"\.value.*Level\(value\)"),
    (Name.A, r"\.value.*Name\(value\)"),
    (Colour.RED, r"\.value.*Colour\(value\)"),
    (Point(1, 2), r"tuple\(value\)"),
    (Text("x"), r"str\(value\)"),
    (collections.OrderedDict(a=1), r"dict\(value\)"),
    (collections.defaultdict(list), r"dict\(value\)"),
    (collections.Counter("aab"), r"dict\(value\)"),
    (collections.deque([1]), r"list\(value\)"),
    (range(3), r"list\(value\)"),
    ((i for i in ()), r"list\(value\)"),
    (Pose(1.0), r"dataclasses\.asdict\(value\).*wire\.register\(wire\.Codec\(40, Pose"),
    (Frozen(1.0), r"dataclasses\.asdict\(value\)"),
    (Model(x=1), r"model_dump\(\).*wire\.register\(wire\.Codec\(40, Model"),
    (pathlib.PurePosixPath("a"), r"str\(value\)"),
    (ValueError("x"), r"str\(value\), or raise it"),
    (np.dtype("i4"), r"value\.str"),
    (Pose, "__qualname__"),
    (len, "udf or a thunk"),
    (pack, "udf or a thunk"),
    (object(), r"wire\.register"),
]


@pytest.mark.parametrize("value, way_out", CASES, ids=[type(value).__name__ for value, _ in CASES])
@pytest.mark.parametrize("place", ["alone", "list", "tuple", "key"])
def test_a_type_that_would_be_lost_is_refused_with_the_way_out(value, way_out, place):
    if place == "key":
        if value.__hash__ is None:
            place = "list"
        else:
            value = {value: 1}
    holder = {"list": [1, value], "tuple": (1, (value,))}.get(place, value)
    with pytest.raises(TypeError, match=f"cannot pack a .*{way_out}"):
        pack(holder)


def test_the_suggested_codecs_of_the_messages_work():
    from dreamlake.lakeshore import wire

    wire.register(wire.Codec(101, Pose, encode=vars, decode=lambda d: Pose(**d)))
    wire.register(wire.Codec(102, Model, encode=Model.model_dump, decode=Model.model_validate))
    try:
        sent = {"pose": Pose(1.5), "models": (Model(x=1), Model(x=2))}
        assert wire.unpack(wire.pack(sent)) == sent
    finally:
        for kind, code in ((Pose, 101), (Model, 102)):
            wire.codec.by_type.pop(kind)
            wire.codec.by_code.pop(code)
