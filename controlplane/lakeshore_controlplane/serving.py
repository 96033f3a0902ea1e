"""One replica as a process: the application on uvicorn, ended gracefully by SIGTERM."""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
from types import FrameType

import uvicorn

from lakeshore_controlplane.api.app import make_app
from lakeshore_controlplane.api.strict_http import StrictHttp
from lakeshore_controlplane.services.control_plane import ControlPlane
from lakeshore_controlplane.settings import Settings, SettingsError

_BACKLOG = 4096
_KEEP_ALIVE_S = 75
_SEND_BUFFER = 208 * 1024
"""Bytes that the system takes for a client that does not read: left alone, it lets them grow to 4 MiB for each."""


class Server(uvicorn.Server):
    """uvicorn, but long polls are answered as soon as the signal comes, so that a stop does not wait for them."""

    def __init__(self, config: uvicorn.Config, plane: ControlPlane) -> None:
        super().__init__(config)
        self._plane = plane

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the plane, then take requests. Raises what the plane cannot start for, as it is."""
        await self._plane.start()
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is under way, then close the plane."""
        try:
            await super().shutdown(sockets)
        finally:
            await self._plane.close()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; called by the signal handler."""
        self._plane.begin_stop()
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        # Not noted as uvicorn does, which raises it anew at the end: a stop that was asked for is no failure.
        self.should_exit = True


def bind(host: str, port: int) -> socket.socket:
    """Listen. Raises ``SettingsError`` when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as exc:
        listener.close()
        raise SettingsError(
            f"cannot listen on {host}:{port} ({exc.strerror or exc}): choose another --port"
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """Give the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(plane: ControlPlane, settings: Settings) -> Server:
    """Make the server; ``await server.serve(sockets=[listener])`` runs it."""
    config = uvicorn.Config(
        make_app(plane),
        loop="uvloop",
        http=StrictHttp,
        ws="none",
        lifespan="off",  # the plane starts and ends with the server
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(settings.stop_grace_s)),
        backlog=_BACKLOG,
    )
    return Server(config, plane)


async def serve(plane: ControlPlane, settings: Settings, listener: socket.socket) -> int:
    """Serve on ``listener`` until SIGTERM or SIGINT; 0 for a clean end, 1 when it could not start."""
    raise_file_limit()
    server = make_server(plane, settings)
    await server.serve(sockets=[listener])
    return 0 if server.started else 1


def raise_file_limit() -> None:
    """Let the process hold as many connections as it is allowed to: each long poll is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
