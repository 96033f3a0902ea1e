"""Where a control plane listens: a base URL, taken apart once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from dreamlake.lakeshore.errors import ConfigError

_EXAMPLE = "give one like https://lakeshore.example.com or http://localhost:8080"
_PRINTABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Address:
    """One control plane. ``url`` is for messages, ``prefix`` goes before each path (empty, or ``/below``)."""

    url: str
    host: str
    port: int
    tls: bool
    prefix: str

    @property
    def host_header(self) -> str:
        """Spell the host as the ``Host`` header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def parse_address(url: str) -> Address:
    """Take a base URL apart. Raises ``ConfigError`` for one that names no control plane."""
    if not isinstance(url, str) or not _PRINTABLE.fullmatch(url.strip()):
        raise ConfigError(f"control plane URL {url!r}: {_EXAMPLE}")
    parts = urlsplit(url.strip())
    if "@" in parts.netloc:  # not repeated: what stands there may be a password
        raise ConfigError(
            "the control plane URL holds a user or a password: leave them out, and give the token as "
            "LAKESHORE_CLIENT_TOKEN, --token or HttpDispatch(token=...)"
        )
    if parts.scheme not in ("http", "https"):
        raise ConfigError(f"control plane URL {url!r} has no http:// or https:// in front: {_EXAMPLE}")
    port = _port(parts, url)
    if not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"control plane URL {url!r} is not a scheme, a host and at most a path: {_EXAMPLE}")
    tls = parts.scheme == "https"
    prefix = parts.path.rstrip("/")
    return Address(
        f"{parts.scheme}://{parts.netloc}{prefix}", parts.hostname, port or (443 if tls else 80), tls, prefix
    )


def _port(parts: SplitResult, url: str) -> int | None:
    try:
        return parts.port
    except ValueError as exc:
        raise ConfigError(f"control plane URL {url!r}: its port is not a number from 0 to 65535") from exc


def check_token(token: str | None) -> str | None:
    """Give the token back, or None for an empty one. Raises ``ConfigError``, which does not repeat it."""
    if not token:
        return None
    if not isinstance(token, str) or not _PRINTABLE.fullmatch(token):
        raise ConfigError(
            "the token for the control plane has characters that no token has (a space, a line break?): "
            "set LAKESHORE_CLIENT_TOKEN or --token to the text that was shown when it was made"
        )
    return token
