"""Where the files behind keys live. A directory today; the seam lets a bucket take its place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from dreamlake.lakeshore.errors import KeyContractError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Storage(ABC):
    """Turns locations (normalised paths below the root, such as ``scenes/0007/a.png``) into local paths."""

    @abstractmethod
    def read(self, location: str) -> Path:
        """Give the local path of what is stored at ``location``; it does not exist if nothing is."""

    @abstractmethod
    def write(self, location: str, *, dir: bool = False) -> Path:  # noqa: A002
        """Give a local path to write to, its parent made; with ``dir`` the path itself is a directory."""

    def publish(self, locations: Sequence[str]) -> None:  # noqa: B027 - a directory has nothing to do
        """Make what a body wrote durable, once the body has ended well and before its end is reported."""


class LocalStorage(Storage):
    """A directory. Symbolic links are followed and may not lead out of it."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).absolute()
        self._real_root: Path | None = None

    def __repr__(self) -> str:
        return f"LocalStorage({str(self.root)!r})"

    def read(self, location: str) -> Path:
        """Give the path; raises ``KeyContractError`` when symbolic links lead out of the root."""
        path = self.root / location
        self._confine(path, location)
        return path

    def write(self, location: str, *, dir: bool = False) -> Path:  # noqa: A002
        """Give the path with its parent made; raises ``KeyContractError`` when it cannot be such a path."""
        path = self.root / location
        self._confine(path, location)
        try:
            (path if dir else path.parent).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as exc:
            raise KeyContractError(
                f"key {location!r} needs a directory where {exc.filename} is a file: choose another key"
            ) from None
        if not dir and path.is_dir():
            raise KeyContractError(
                f"key {location!r} is a directory already: choose another key, or pass dir=True"
            )
        return path

    def _confine(self, path: Path, location: str) -> None:
        if self._real_root is None:
            self._real_root = self.root.resolve()
        try:
            real = path.resolve()
            loops = real.is_symlink()  # since Python 3.13 a loop comes back as it is; before, it raised
        except (OSError, RuntimeError):
            loops = True
        if loops:
            raise KeyContractError(f"key {location!r} leads in a circle of links: remove the link loop")
        if real != self._real_root and self._real_root not in real.parents:
            raise KeyContractError(
                f"key {location!r} leads out of the root {self.root} through a symbolic link: "
                "remove the link, or use the real file's directory as root"
            )
