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
    """Of each job it is told what becomes of it, as well as of each pod."""
    few, gang = kept(job("one")), kept(job("gang", pods(count=1200)))
    many = kept(*(job(f"one-{k}") for k in range(1200)))
    assert gang - few == pytest.approx(1000 * 0.00001)
    assert many - few == pytest.approx(1000 * 0.00004 + 1199 * 0.0001)


def test_time_is_kept_for_each_job_that_runs_and_each_victim(kept: Any) -> None:
    """A plan names by what it is known which jobs run, and for whom each victim goes."""
    running = [job(f"r-{k}", pods(on=["a"])) for k in range(1000)]
    assert kept(job("one"), *running) - kept(job("one")) == pytest.approx(1000 * 0.0001)
    instance = question([node("a", cpu=2000)], [job("gang", pods(count=100))])
    asked = instance, tiers_of(instance), Options(), Deadline.within(1000.0)
    victims = Run(*asked, lambda _: None, None).reserve
    assert victims - kept(job("gang", pods(count=100))) == pytest.approx(100 * 0.005)
