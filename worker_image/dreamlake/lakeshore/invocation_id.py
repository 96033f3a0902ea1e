"""Invocation ids: ULIDs, 26 characters that sort by the time they were made.

48 bits of Unix time in milliseconds, then 80 random bits, in Crockford's base 32 (github.com/ulid/spec).
Within one process, ids made in the same millisecond, or after the clock stepped back, still increase.
"""

from __future__ import annotations

import os
import threading
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

_lock = threading.Lock()
_last = 0  # the newest id, as a number
_head = ""  # its first 20 characters, which stay the same for a million ids of one millisecond
_head_bits = -1


def new_id() -> str:
    """Make an id that is greater than every earlier one of this process."""
    global _last, _head, _head_bits  # noqa: PLW0603 - one sequence per process is the point
    now = time.time_ns() // 1_000_000 << _RANDOM_BITS
    with _lock:
        number = _last + 1 if now >> _RANDOM_BITS <= _last >> _RANDOM_BITS else now | _random()
        _last = number
        if number >> 30 != _head_bits:
            _head_bits = number >> 30
            _head = _spell(_head_bits, 10)
        head = _head
    low = number & 0x3FFFFFFF
    pairs = _PAIRS
    return head + pairs[low >> 20] + pairs[low >> 10 & 1023] + pairs[low & 1023]


def _random() -> int:
    # The top random bit stays clear, so that counting up within a millisecond cannot run over into the time.
    return int.from_bytes(os.urandom(10), "big") >> 1


def _spell(number: int, pairs: int) -> str:
    return "".join(_PAIRS[number >> 10 * place & 1023] for place in range(pairs - 1, -1, -1))


def _start_afresh() -> None:
    """After a fork, neither repeat the parent's ids nor inherit its held lock."""
    global _lock, _last  # noqa: PLW0603
    _lock = threading.Lock()
    _last = (_last >> _RANDOM_BITS) << _RANDOM_BITS | _random()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)
