"""A progress bar for people: drawn on a terminal and nowhere else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_EVERY_S = 0.1


class Progress(Protocol):
    """Shows how many items have ended."""

    def show(self, ended: int) -> None:
        """Show the count; cheap when it was shown a moment ago."""

    def close(self) -> None:
        """Leave the last state on the terminal."""


class Silent:
    """Shows nothing."""

    def show(self, ended: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Bar:
    """A ``rich`` bar on stderr. Without a total it counts."""

    def __init__(self, bar: RichProgress, name: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(name, total=total)
        self._shown = 0.0
        self._ended = 0
        bar.start()

    def show(self, ended: int) -> None:
        """Show the count."""
        self._ended = ended
        now = time.monotonic()
        if now - self._shown >= _EVERY_S:
            self._shown = now
            self._bar.update(self._task, completed=ended)

    def close(self) -> None:
        """Show the last count and give the terminal back."""
        self._bar.update(self._task, completed=self._ended)
        self._bar.stop()


def progress_of(stream: TextIO, name: str, total: int | None, *, wanted: bool) -> Progress:
    """Give a bar where it is wanted and ``stream`` is a terminal, else something silent."""
    if not wanted or stream is None or not stream.isatty():
        return Silent()
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as RichProgress  # noqa: PLC0415

    bar = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=stream),
    )
    return Bar(bar, name, total)
