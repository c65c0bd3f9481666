"""Beside the real kube-scheduler: whom its preemption evicts, and whom we do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kube_preemption import FILE, Beside, compare
from tests.kube_verdicts import records

SAMPLE = 12
"""Every so many dumps one is looked at: ``scripts/kube_preemption.py`` looks at all."""


@pytest.fixture(scope="module")
def told() -> list[Beside]:
    folder = os.environ.get("KANTOPT_DATA")
    if not folder:
        pytest.skip("KANTOPT_DATA names no folder")
    path = Path(folder) / FILE
    if not path.is_file():
        pytest.skip(f"no {FILE} in KANTOPT_DATA")
    return [compare(record, 2.0) for i, record in enumerate(records(path)) if i % SAMPLE == 0]


@pytest.mark.data
def test_nobody_is_evicted_for_a_job_that_the_scheduler_places_without(told: list[Beside]) -> None:
    assert len(told) > 5
    assert [row.pretexts for row in told if row.pretexts] == []


@pytest.mark.data
def test_no_fewer_pods_are_placed_by_priority_where_budgets_are_kept(told: list[Beside]) -> None:
    assert not [row.name for row in told if row.word == "worse" and not row.broken]
