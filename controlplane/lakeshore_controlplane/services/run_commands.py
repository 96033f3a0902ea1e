"""Commands for workers, made of what they claimed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import NotFound, StoreUnavailable
from lakeshore_controlplane.services.finishing import Finishing, Report
from lakeshore_controlplane.services.leasing import Leasing
from lakeshore_controlplane.services.payloads import Payloads
from lakeshore_controlplane.services.submission import id_of

_ARGS_AGAIN_S = 3.0
"""Seconds until a row whose arguments cannot be had now is claimed again: others run meanwhile."""


class RunCommands:
    """Makes commands to run rows, with the arguments that each needs."""

    def __init__(self, *, payloads: Payloads, finishing: Finishing, leasing: Leasing) -> None:
        self._payloads = payloads
        self._finishing = finishing
        self._leasing = leasing

    async def of(self, namespace: str, worker_id: str, rows: Sequence[Invocation]) -> list[dict[str, Any]]:
        """Make them. A row whose arguments are gone fails; one whose arguments cannot be had now goes back.

        Raises ``StoreUnavailable`` when all went back.
        """
        commands, later = [], None
        for row in rows:
            try:
                commands.append(run_command(row, await self._args(namespace, row)))
            except NotFound:
                await self._finishing.report(namespace, worker_id, [args_lost(row)])
            except StoreUnavailable as refusal:
                later = refusal
                await self._leasing.take_back([row], delay_s=_ARGS_AGAIN_S)
        if later is not None and not commands:
            raise later
        return commands

    async def _args(self, namespace: str, row: Invocation) -> dict[str, Any]:
        ref = row.get("argsRef")
        if ref is not None and self._payloads.served_by_ref(ref):
            return {"args_ref": ref}
        return {"args_blob": await self._payloads.args_of(namespace, row)}


def hibernate(worker_id: str) -> dict[str, Any]:
    """Make the order to drain."""
    return {"id": f"hibernate-{worker_id}", "kind": "hibernate", "body": {"reason": "drain"}}


def args_lost(row: Invocation) -> Report:
    """Make the report that ends a row whose arguments nobody can find any more."""
    error = {
        "type": "PayloadLost",
        "message": "its arguments are not in the blob store any more: submit it again",
    }
    return Report(id_of(row), row["attempt"], "failed", error=error)


def run_command(row: Invocation, args: dict[str, Any]) -> dict[str, Any]:
    """Make the order to run a claimed row; ``args``: its ``args_blob`` or ``args_ref``."""
    inv_id = id_of(row)
    config = row["runConfig"]
    body: dict[str, Any] = {
        "invocation_id": inv_id,
        "queue": config["queue"],
        "function": row.get("function") or {},
        **args,
        "run_config": config,
        "attempt": row["attempt"],
        "crashes": row["crashes"],
        "root_invocation_id": row["rootInvocationId"],
    }
    if config.get("prefix"):
        body["prefix"] = config["prefix"]
    if row.get("parentInvocationId"):
        body["parent_invocation_id"] = row["parentInvocationId"]
    if row.get("codeRepoId"):
        body["code_repo"] = row["codeRepoId"]
    return {"id": f"{inv_id}-{row['attempt']}", "kind": "run", "body": body}
