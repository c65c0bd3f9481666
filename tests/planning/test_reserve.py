"""How much time is kept for the end of a run: by what there is to write."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kantopt import shares
from kantopt.clock import Deadline
from kantopt.planning.solving import ending
from kantopt.planning.solving import run as runs
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.problem.tiers import tiers_of
from tests.verify.world import job, node, placed, pods, question


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Seconds kept for writing what becomes of some jobs; judging is left aside."""
    monkeypatch.setattr(ending, "JUDGINGS", 0)

    def seconds(*jobs: Any) -> float:
        instance = question([node("a", cpu=2000)], jobs, limits={"evictions": 0})
        asked = instance, tiers_of(instance), Options(), Deadline.within(1000.0)
        return Run(*asked, lambda _: None, None).reserve.seconds

    return seconds


def test_writing_many_jobs_takes_longer_than_as_many_pods_of_one(kept: Any) -> None:
    """Of each job it is told what becomes of it, as well as of each pod."""
    few, gang = kept(job("one")), kept(job("gang", pods(count=1200)))
    many = kept(*(job(f"one-{k}") for k in range(1200)))
    assert gang - few == pytest.approx(1000 * 0.00001)
    assert many - few == pytest.approx(1000 * 0.00004 + 1199 * 0.00015)


def test_time_is_kept_for_each_job_that_runs_and_each_victim(kept: Any) -> None:
    """A plan names by what it is known which jobs run, and for whom each victim goes."""
    running = [job(f"r-{k}", pods(on=["a"])) for k in range(1000)]
    assert kept(job("one"), *running) - kept(job("one")) == pytest.approx(1000 * 0.00015)
    instance = question([node("a", cpu=2000)], [job("gang", pods(count=100))])
    asked = instance, tiers_of(instance), Options(), Deadline.within(1000.0)
    victims = Run(*asked, lambda _: None, None).reserve.seconds
    assert victims - kept(job("gang", pods(count=100))) == pytest.approx(100 * 0.005)


def test_more_time_is_kept_once_the_best_plan_has_more_to_be_ordered(kept: Any) -> None:
    """Searches that are at work meanwhile end the earlier."""
    nodes = [node("a", cpu=2000), node("b", cpu=2000)]
    gang = job("gang", pods(count=1000, on=["a"] * 1000))
    instance = question(nodes, [gang, job("big", pods(cpu=1500))])
    asked = instance, tiers_of(instance), Options(), Deadline.within(1000.0)
    run = Run(*asked, lambda _: None, None)
    run.keep_for_ending(instance.current)
    searching, before = run.searching, run.reserve.seconds
    assert run.incumbent.offer(placed(instance, gang=["b"] * 1000, big=["a"]), "relocation")
    more = 1000 * 0.0003 + 801 * 0.00001 + shares.NAMING_VICTIMS
    more += min(1.0, 12 * run.judging)  # circles of moves may be to untangle
    assert run.reserve.seconds - before == pytest.approx(more)
    assert searching.remaining() <= 1000.0 - run.reserve.seconds


def test_what_only_the_first_judging_works_out_is_not_kept_for_the_ending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or a question of thousands of services had no time for a search."""

    def slowly(instance: Any) -> tuple[()]:
        time.sleep(0.3)
        return ()

    monkeypatch.setattr(runs, "SMALL", -1.0)
    monkeypatch.setattr(runs, "check_standing", slowly)
    instance = question([node("a", cpu=2000)], [job("one")])
    asked = instance, tiers_of(instance), Options(), Deadline.within(1000.0)
    run = Run(*asked, lambda _: None, None)
    assert run.judging < 0.3
    assert run.reserve.seconds < 0.3 * ending.JUDGINGS
