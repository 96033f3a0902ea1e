"""How long the elasticity engine's simulator takes for many jobs."""

from __future__ import annotations

from importlib.util import find_spec

ABSENT = "this version has no simulator"


def has_simulator() -> bool:
    """Say whether the elasticity package brings its simulator."""
    return find_spec("lakeshore_elasticity.simulator") is not None
