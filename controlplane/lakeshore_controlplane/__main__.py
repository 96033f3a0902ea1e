"""``python -m lakeshore_controlplane``: one replica, configured by the environment (see ``settings``)."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import uvloop

from lakeshore_controlplane import logs
from lakeshore_controlplane.assembly import assemble
from lakeshore_controlplane.embedded import DocumentServer, EmbeddedServerError
from lakeshore_controlplane.faults import StoreUnavailable
from lakeshore_controlplane.serving import address_of, bind, serve
from lakeshore_controlplane.settings import Settings, SettingsError, read_settings

log = logging.getLogger("lakeshore.server")


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; 0 for a clean end, 1 when a store is missing, 2 for wrong settings."""
    given = vars(_parser().parse_args(arguments))
    embedded, data = given.pop("embedded"), given.pop("data")
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        if not embedded:
            return _run(read_settings(**chosen))
        with _embedded_stores(Path(data) if data else _default_folder(), chosen) as settings:
            return _run(settings)
    except (SettingsError, EmbeddedServerError) as exc:
        print(f"lakeshore server: {exc}", file=sys.stderr)
        return 2
    except StoreUnavailable as exc:
        print(
            f"lakeshore server: {exc.message}: is LAKESHORE_MONGO_URL right, and does it run?",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        return 0


class _Parser(argparse.ArgumentParser):
    """One that says what is wrong with a flag in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see `{self.prog} --help`)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lakeshore server",
        description="Run a control plane until SIGTERM or Ctrl-C. The environment names its stores "
        "(LAKESHORE_MONGO_URL and others: docs/command-line.md), or --embedded starts what it needs.",
    )
    parser.add_argument("--host", help="address to listen on (LAKESHORE_HOST, default 127.0.0.1)")
    parser.add_argument(
        "--port", type=int, help="port to listen on (LAKESHORE_PORT, default 8750; 0: a free one)"
    )
    parser.add_argument("--log-format", choices=("json", "text"), help="LAKESHORE_LOG_FORMAT, default json")
    parser.add_argument(
        "--auth", choices=("tokens", "off"), help="LAKESHORE_AUTH, default tokens; embedded: off"
    )
    parser.add_argument(
        "--embedded",
        action="store_true",
        help="for tests and tries on one machine: start a document server (mongod, or SecantusDB's secantusd-rs) as "
        "a child process, keep everything in one folder, ask for no tokens",
    )
    parser.add_argument(
        "--data", metavar="FOLDER", help="folder of --embedded (default: server in the Lakeshore home)"
    )
    return parser


def _default_folder() -> Path:
    home = os.environ.get("LAKESHORE_HOME")
    return (Path(home).expanduser() if home else Path.home() / ".lakeshore") / "server"


@contextmanager
def _embedded_stores(folder: Path, chosen: dict[str, Any]) -> Iterator[Settings]:
    """Start the document server; what the environment says about stores is for real deployments."""
    with DocumentServer(folder) as server:
        chosen = {"auth": "off", "log_format": "text"} | chosen
        settings = read_settings(**chosen)
        if settings.auth == "off" and settings.host not in {"127.0.0.1", "::1", "localhost"}:
            raise SettingsError(
                f"--host {settings.host} would let everybody in, as --embedded asks for no tokens: add --auth tokens"
            )
        yield settings.model_copy(
            update={
                "mongo_url": type(settings.mongo_url)(server.url),
                "redis_url": None,
                "blobs": "folder",
                "blob_folder": str(folder / "blobs"),
            }
        )


def _run(settings: Settings) -> int:
    logs.set_up(settings.log_level, settings.log_format)
    listener = bind(settings.host, settings.port)
    with listener:
        print(f"lakeshore server: listens on {address_of(listener)}", flush=True)
        return uvloop.run(_serve(settings, listener))


async def _serve(settings: Settings, listener: Any) -> int:
    plane = assemble(settings)
    return await serve(plane, settings, listener)


if __name__ == "__main__":
    sys.exit(main())
