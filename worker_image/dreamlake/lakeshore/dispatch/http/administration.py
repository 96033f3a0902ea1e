"""What a control plane has beside the verbs of every plane: tokens, namespaces, orders to workers, decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from dreamlake.lakeshore.dispatch.arguments import check_declaration
from dreamlake.lakeshore.dispatch.http.plane import HttpDispatch
from dreamlake.lakeshore.dispatch.http.requests import Requests, segment
from dreamlake.lakeshore.dispatch.names import check_namespace, check_queue, check_worker
from dreamlake.lakeshore.dispatch.plane import QueueSignals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dreamlake.lakeshore.dispatch.plane import Plane, QueueRecord

PATIENCE_S = 10.0
"""Seconds that a request is tried again for while the control plane is away."""


def administration(plane: Plane, *, patience_s: float = PATIENCE_S) -> Administration | None:
    """Give the rest of a control plane, to be closed before the plane; None for a local plane."""
    return Administration(plane, patience_s=patience_s) if isinstance(plane, HttpDispatch) else None


class Administration:
    """The rest of one control plane, in the namespace and with the token of ``plane``. For any number of threads.

    ``patience_s``: seconds that a request is tried again for while the control plane is away. The maps that it gives
    are those of docs/rest.md; times are seconds on the plane's clock. Verbs raise ``DispatchError``, among other
    things for a token that lacks the scope, and ``ConfigError`` for a name that cannot be one.
    """

    def __init__(self, plane: HttpDispatch, *, patience_s: float = PATIENCE_S) -> None:
        known = plane._requests
        self._requests = known.apart(timeout_s=patience_s)
        # Namespaces lie in no namespace: their paths begin at /v1.
        self._everywhere = Requests(
            known.address, token=known._token, namespace="default", timeout_s=patience_s
        )

    def close(self) -> None:
        """Close every connection, also those that wait; further calls raise ``DispatchError``."""
        self._requests.close()
        self._everywhere.close()

    # -- tokens
    def tokens(self) -> list[dict[str, Any]]:
        """List the namespace's tokens, revoked ones too, without their plaintexts."""
        found: list[dict[str, Any]] = self._requests.get("tokens")["tokens"]
        return found

    def add_token(
        self, name: str, scopes: Sequence[str], *, expires_in_s: float | None = None
    ) -> dict[str, Any]:
        """Make a token; ``token`` of the answer is its plaintext, which is never shown again."""
        asked: dict[str, object] = {"name": name, "scopes": list(scopes)}
        if expires_in_s is not None:
            asked["expires_in_s"] = float(expires_in_s)
        # Made again it would make a second token, whose plaintext nobody has.
        return self._requests.post("tokens", asked, repeat="unless_lost")

    def revoke_token(self, token_id: str) -> None:
        """Revoke a token, for good."""
        _delete(self._requests, f"tokens/{segment(token_id)}")

    # -- namespaces
    def namespaces(self) -> list[dict[str, Any]]:
        """List the namespaces that the token may see: ``{name, created_at}``."""
        found: list[dict[str, Any]] = self._everywhere.get("namespaces")["namespaces"]
        return found

    def add_namespace(self, name: str) -> dict[str, Any]:
        """Make a namespace; one that is there stays as it is."""
        found: dict[str, Any] = self._everywhere.post("namespaces", {"name": check_namespace(name)})[
            "namespace"
        ]
        return found

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace that has nothing in it."""
        _delete(self._everywhere, f"namespaces/{segment(check_namespace(name))}")

    # -- workers
    def workers(self, queue: str | None = None) -> list[dict[str, Any]]:
        """List workers, the oldest first, with what the plane's records leave out: ``queues, stale, cordoned``."""
        asked = "" if queue is None else "?" + urlencode({"queue": check_queue(queue)})
        found: list[dict[str, Any]] = self._requests.get(f"producer/workers{asked}")["workers"]
        return found

    def order_worker(self, worker_id: str, order: str) -> None:
        """Give a worker an order: ``cordon`` (no more claims), ``uncordon`` or ``drain`` (end what runs, and go)."""
        self._requests.post(f"workers/{segment(check_worker(worker_id))}/{order}", {})

    # -- queues
    def queues(self) -> list[dict[str, Any]]:
        """List queues with their admission, elasticity and retention."""
        found: list[dict[str, Any]] = self._requests.get("producer/queues")["queues"]
        return found

    def declare_queue(self, record: QueueRecord, more: Mapping[str, object]) -> dict[str, Any]:
        """Create or change a queue with ``admission``, ``elasticity`` or ``retention_s``; its state is kept."""
        check_declaration(record)
        heat = {"temperature": float(record.temperature)} if record.kind == "boltzmann" else {}
        declared = {"kind": record.kind, "kind_params": heat, **more}
        found: dict[str, Any] = self._requests.put(f"producer/queues/{segment(record.name)}", declared)[
            "queue"
        ]
        return found

    # -- elasticity
    def signals_after(self, queue: str, revision: int | None, wait_s: float) -> QueueSignals:
        """Give a snapshot, after waiting up to ``wait_s`` seconds until its revision is another than ``revision``."""
        asked = "" if revision is None else "?" + urlencode({"since": revision, "wait_s": wait_s})
        raw = self._requests.get(
            f"producer/queues/{segment(check_queue(queue))}/signals{asked}", wait_s=wait_s
        )
        return QueueSignals(**{name: raw[name] for name in QueueSignals.__slots__})

    def elasticity_events(
        self, queue: str, *, limit: int = 50, verbose: bool = False
    ) -> list[dict[str, Any]]:
        """List what was decided about a queue's workers, newest first: ``{kind, reason, before, after, at}``.

        ``verbose``: those that changed nothing too.
        """
        asked = urlencode({"limit": limit, "verbose": int(verbose)})
        path = f"queues/{segment(check_queue(queue))}/elasticity-events?{asked}"
        found: list[dict[str, Any]] = self._requests.get(path)["events"]
        return found

    def add_elasticity_event(
        self, queue: str, kind: str, reason: str, *, before: Mapping[str, object], after: Mapping[str, object]
    ) -> None:
        """Write a decision down. One whose answer is lost may be there or not."""
        told = {"kind": kind, "reason": reason, "before": dict(before), "after": dict(after)}
        path = f"queues/{segment(check_queue(queue))}/elasticity-events"
        self._requests.post(path, told, repeat="unless_lost")


def _delete(requests: Requests, path: str) -> None:
    """Delete what is at a path. Asked again after a lost answer it may be gone already, which is an error."""
    requests.delete(path, repeat="unless_lost")
