"""Archives of code over HTTP: announced and brought by producers, fetched by workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dreamlake.lakeshore.dispatch.http.requests import segment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dreamlake.lakeshore.dispatch.http.requests import Requests


def announce(
    requests: Requests, *, remote: str, commit: str, dirty: bool, size: int, sha256: str
) -> dict[str, Any]:
    """Ask whether an archive is there: ``{code_repo_id, exists, upload?: {url, headers}}``.

    Raises ``RefusedError`` where the server keeps no code, or not so much.
    """
    asked = {"remote": remote, "commit": commit, "dirty": dirty, "size": size, "sha256": sha256}
    return requests.post("producer/code-repos", asked)


def upload(requests: Requests, code_repo_id: str, data: bytes, to: Mapping[str, Any] | None) -> None:
    """Bring an archive: to the signed URL of ``to``, else through the server. Raises ``DispatchError``."""
    if to is not None:
        requests.upload(str(to["url"]), to.get("headers") or {}, data)
    else:
        requests.put_bytes(f"producer/code-repos/{segment(code_repo_id)}/archive", data)


def fetch(requests: Requests, code_repo_id: str) -> bytes:
    """Give an archive, from wherever it lies. Raises ``DispatchError``."""
    return requests.fetch(f"daemon/code-repos/{segment(code_repo_id)}/archive")
