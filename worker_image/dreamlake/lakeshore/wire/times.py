"""Extensions for the types of ``datetime``: zones and ``fold`` included.

A zone is None, ``[offset in microseconds]``, ``[offset in microseconds, name]`` or the key of a
``zoneinfo.ZoneInfo``. Any other tzinfo class is refused: what it means on another machine is not known.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, TypeAlias

from dreamlake.lakeshore.errors import WireError
from dreamlake.lakeshore.wire.codec import Codec, add

_Zone: TypeAlias = str | list[int | str] | None
_MICROSECOND = dt.timedelta(microseconds=1)


def _encode_zone(zone: dt.tzinfo | None) -> _Zone:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only when a time travels

    if zone is None:
        return None
    if type(zone) is dt.timezone:
        made_from: Any = zone.__reduce__()[1]  # how it was made: with a name of its own, or without
        return [made_from[0] // _MICROSECOND, *made_from[1:]]
    if type(zone) is ZoneInfo and zone.key is not None:
        return zone.key
    raise TypeError(
        f"cannot pack a time whose tzinfo is a {type(zone).__module__}.{type(zone).__qualname__}: "
        "use value.astimezone(datetime.timezone.utc), or a zoneinfo.ZoneInfo with a key"
    )


def _decode_zone(zone: Any) -> dt.tzinfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415

    if zone is None:
        return None
    if isinstance(zone, str):
        try:
            return ZoneInfo(zone)
        except ZoneInfoNotFoundError as missing:
            raise WireError(
                f"this machine has no time zone {zone!r}: install the tzdata package here"
            ) from missing
    offset, *name = zone
    if offset == 0 and not name:
        return dt.UTC
    return dt.timezone(offset * _MICROSECOND, *name)


def _encode_datetime(value: dt.datetime) -> list[Any]:
    day = [value.year, value.month, value.day]
    clock = [value.hour, value.minute, value.second, value.microsecond]
    return [*day, *clock, value.fold, _encode_zone(value.tzinfo)]


def _decode_datetime(fields: Any) -> dt.datetime:
    year, month, day, hour, minute, second, microsecond, fold, zone = fields
    _check_count(fields[:8], 8)
    tz = _decode_zone(zone)
    return dt.datetime(year, month, day, hour, minute, second, microsecond, tz, fold=fold)


def _encode_time(value: dt.time) -> list[Any]:
    clock = [value.hour, value.minute, value.second, value.microsecond]
    return [*clock, value.fold, _encode_zone(value.tzinfo)]


def _decode_time(fields: Any) -> dt.time:
    hour, minute, second, microsecond, fold, zone = fields
    _check_count(fields[:5], 5)
    return dt.time(hour, minute, second, microsecond, _decode_zone(zone), fold=fold)


def _decode_date(fields: Any) -> dt.date:
    _check_count(fields, 3)
    return dt.date(*fields)


def _decode_timedelta(fields: Any) -> dt.timedelta:
    _check_count(fields, 3)
    days, seconds, microseconds = fields
    return dt.timedelta(days=days, seconds=seconds, microseconds=microseconds)


def _check_count(numbers: Any, count: int) -> None:
    if len(numbers) != count or not all(type(number) is int for number in numbers):
        raise ValueError(f"expected {count} integers")


add(Codec(17, dt.datetime, encode=_encode_datetime, decode=_decode_datetime))
add(Codec(18, dt.date, encode=lambda v: [v.year, v.month, v.day], decode=_decode_date))
add(Codec(19, dt.time, encode=_encode_time, decode=_decode_time))
add(Codec(20, dt.timedelta, encode=lambda v: [v.days, v.seconds, v.microseconds], decode=_decode_timedelta))
