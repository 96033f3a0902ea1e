"""``lakeshore server``: the control plane of ``python -m lakeshore_controlplane``."""

from __future__ import annotations

import importlib.util
import os
import sys

import typer

from dreamlake.lakeshore.errors import ConfigError

PASS_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""The flags are those of the module, parsed by it: one definition, one help text."""
_NEEDED = ("lakeshore_controlplane", "fastapi", "uvicorn", "uvloop", "pymongo", "redis", "boto3")


def server(context: typer.Context) -> None:
    """Run a control plane (``--embedded``: with everything in one folder, for tests and tries)."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the control plane is not installed here ({', '.join(missing)} missing): "
            "pip install 'lakeshore-kube[server]'"
        )
    sys.stdout.flush()
    # In place of this process, so that signals reach it and nobody stands between it and its supervisor.
    os.execv(sys.executable, [sys.executable, "-m", "lakeshore_controlplane", *context.args])  # noqa: S606
