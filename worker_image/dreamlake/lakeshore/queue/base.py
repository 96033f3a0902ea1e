"""What both kinds of queue object know: a name, an order of claims, and the plane behind them."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, cast

from dreamlake.lakeshore.dispatch.names import check_queue
from dreamlake.lakeshore.dispatch.plane import QUEUE_KINDS, Plane, QueueKind
from dreamlake.lakeshore.errors import ConfigError

if TYPE_CHECKING:
    from typing import Self


class BaseQueue:
    """A queue by name. Making one neither connects nor creates anything."""

    def __init__(
        self,
        name: str,
        *,
        dispatch: Plane | None = None,
        kind: QueueKind = "fifo",
        temperature: float = 1.0,
    ) -> None:
        """``kind`` and ``temperature`` are the order in which this object claims."""
        if kind not in QUEUE_KINDS:
            raise ConfigError(f"queue kind {kind!r}: use one of {', '.join(QUEUE_KINDS)}")
        if not (isinstance(temperature, int | float) and math.isfinite(temperature) and temperature > 0):
            raise ConfigError(f"temperature {temperature!r}: use a finite number above 0 (1.0 is usual)")
        self.name = check_queue(name)
        self.kind: QueueKind = kind
        self.temperature = float(temperature)
        self._dispatch = dispatch
        self._worker_id = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @classmethod
    def like(cls, other: BaseQueue) -> Self:
        """Make one of this class for the same queue on the same plane."""
        return cls(other.name, dispatch=other._dispatch, kind=other.kind, temperature=other.temperature)

    @property
    def dispatch(self) -> Plane:
        """The plane given, or the process's default one: the SQLite file under ``LAKESHORE_HOME``."""
        if self._dispatch is not None:
            return self._dispatch
        from dreamlake.lakeshore.home import default_plane  # noqa: PLC0415

        return default_plane()

    @property
    def worker_id(self) -> str:
        """The id under which this object claims, in this process."""
        if not self._worker_id.startswith(f"consumer-{os.getpid()}-"):
            from dreamlake.lakeshore.invocation_id import new_id  # noqa: PLC0415

            self._worker_id = f"consumer-{os.getpid()}-{new_id()}"
        return self._worker_id


def check_on_error(on_error: str) -> None:
    """Raise ``ConfigError`` unless it is ``raise`` or ``return``."""
    if on_error not in ("raise", "return"):
        raise ConfigError(f"on_error {on_error!r}: use 'raise' or 'return'")


def check_timeout(timeout: float | None, *, limited: bool = False) -> None:
    """Raise ``ConfigError`` unless it is a number of seconds, 0 or more; or None, unless a limit is needed."""
    number = cast("object", timeout)
    fits = number is None and not limited
    if not fits and not (isinstance(number, int | float) and number >= 0):
        no_limit = "" if limited else ", or None for no limit"
        raise ConfigError(f"timeout {timeout!r}: use a number of seconds, 0 or more{no_limit}")
