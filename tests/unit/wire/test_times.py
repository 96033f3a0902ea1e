"""Dates and times keep zone, fold and precision."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dreamlake.lakeshore.wire import WireError, pack, unpack

NEW_YORK = ZoneInfo("America/New_York")
NAMED = dt.timezone(dt.timedelta(hours=-3, microseconds=7), "Here")


@settings(deadline=None)
@given(st.datetimes(timezones=st.none() | st.timezones(), allow_imaginary=True))
def test_datetimes_come_back_identical(moment):
    assert repr(unpack(pack(moment))) == repr(moment)


@pytest.mark.parametrize("fold", [0, 1])
def test_fold_tells_the_two_hours_at_the_end_of_summer_time_apart(fold):
    back = unpack(pack(dt.datetime(2024, 11, 3, 1, 30, fold=fold, tzinfo=NEW_YORK)))
    assert back.fold == fold
    assert back.utcoffset() == dt.timedelta(hours=-4 - fold)


@pytest.mark.parametrize(
    "zone", [None, dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=45)), NAMED, NEW_YORK]
)
def test_every_kind_of_zone_comes_back(zone):
    for value in (dt.datetime(2024, 2, 29, 23, 59, 59, 999_999, zone), dt.time(1, 2, 3, 4, zone, fold=1)):
        back = unpack(pack(value))
        assert (repr(back), back.fold) == (repr(value), value.fold)


@settings(deadline=None)
@given(st.dates() | st.timedeltas() | st.times())
def test_dates_durations_and_naive_times_come_back(value):
    back = unpack(pack({value: value}))
    assert back == {value: value}
    assert type(next(iter(back))) is type(value)


def test_a_zone_of_an_unknown_class_is_refused_with_the_way_out():
    class Odd(dt.tzinfo):
        def utcoffset(self, moment):
            return dt.timedelta(0)

    with pytest.raises(TypeError, match="zoneinfo"):
        pack(dt.datetime(2024, 1, 1, tzinfo=Odd()))


def test_a_subclass_of_datetime_is_refused():
    class Stamp(dt.datetime):
        pass

    with pytest.raises(TypeError, match="register"):
        pack(Stamp(2024, 1, 1))


@pytest.mark.parametrize(
    "code, payload",
    [
        (17, [2024, 13, 1, 0, 0, 0, 0, 0, None]),
        (17, [2024, 1, 1]),
        (17, [2024, 1, 1, 0, 0, 0, 0, 0, [10**15]]),
        (17, [2024, 1, 1, 0, 0, 0, 0, 0, "../../etc/passwd"]),
        (17, [2024, 1, 1, 0, 0, 0, 0, 7, None]),
        (18, "2024-01-01"),
        (19, [25, 0, 0, 0, 0, None]),
        (20, [10**12, 0, 0]),
        (20, [1.5, 0, 0]),
    ],
)
def test_malformed_times_are_wire_errors(code, payload):
    with pytest.raises(WireError):
        unpack(msgpack.packb(msgpack.ExtType(code, pack(payload))))


def test_a_zone_that_this_machine_lacks_is_named():
    with pytest.raises(WireError, match=r"Moon/Base.*tzdata"):
        unpack(msgpack.packb(msgpack.ExtType(17, pack([2024, 1, 1, 0, 0, 0, 0, 0, "Moon/Base"]))))
