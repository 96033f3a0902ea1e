"""``run``: the files and the identity of the call that is running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.context.keys import Keys, locate_file, map_keys
from dreamlake.lakeshore.context.run_context import current_context

if TYPE_CHECKING:
    from pathlib import Path

    from dreamlake.lakeshore.context.storage import Storage


class Run:
    """A view of the ``RunContext`` in force, whatever it is at the moment.

    A key is a relative POSIX path below the current scope; ``..`` may climb to a parent scope and never out
    of the root, links resolved. Mistakes raise ``KeyContractError``.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<run: {current_context()!r}>"

    @property
    def invocation_id(self) -> str | None:
        """The durable id of the running invocation, None in a local call."""
        return current_context().invocation_id

    @property
    def attempt(self) -> int:
        """The attempt that runs, from 1; 0 in a local call."""
        return current_context().attempt

    @property
    def prefix(self) -> str:
        """The scope's path below the root, ``""`` for the root itself."""
        return current_context().prefix

    @property
    def root(self) -> Path:
        """The directory that keys are resolved in."""
        return current_context().root

    @property
    def storage(self) -> Storage:
        """What turns locations into paths."""
        return current_context().storage

    def read(self, key: str) -> Path:
        """Give the path of what is stored under ``key``. Nothing exists there if nothing was stored."""
        context = current_context()
        return context.storage.read(locate_file(context.prefix, key))

    def write(self, key: str, *, dir: bool = False) -> Path:  # noqa: A002
        """Give a path to write ``key`` to, its parent directories made.

        With ``dir`` the path itself is made, as a directory. The body must return (a generator: yield) the
        keys that it wrote.
        """
        context = current_context()
        location = locate_file(context.prefix, key)
        path = context.storage.write(location, dir=dir)
        if context.ledger is not None:
            context.ledger.record(location)
        return path

    def read_all(self, keys: Keys) -> Any:
        """Give the paths of a key, or of a list or dict of keys, in the same shape."""
        return map_keys(keys, self.read)

    def write_all(self, keys: Keys, *, dir: bool = False) -> Any:  # noqa: A002
        """Give paths to write a key, or a list or dict of keys, in the same shape."""
        return map_keys(keys, lambda key: self.write(key, dir=dir))


run = Run()
"""The one instance; import it from the package: ``from dreamlake.lakeshore import run``."""
