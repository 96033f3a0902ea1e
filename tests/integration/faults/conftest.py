"""What the tests of faults share: see ``rig``."""

import sys
from pathlib import Path

import pytest

RIG = Path(__file__).parent / "rig"
sys.path.insert(0, str(RIG))  # the tests submit its bodies by reference

from fault_site import Site  # noqa: E402


@pytest.fixture
def site(tmp_path, mongo_url, mongo_database, monkeypatch):
    monkeypatch.setenv("LAKESHORE_PUSH_CODE", "off")  # the programs have the bodies
    made = Site(tmp_path, mongo_url, mongo_database)
    yield made
    made.close()
