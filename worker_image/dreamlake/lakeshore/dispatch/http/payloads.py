"""Arguments and results that are too large to go along with a request."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch.http.faults import NotFoundError
from dreamlake.lakeshore.dispatch.http.states import outcome_of
from dreamlake.lakeshore.dispatch.http.steps import Fetch
from dreamlake.lakeshore.dispatch.http.words import segment
from dreamlake.lakeshore.errors import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dreamlake.lakeshore.dispatch.http.requests import Requests
    from dreamlake.lakeshore.dispatch.http.steps import Steps
    from dreamlake.lakeshore.dispatch.plane import Outcome

ALONG = 64 << 20
"""Bytes of one invocation's arguments, or of one result, that go along with a request."""


def bring(requests: Requests, data: bytes) -> str:
    """Announce and upload a payload, and give its reference. Raises ``RefusedError`` for more than is taken."""
    asked = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    found = requests.post("producer/payloads", asked)
    ref, to = str(found["ref"]), found.get("upload")
    if to is not None:
        requests.upload(str(to["url"]), to.get("headers") or {}, data)
    else:
        requests.put_bytes(f"producer/payloads/{segment(ref)}", data)
    return ref


def fetching(told: object) -> Steps[bytes]:
    """Get a payload by its reference, or by ``{ref, size}``. Raises ``NotFoundError``."""
    ref = told.get("ref") if isinstance(told, dict) else told
    data: bytes = yield Fetch(f"producer/payloads/{segment(str(ref))}")
    return data


def outcome_with_result(raw: Mapping[str, Any]) -> Steps[Outcome]:
    """Read how an invocation ended; a result that does not come along is fetched.

    One that the control plane has lost is a failure: the others of the same answer must not wait for it for ever.
    """
    outcome = outcome_of(raw)
    told = raw.get("result_ref")
    if told is None:
        return outcome
    try:
        data = yield from fetching(told)
    except NotFoundError:
        lost = ErrorInfo("PayloadLost", "its result is not in the blob store any more: submit it again")
        return outcome._replace(state="failed", error=lost)
    return outcome._replace(result=data)
