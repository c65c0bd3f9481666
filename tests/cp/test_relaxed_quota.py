"""Relaxed bounds where queues use more than their quota: who comes makes others go."""

from __future__ import annotations

import pytest

from kantopt.problem.tiers import tiers_of
from tests.agreement.test_quotas_beyond import is_overdrawn, overdrawn
from tests.campaign import some
from tests.cp.test_relaxed_bounds import at_best, proved
from tests.oracle import best
from tests.verify.world import job, node, pods, question


@pytest.mark.parametrize("cohort", ["", "c"])
def test_as_many_go_as_a_queue_is_beyond_its_quota(cohort: str) -> None:
    cpu = {"name": "cpu", "nominalQuota": 3}
    queues = [{"name": "q", "cohort": cohort, "resources": [cpu]}]
    running = [job(f"r{n}", pods(cpu=2, on=[n]), queueName="q") for n in "abc"]
    jobs = [*running, job("w", pods(cpu=1), queueName="q", priority=9)]
    objectives = [{"unplaced": {"by": "priority", "unit": "pod"}}]
    instance = question([node(n) for n in "abc"], jobs, queues=queues, objectives=objectives)
    assert list(at_best(instance).values()) == [(0, 0), (2, 2)]


def test_no_bound_is_above_the_optimum_where_queues_are_beyond_their_quota() -> None:
    seeds, asked = some(range(150)), 0
    for seed in seeds:
        instance = overdrawn(seed)
        value, _ = best(instance)
        if value is None or not is_overdrawn(instance):
            continue
        asked += 1
        for i, (low, v) in enumerate(zip(proved(instance, value), value, strict=True)):
            assert low <= v, (seed, tiers_of(instance)[i].name)
    assert asked >= len(seeds) / 6
