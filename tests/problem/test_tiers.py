"""Objectives are spelled out as tiers: one integer each, in the user's order."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.planning.document.goals import goal_rows
from kantopt.problem.restricted import finest_level
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bound_of, measure
from tests.verify.world import job, node, pods, question

NODES = [node("a", gpu=8, rack="x/1"), node("b", gpu=8, rack="x/2")]
JOBS = [
    job("high", pods(gpu=1), priority=9),
    job("low", pods(count=2, minCount=1, gpu=1, on=["a"]), priority=1),
    job("cpu", pods(), priority=1),
]


def names(*objectives: Any) -> list[str]:
    return [tier.name for tier in tiers_of(question(NODES, JOBS, objectives=objectives))]


def test_priorities_go_from_high_to_low_and_spare_members_come_last() -> None:
    assert names("unplaced", "moves") == [
        "unplaced[priority=9, milli-GPU]",
        "displaced[priority=1, milli-GPU]",
        "unplaced[priority=1, milli-GPU]",
        "unplaced[priority=1, CPU-only pods]",
        "unplaced[priority=1, milli-GPU, above minCount]",
        "unplaced[priority=1, CPU-only pods, above minCount]",
        "moves",
    ]


def test_what_is_displaced_counts_once_where_the_model_names_it_first() -> None:
    displaced = "displaced[priority=1, milli-GPU]"
    assert names("displaced", "unplaced", "moves").count(displaced) == 1
    assert names("unplaced", "displaced", "moves").index(displaced) == 1


def test_who_may_evict_nobody_comes_after_evictions() -> None:
    assert names("unplaced", "evictions", "moves") == [
        "unplaced[priority=9, milli-GPU]",
        "displaced[priority=1, milli-GPU]",
        "evictions[priority=1]",
        "unplaced[priority=1, milli-GPU]",
        "unplaced[priority=1, CPU-only pods]",
        "unplaced[priority=1, milli-GPU, above minCount]",
        "unplaced[priority=1, CPU-only pods, above minCount]",
        "moves",
    ]


NEVER = {**JOBS[0], "name": "never", "preemptionPolicy": "Never"}


def divided(*jobs: Any, objectives: Any = ("unplaced", "evictions", "moves")) -> list[str]:
    return [tier.name for tier in tiers_of(question(NODES, jobs, objectives=list(objectives)))]


def test_who_never_evicts_comes_after_evictions_though_equals_may_evict() -> None:
    assert divided(*JOBS, NEVER)[:5] == [
        "unplaced[priority=9, milli-GPU, may preempt]",
        "displaced[priority=1, milli-GPU]",
        "evictions[priority=1]",
        "unplaced[priority=9, milli-GPU, never preempt]",
        "unplaced[priority=1, milli-GPU]",
    ]


def test_who_never_evicts_comes_after_what_only_more_important_jobs_may_displace() -> None:
    jobs = [
        job("first", pods(), priority=9),
        job("never", pods(), priority=7, preemptionPolicy="Never"),
        job("last", pods(), priority=3),
        *(job(f"r{p}", pods(gpu=p % 2, on=["a"]), priority=p) for p in (8, 5, 4, 3, 2)),
    ]
    assert divided(*jobs)[:9] == [
        "unplaced[priority=9, CPU-only pods]",
        "unplaced[priority=8, CPU-only pods]",
        "displaced[priority=5, milli-GPU]",
        "displaced[priority=4, CPU-only pods]",
        "displaced[priority=3, milli-GPU]",
        "unplaced[priority=7, CPU-only pods]",
        "unplaced[priority=5, milli-GPU]",
        "unplaced[priority=4, CPU-only pods]",
        "unplaced[priority=3, milli-GPU]",
    ]
    for others in (jobs[1:], jobs[:2] + jobs[3:]):  # none above it evicts; none below it does
        assert not [name for name in divided(*others)[:5] if "displaced" in name]


def test_jobs_are_told_apart_only_where_some_may_evict_and_some_may_not() -> None:
    alone = job("alone", pods(), priority=9, preemptionPolicy="Never")
    found = divided(*JOBS, alone)
    assert "unplaced[priority=9, milli-GPU]" in found
    assert "unplaced[priority=9, CPU-only pods, never preempt]" in found
    assert "unplaced[priority=9, CPU-only pods, may preempt]" not in found
    for jobs in ((*JOBS[1:], NEVER), JOBS):  # nobody of the priority may evict; all may
        assert not [name for name in divided(*jobs) if "preempt" in name]
    first = divided(*JOBS, NEVER, objectives=["evictions", "unplaced"])
    assert not [name for name in first if "preempt" in name]


def test_jobs_and_spare_members_are_told_apart_as_well() -> None:
    elastic = job("el", pods(count=2, minCount=1, gpu=1), priority=9, preemptionPolicy="Never")
    unplaced = [{"unplaced": {"unit": "job"}}, "unplaced", "evictions"]
    found = [name for name in divided(*JOBS, elastic, objectives=unplaced) if "priority=9" in name]
    assert found == [
        "unplaced[priority=9, jobs, may preempt]",
        "unplaced[priority=9, milli-GPU, may preempt]",
        "unplaced[priority=9, jobs, never preempt]",
        "unplaced[priority=9, milli-GPU, never preempt]",
        "unplaced[priority=9, milli-GPU, never preempt, above minCount]",
    ]


def test_where_nobody_may_evict_the_order_is_the_models() -> None:
    jobs = [{**JOBS[0], "preemptionPolicy": "Never"}, *JOBS[1:]]
    found = tiers_of(question(NODES, jobs, objectives=["unplaced", "evictions"]))
    assert [tier.name for tier in found][:2] == [
        "unplaced[priority=9, milli-GPU]",
        "unplaced[priority=1, milli-GPU]",
    ]


def test_jobs_have_no_spare_members() -> None:
    assert names({"unplaced": {"unit": "job"}}) == [
        "unplaced[priority=9, jobs]",
        "unplaced[priority=1, jobs]",
    ]


def test_priorities_without_running_pods_have_nothing_to_evict() -> None:
    assert names("evictions") == ["evictions[priority=1]"]


def test_pods_evicted_are_left_out_where_cost_has_said_it_already() -> None:
    by_pod = {"evictions": {"by": "all", "unit": "pod"}}
    assert names("evictions", by_pod) == ["evictions[priority=1]"]
    assert names(by_pod, "evictions") == ["evictions[pods]", "evictions[priority=1]"]
    assert names({"evictions": {"unit": "pod"}}) == ["evictions[priority=1, pods]"]
    dear = job("dear", pods(gpu=1, on=["b"], disruptionCost=2), priority=1)
    asked = question(NODES, [*JOBS, dear], objectives=["evictions", by_pod])
    assert [tier.name for tier in tiers_of(asked)] == ["evictions[priority=1]", "evictions[pods]"]


def test_a_goal_counts_what_is_above_it_in_numbers_that_people_write() -> None:
    assert names({"nodes_in_use": {"target": 1}}) == ["nodes_in_use[above goal 1]"]
    assert names({"stranded_gpus": {"target": "1500m"}}) == ["stranded_gpus[above goal 1.5]"]
    assert names({"stranded_gpus": {"target": 10}}) == ["stranded_gpus[above goal 10]"]


@pytest.mark.parametrize("metric", ["evictions", "moves", "disruption_cost"])
def test_one_tier_over_all_priorities_can_be_asked_for(metric: str) -> None:
    assert names({metric: {"by": "all"}}) == [metric]


def test_tier_by_tier_works_through_each_priority() -> None:
    assert names({"each_priority": [{"unplaced": {"unit": "pod"}}, "evictions", "moves"]}) == [
        "unplaced[priority=9, pods]",
        "displaced[priority=1, pods]",
        "evictions[priority=1]",
        "unplaced[priority=1, pods]",
        "moves[priority=1]",
        "unplaced[priority=1, pods, above minCount]",
    ]


def test_the_finest_level_has_domains_of_more_than_one_node() -> None:
    assert finest_level(question(NODES, [])) == 0
    assert finest_level(question(NODES[:1], [])) is None
    three = [*NODES, node("c", rack="x/1")]
    assert finest_level(question(three, [])) == 1


def test_domains_in_use_are_those_of_the_finest_level_and_none_without_levels() -> None:
    running = [job("r", pods(on=["a"]))]
    for nodes, level, used in ((NODES, 0, 1), (NODES[:1], None, 0)):
        instance = question(nodes, running, objectives=["domains_in_use", "moves"])
        tier, _ = tiers_of(instance)
        assert tier.level == level
        assert measure(instance, instance.current, (tier,)) == (used,)
        assert bound_of(tier, instance, {}) <= used
        goals = [goal.text for goal in goal_rows(instance, instance.current)]
        assert goals == ([] if level is None else ["empty domains of block"])
