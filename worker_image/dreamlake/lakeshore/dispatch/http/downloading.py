"""Getting a payload from the object store that a control plane points to."""

from __future__ import annotations

from urllib.parse import urlsplit

from dreamlake.lakeshore.dispatch.http.address import parse_address
from dreamlake.lakeshore.dispatch.http.connections import LostError, Pool
from dreamlake.lakeshore.dispatch.http.encoding import plain_bytes
from dreamlake.lakeshore.dispatch.http.faults import unreachable
from dreamlake.lakeshore.errors import ConfigError, DispatchError

_READ_S = 60.0


def download(url: str) -> bytes:
    """Get what lies at a signed URL, which needs no token and must not get ours. Raises ``DispatchError``."""
    parts = urlsplit(url)
    try:
        address = parse_address(f"{parts.scheme}://{parts.netloc}")
    except ConfigError as exc:
        raise DispatchError(
            "the control plane points to a payload at no http:// or https:// address"
        ) from exc
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    request = f"GET {target} HTTP/1.1\r\nHost: {address.host_header}\r\nConnection: close\r\n\r\n"
    pool = Pool(address)
    try:
        answer = pool.exchange(request.encode("latin-1"), _READ_S, repeatable=True)
    except LostError as exc:
        raise unreachable(address, exc.reason) from exc.reason
    finally:
        pool.close()
    if answer.status != 200:
        raise DispatchError(f"the object store at {address.url} gives no payload (status {answer.status})")
    return plain_bytes(answer)
