"""Puts the wall clock of a Python process off by ``TEST_CLOCK_SKEW_S`` seconds, as a machine's may be."""

import datetime
import os
import time

_SKEW_S = float(os.environ.get("TEST_CLOCK_SKEW_S", "0"))
_real_time, _real_time_ns = time.time, time.time_ns


class _SkewedDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)


time.time = lambda: _real_time() + _SKEW_S
time.time_ns = lambda: _real_time_ns() + int(_SKEW_S * 1e9)
datetime.datetime = _SkewedDatetime
