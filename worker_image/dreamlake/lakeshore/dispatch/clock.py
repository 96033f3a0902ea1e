"""The plane's clock: seconds that no change of the wall clock moves, the same for every process.

It is the kernel's time since boot, suspended time included, plus an offset that belongs to the boot and is kept in
the database. The first boot's offset makes it read like Unix time; a later one's never lets it go back.

Leases are measured on a second reading, which stands still while the machine sleeps: no worker can renew then, and
none has failed.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """The readings that the plane's time is made of."""

    def steady(self) -> float:
        """Seconds since this boot, suspended time included."""

    def awake(self) -> float:
        """Seconds since this boot, without those that the machine slept."""

    def wall(self) -> float:
        """Unix time in seconds, as the user set it."""

    def boot(self) -> str:
        """Name this boot: processes with the same name share ``steady``."""


class SystemClock:
    """The machine's own clocks."""

    _source = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def steady(self) -> float:
        """Seconds since this boot, suspended time included."""
        return time.clock_gettime(self._source)

    def awake(self) -> float:
        """Seconds since this boot, without those that the machine slept."""
        return time.monotonic()

    def wall(self) -> float:
        """Unix time in seconds."""
        return time.time()

    def boot(self) -> str:
        """The kernel's random name of this boot; on macOS that of the boot session."""
        try:
            return _BOOT_ID.read_text("ascii").strip()
        except OSError:
            return _boot_session()


def _boot_session() -> str:
    import subprocess  # noqa: PLC0415 - macOS alone needs it

    try:
        found = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"],
            capture_output=True,
            timeout=5,
            check=True,
            text=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip() or "unknown"


def offset_for_boot(clock: Clock, latest: float) -> float:
    """Choose a boot's offset such that the plane's time reads like Unix time and passes ``latest``.

    ``latest``: the greatest time that the plane is known to have shown, 0 for a new one.
    """
    return max(clock.wall(), latest) - clock.steady()
