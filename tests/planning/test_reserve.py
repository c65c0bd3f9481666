"""How much time is kept for the end of a run: by what there is to write."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning import run as runs
from kantopt.planning.options import Options
from kantopt.planning.run import Run
from kantopt.problem.tiers import tiers_of
from tests.verify.world import job, node, pods, question


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Seconds kept for writing what becomes of some jobs; judging is left aside."""
    monkeypatch.setattr(runs, "JUDGINGS", 0)

    def seconds(*jobs: Any) -> float:
        instance = question([node("a", cpu=2000)], jobs, limits={"evictions": 0})
        asked = instance, tiers_of(instance), Options(), Deadline.within(1000.0)
        return Run(*asked, lambda _: None, None).reserve

    return seconds


def test_writing_many_jobs_takes_longer_than_as_many_pods_of_one(kept: Any) -> None:
    """Fourteen thousand jobs of a pod each take 4 to 6 s of a processor in YAML, gangs 1."""
    few, gang = kept(job("one")), kept(job("gang", pods(count=1200)))
    many = kept(*(job(f"one-{k}") for k in range(1200)))
    assert gang - few == pytest.approx(1000 * 0.0001)
    assert many - few == pytest.approx(1000 * 0.0004)
