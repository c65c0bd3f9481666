"""Shared by all tests; being here, it also makes the ``tests`` package importable."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

# Many tests start Python, which without bytecode compiles all of the package each time: half of
# what such a process takes. Images of containers ask for none to be kept; the tests keep theirs.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Thousands of tests are kept to the end, and whoever looks for garbage looks at all of them: a
# tenth of the time of all tests.
gc.set_threshold(50_000, 20, 100)

# No test asserts speed: an example that takes long on a busy machine is no fault.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    """Load what searches, once. How the program itself loads is tested where it is started."""
    from tests.loaded import load

    load()
