"""Jobs that arithmetic cannot tell apart are counted: nothing that is said changes by it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.reasons import Reasons, first_reason
from kantopt.verify.bounds import alike_jobs as kinds_module
from kantopt.verify.bounds.alike_jobs import first_alike
from kantopt.verify.metrics import bounds, measure
from tests.campaign import some
from tests.generate import random_documents
from tests.verify.world import job, node, pods, question

SEEDS = some(range(60))


def with_twins(seed: int) -> Instance:
    """A random question in which most pending jobs have a few twins, of other names."""
    snapshot, jobs, model = random_documents(seed)
    rng = random.Random(seed)
    twins = [
        each.model_copy(update={"name": f"{each.name}-{i}"})
        for each in jobs.jobs
        for i in range(rng.randint(0, 4))
    ]
    return build_instance(snapshot, (*jobs.jobs, *twins), model)


def test_jobs_that_differ_by_name_are_one_kind() -> None:
    jobs = [
        *(job(f"gang-{i}", pods(count=3, gpu=2), priority=10) for i in range(5)),
        *(job(f"loose-{i}", pods(count=3, gpu=2), priority=10, minCount=0) for i in range(3)),
        job("less", pods(count=3, gpu=2), priority=1),
        job("never", pods(count=3, gpu=2), priority=10, preemptionPolicy="Never"),
        job("runs", pods(count=1, gpu=2, on=["a"]), priority=10),
    ]
    instance = question([node("a", gpu=8), node("b", gpu=8)], jobs)
    kinds = Counter(instance.jobs[j].name.removeprefix("default/") for j in first_alike(instance))
    assert sorted(kinds.items()) == [
        ("gang-0", 5),
        ("less", 1),
        ("loose-0", 3),
        ("never", 1),
        ("runs", 1),
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_are_those_of_jobs_looked_at_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = with_twins(seed)
    tiers = tiers_of(instance)
    values = measure(instance, instance.current, tiers)
    counted = bounds(instance, tiers, values)
    alone = replace(instance)  # another object, of which nothing is remembered
    every = Counter(range(len(instance.jobs)))
    monkeypatch.setattr(kinds_module, "_numbers", lambda _: every)
    assert bounds(alone, tiers, values) == counted


@pytest.mark.parametrize("seed", SEEDS)
def test_reasons_are_those_of_jobs_looked_at_one_by_one(seed: int) -> None:
    instance = with_twins(seed)
    waiting = [
        each.index
        for each in instance.jobs
        if any(not instance.podsets[s].running for s in each.podsets)
    ]
    for j in waiting:
        alone = Reasons(instance, instance.current).of(j)
        assert first_reason(instance, instance.current, j) == alone


def test_some_random_questions_have_twins() -> None:
    assert (
        sum(len(set(first_alike(q))) < len(q.jobs) for q in map(with_twins, SEEDS))
        > len(SEEDS) // 2
    )
