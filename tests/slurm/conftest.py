"""A Slurm for a test, gone without a process left when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.slurm.cluster import Slurm, missing


def started(**options: Any) -> Iterator[Slurm]:
    """Start a Slurm, or skip the test with the reason why none can run here."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with Slurm(**options) as slurm:
        yield slurm
    assert not slurm.processes()


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    """A Slurm of eight nodes below two leaves."""
    yield from started()
