"""What a running body can know about its call, and the variable that holds it."""

from __future__ import annotations

from contextvars import ContextVar, Token
from pathlib import Path

from dreamlake.lakeshore.context.keys import locate
from dreamlake.lakeshore.context.ledger import Ledger
from dreamlake.lakeshore.context.storage import LocalStorage, Storage


class RunContext:
    """Where a call runs.

    ``invocation_id``: the durable id, None for a local call. ``attempt``: from 1; 0 for a local call.
    ``prefix``: the scope's path below ``root``. ``storage``: what turns keys into paths. ``ledger``: the
    keys that this call wrote, None outside of calls.
    """

    __slots__ = ("attempt", "invocation_id", "ledger", "prefix", "root", "storage")

    def __init__(
        self,
        *,
        root: Path | str | None = None,
        prefix: str = "",
        invocation_id: str | None = None,
        attempt: int = 0,
        storage: Storage | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.root = Path.cwd() if root is None else root if isinstance(root, Path) else Path(root)
        self.prefix = prefix
        self.invocation_id = invocation_id
        self.attempt = attempt
        self.storage = LocalStorage(self.root) if storage is None else storage
        self.ledger = ledger

    def __repr__(self) -> str:
        return (
            f"RunContext(invocation_id={self.invocation_id!r}, attempt={self.attempt}, "
            f"prefix={self.prefix!r}, root={str(self.root)!r})"
        )

    def for_call(self) -> RunContext:
        """Give the same place with a ledger of its own, for one call of a body."""
        return self._copy(self.prefix, Ledger(self.prefix))

    def below(self, sub: str) -> RunContext:
        """Give the child scope ``sub``. What is written there counts for the call it is opened in."""
        return self._copy(locate(self.prefix, sub), self.ledger)

    def _copy(self, prefix: str, ledger: Ledger | None) -> RunContext:
        return RunContext(
            root=self.root,
            prefix=prefix,
            invocation_id=self.invocation_id,
            attempt=self.attempt,
            storage=self.storage,
            ledger=ledger,
        )


_current: ContextVar[RunContext | None] = ContextVar("lakeshore_run_context", default=None)


def active_context() -> RunContext | None:
    """Give the context in force, None outside of calls and scopes."""
    return _current.get()


def current_context() -> RunContext:
    """Give the context in force; outside of calls and scopes one for the working directory."""
    found = _current.get()
    return RunContext() if found is None else found


def enter_context(context: RunContext) -> Token[RunContext | None]:
    """Put a context in force until ``leave_context`` is called with the token."""
    return _current.set(context)


def leave_context(token: Token[RunContext | None]) -> None:
    """Put the earlier context in force again."""
    _current.reset(token)
