"""Which dispatch plane the flags ask for."""

from __future__ import annotations

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.plane import Plane
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.home import home


def open_plane(url: str | None, namespace: str) -> Plane:
    """Open the local plane under ``$LAKESHORE_HOME``. Raises ``ConfigError`` when that cannot be done."""
    if url:
        raise ConfigError(
            "--url (or LAKESHORE_URL) names a control plane, and this version has the local plane only: "
            "leave it out to work on the local plane"
        )
    return Dispatch(str(home() / "dispatch.sqlite"), ns=namespace)
