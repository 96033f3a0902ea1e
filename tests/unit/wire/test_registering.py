"""A program's own types."""

from __future__ import annotations

import math
import subprocess
import sys

import msgpack
import pytest

from dreamlake.lakeshore import wire


class Point:
    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((self.x, self.y))


class Point3(Point):
    pass


@pytest.fixture(autouse=True)
def _restore():
    yield
    for table in (wire.codec.by_type, wire.codec.by_code):
        for name in [name for name, codec in table.items() if codec.code >= 32]:
            del table[name]


def point_codec(code: int = 40, kind: type = Point, **options: bool) -> wire.Codec:
    return wire.Codec(code, kind, encode=lambda p: [p.x, p.y], decode=lambda xy: kind(*xy), **options)


def test_a_registered_type_travels_anywhere_a_value_does():
    wire.register(point_codec())
    value = {Point(1, 2): [Point(3, 4), (Point(5, 6),)]}
    assert wire.unpack(wire.pack(value)) == value


def test_its_payload_may_nest_any_packable_value():
    wire.register(point_codec())
    value = Point({1, 2}, Point((1, 2**70), None))
    assert wire.unpack(wire.pack(value)) == value


def test_a_subclass_is_refused_unless_the_codec_takes_it():
    wire.register(point_codec())
    with pytest.raises(TypeError, match="Point3"):
        wire.pack(Point3(1, 2))
    wire.register(point_codec(subclasses=True))
    assert wire.unpack(wire.pack(Point3(1, 2))) == Point(1, 2)


def test_a_reader_without_the_codec_keeps_the_extension():
    wire.register(point_codec())
    data = wire.pack([Point(1, 2)])
    del wire.codec.by_code[40]
    assert wire.unpack(data) == [msgpack.ExtType(40, wire.pack([1, 2]))]


@pytest.mark.parametrize("code", [-1, 0, 1, 5, 16, 31, 128])
def test_reserved_codes_are_refused(code):
    with pytest.raises(ValueError, match="32 to 127"):
        wire.register(point_codec(code))


def test_a_code_belongs_to_one_type_and_a_type_to_one_code():
    wire.register(point_codec(40))
    with pytest.raises(ValueError, match=r"40 already carries .*Point"):
        wire.register(point_codec(40, Point3))
    with pytest.raises(ValueError, match="already travels as extension code 40"):
        wire.register(point_codec(41))


def test_a_built_in_type_cannot_be_taken_over():
    import datetime

    for kind in (tuple, set, datetime.date):
        with pytest.raises(ValueError, match="already travels"):
            wire.register(point_codec(50, kind))


def test_registering_again_replaces_as_a_reloaded_module_does():
    wire.register(point_codec())
    reloaded = type("Point", (Point,), {"__module__": Point.__module__, "__qualname__": Point.__qualname__})
    wire.register(point_codec(40, reloaded))
    assert type(wire.unpack(wire.pack(reloaded(1, 2)))) is reloaded
    with pytest.raises(TypeError):
        wire.pack(Point(1, 2))


def test_an_error_while_decoding_names_the_type():
    wire.register(wire.Codec(40, Point, encode=lambda p: [p.x], decode=lambda x: Point(*x)))
    with pytest.raises(wire.WireError, match="extension 40 does not hold a Point: TypeError"):
        wire.unpack(wire.pack(Point(1, 2)))


def test_an_error_while_encoding_says_why():
    wire.register(wire.Codec(40, Point, encode=lambda p: math.sqrt(-1), decode=Point))
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        wire.pack(Point(1, 2))


def test_a_codec_may_pack_on_its_own():
    wire.register(
        wire.Codec(
            40, Point, encode=lambda p: wire.pack([p.x, p.y]), decode=lambda raw: Point(*wire.unpack(raw))
        )
    )
    value = [Point(Point(1, 2), (3,)), "after"]
    assert wire.unpack(wire.pack(value)) == value


def test_importing_the_codec_loads_no_array_library():
    code = (
        "import sys; from dreamlake.lakeshore import wire; wire.unpack(wire.pack({'a': (1, 2**70, {3})})); "
        "print([n for n in ('numpy', 'torch', 'PIL', 'zoneinfo', 'cloudpickle') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
