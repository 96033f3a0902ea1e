"""Names of payloads that are too large for a row.

A reference says itself how many bytes it stands for and which (sha256), so nothing about it has to be stored, and a
payload that was altered, cut off or put there by somebody else does not fit its name. It is good in one namespace.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Literal, NamedTuple, TypeAlias

from lakeshore_controlplane.faults import NotFound

PayloadKind: TypeAlias = Literal["args", "result", "payload"]

_REF = re.compile(
    r"(args|result|payload)\.(0|[1-9][0-9]{0,14})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{1,140})", re.ASCII
)
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


class PayloadRef(NamedTuple):
    """One payload: ``str`` gives the reference, ``key`` its place in the blob store.

    ``args`` and ``result`` were spilled by the server, a ``payload`` was announced by a client. The sha256 is part
    of the key: a second submission of one id with other content does not overwrite what the first one brought.
    """

    kind: PayloadKind
    size: int
    sha256: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.size}.{self.sha256}.{self.name}"

    def key(self, namespace: str) -> str:
        """Give the blob's key."""
        return f"{namespace}/{self.kind}/i{self.name}/{self.size}.{self.sha256}"


def args_ref(invocation_id: str, data: bytes) -> PayloadRef:
    """Name the arguments of an invocation."""
    return PayloadRef("args", len(data), hashlib.sha256(data).hexdigest(), _name_of(invocation_id))


def result_ref(invocation_id: str, attempt: int, data: bytes) -> PayloadRef:
    """Name the result of one attempt."""
    name = f"{attempt}-{_name_of(invocation_id)}"
    return PayloadRef("result", len(data), hashlib.sha256(data).hexdigest(), name)


def new_payload_ref(size: int, sha256: str) -> PayloadRef:
    """Name a payload that a client will bring."""
    return PayloadRef("payload", size, sha256, secrets.token_hex(16))


def parse_ref(text: object) -> PayloadRef:
    """Take a reference apart. Raises ``NotFound``: whatever else it may be, there is no payload of that name."""
    found = _REF.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise no_such_payload(text)
    kind, size, sha256, name = found.groups()
    return PayloadRef(kind, int(size), sha256, name)  # type: ignore[arg-type]


def is_ref(text: object) -> bool:
    """Tell whether a text could name a payload."""
    return isinstance(text, str) and _REF.fullmatch(text) is not None


def no_such_payload(text: object) -> NotFound:
    """Say that there is none of that name."""
    return NotFound(
        f"no payload {str(text)[:80]!r} in this namespace",
        hint="upload it first, or again: a payload goes with the invocation that it was made for",
    )


def _name_of(invocation_id: str) -> str:
    """Ids are freer than names: one with a slash or a dot goes by its digest."""
    if _PLAIN.fullmatch(invocation_id):
        return invocation_id
    return f"sha-{hashlib.sha256(invocation_id.encode('utf-8', 'surrogatepass')).hexdigest()}"
