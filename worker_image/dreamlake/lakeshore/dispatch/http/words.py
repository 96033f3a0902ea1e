"""How requests are spelled: what all of them have, for one namespace and one token."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from dreamlake.lakeshore.dispatch.http.encoding import GZIP_ABOVE, MSGPACK, compress, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dreamlake.lakeshore.dispatch.http.address import Address


class Words:
    """``root``: the path before every other. ``headers``: those of every request."""

    def __init__(self, address: Address, *, token: str | None, namespace: str) -> None:
        tenant = "" if namespace == "default" else f"/namespaces/{quote(namespace, safe='')}"
        self.root = f"{address.prefix}/v1{tenant}"
        self.headers = {
            "Host": address.host_header,
            "User-Agent": "lakeshore-python",
            "Accept": MSGPACK,
            "Accept-Encoding": "gzip",
        }
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        self._common = " HTTP/1.1\r\n" + "".join(f"{name}: {text}\r\n" for name, text in self.headers.items())

    def raw(self, method: str, path: str, data: bytes | None = None, extra: Mapping[str, str] = {}) -> bytes:
        """Give the bytes of a request to a path below the namespace."""
        head = f"{method} {self.root}/{path}{self._common}"
        if data is None:
            return f"{head}\r\n".encode("latin-1")
        more = "".join(f"{name}: {text}\r\n" for name, text in extra.items())
        return f"{head}{more}Content-Length: {len(data)}\r\n\r\n".encode("latin-1") + data


def packed(body: Mapping[str, object]) -> tuple[bytes, dict[str, str]]:
    """Give a body's bytes, compressed where that is worth it, and the headers that say so."""
    data = encode(body)
    headers = {"Content-Type": MSGPACK}
    smaller = compress(data) if len(data) > GZIP_ABOVE else None
    if smaller is None:
        return data, headers
    return smaller, {**headers, "Content-Encoding": "gzip"}


def segment(text: str) -> str:
    """Spell text as one segment of a path."""
    return quote(text, safe="")
