"""Bringing and getting large things at the object store that a control plane points to, by signed URLs.

Such a URL needs no token and must not get ours.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dreamlake.lakeshore.dispatch.http.address import parse_address
from dreamlake.lakeshore.dispatch.http.connections import LostError, Pool
from dreamlake.lakeshore.dispatch.http.encoding import plain_bytes
from dreamlake.lakeshore.dispatch.http.faults import unreachable
from dreamlake.lakeshore.dispatch.http.patience import Patience
from dreamlake.lakeshore.errors import ConfigError, DispatchError

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from dreamlake.lakeshore.dispatch.http.answers import Answer

TRANSFER_S = 600.0
"""Seconds that a large thing may take to be sent, and that may pass before the next part of one comes."""
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_PASSING = frozenset({429, 500, 502, 503, 504})


def download(url: str, closing: threading.Event, patience: Patience) -> bytes:
    """Get what lies at a signed URL. Raises ``DispatchError``."""
    answer, store = _exchange("GET", url, closing, patience)
    if answer.status != 200:
        raise DispatchError(f"the object store at {store} gives no payload (status {answer.status})")
    return plain_bytes(answer)


def upload(
    url: str, headers: Mapping[str, str], data: bytes, closing: threading.Event, patience: Patience
) -> None:
    """Put bytes to a signed URL, with exactly the headers that were signed. Raises ``DispatchError``."""
    answer, store = _exchange("PUT", url, closing, patience, headers=headers, data=data)
    if answer.status >= 300:
        raise DispatchError(f"the object store at {store} does not take the upload (status {answer.status})")


def _exchange(
    method: str,
    url: str,
    closing: threading.Event,
    patience: Patience,
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    data: bytes = b"",
) -> tuple[Answer, str]:
    """Send until an answer comes that another try would not change; with it, what to call the store."""
    parts = urlsplit(url)
    try:
        address = parse_address(f"{parts.scheme}://{parts.netloc}")
    except ConfigError as exc:
        raise DispatchError(
            "the control plane points to an object store at no http:// or https:// address"
        ) from exc
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {address.host_header}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if method == "PUT" and not any(name.lower() == "content-length" for name in headers):
        lines.append(f"Content-Length: {len(data)}")
    request = "\r\n".join([*lines, "", ""]).encode("latin-1") + data
    pool = Pool(address)
    try:
        while True:
            try:
                answer = pool.exchange(request, TRANSFER_S, repeatable=True)
            except LostError as exc:
                if not patience.pause(closing):
                    raise unreachable(address, exc.reason) from exc.reason
                continue
            if answer.status not in _PASSING or not patience.pause(closing):
                return answer, address.url
    finally:
        pool.close()
