"""Priority, pinned, disruption, limits, required: what may be done to running pods, and must."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from tests.verify.world import HOST, Document, broken, job, node, pods, put, question

STILL_FITS = "1 pod is evicted that would still fit on a: nobody who may evict it needs that room"
NODES = [node("a", cpu=4, rack="x/1"), node("b", cpu=4, rack="x/2")]


def said(instance: Instance, rule: Rule, where: dict[str, Any]) -> list[str]:
    return [f"{v.subject}: {v.message}" for v in check(instance, put(instance, where), [rule])]


def running(name: str = "r", priority: int = 10, cpu: int = 4, **more: Any) -> Document:
    on = more.pop("on", ["a"])
    least = more.pop("minCount", len(on))
    podset = pods(count=more.pop("count", len(on)), minCount=least, cpu=cpu, on=on)
    return job(name, podset, priority=priority, **more)


def pending(name: str = "j", priority: int = 100, cpu: int = 4, **more: Any) -> Document:
    return job(name, pods(cpu=cpu, **more.pop("podset", {})), priority=priority, **more)


# Priority


def test_nothing_evicted_needs_no_reason() -> None:
    assert broken(question(NODES, [running(), pending()]), Rule.PRIORITY, j=["b"]) == []


def test_a_more_important_job_evicts_for_the_room_it_needs() -> None:
    instance = question(NODES, [running(), pending(priority=11)])
    assert broken(instance, Rule.PRIORITY, r=[], j=["a"]) == []


@pytest.mark.parametrize("why", [{"priority": 10}, {"preemptionPolicy": "Never"}])
def test_an_equal_job_or_one_that_never_preempts_may_not(why: Document) -> None:
    instance = question(NODES, [running(), pending(**why)])
    assert broken(instance, Rule.PRIORITY, r=[], j=["a"]) == [
        "job default/r: 1 pod is evicted, and no job that starts may evict it"
    ]


def test_nobody_is_evicted_for_nobody() -> None:
    instance = question(NODES, [running(), pending()])
    assert broken(instance, Rule.PRIORITY, r=[]) != []


def test_a_victim_whose_room_nobody_took_could_have_stayed() -> None:
    instance = question(NODES, [running(), pending()])
    assert broken(instance, Rule.PRIORITY, r=[], j=["b"]) == [f"job default/r: {STILL_FITS}"]


def test_room_that_a_lesser_job_took_does_not_count_as_taken() -> None:
    jobs = [running(), pending(), pending("free-rider", priority=10)]
    instance = question(NODES, jobs)
    assert said(instance, Rule.PRIORITY, {"r": [], "j": ["b"], "free-rider": ["a"]}) == [
        f"job default/r: {STILL_FITS}",
        "node a: 8 of 4 cpu with the victims of priority 10 and higher put back, beside "
        "arrivals that may not evict them",
    ]


def test_one_of_two_victims_that_is_enough_is_all_that_may_go() -> None:
    victims = running(cpu=2, on=["a", "a"], minCount=0)
    instance = question(NODES, [victims, pending(cpu=2)])
    assert broken(instance, Rule.PRIORITY, r=["a"], j=["a"]) == []
    assert broken(instance, Rule.PRIORITY, r=[], j=["a"]) != []


def test_a_gang_goes_as_a_whole_though_half_of_it_would_fit_back() -> None:
    victims = running(cpu=2, on=["a", "a"])
    instance = question(NODES, [victims, pending(cpu=2)])
    assert broken(instance, Rule.PRIORITY, r=[], j=["a"]) == []


def test_a_pod_fits_back_also_where_the_rest_of_its_pod_set_moved_away() -> None:
    """One of two pods is evicted, the other moved from a to b: a has room for the first again."""
    victims = running(cpu=2, on=["a", "a"], minCount=0)
    instance = question(NODES, [victims, pending(cpu=2)])
    assert broken(instance, Rule.PRIORITY, r=["b"], j=["a"]) == [f"job default/r: {STILL_FITS}"]


def test_a_pod_need_not_fit_where_its_like_have_stayed() -> None:
    victims = running(cpu=2, on=["a", "b"], minCount=0)
    instance = question(NODES, [victims, pending(cpu=4)])
    assert broken(instance, Rule.PRIORITY, r=["b"], j=["a"]) == []


def test_a_job_that_is_placed_in_part_evicts_for_the_part() -> None:
    roles = [pods(name, cpu=4, minCount=0) for name in "xy"]
    instance = question(NODES, [running(), job("j", *roles, priority=100)])
    assert said(instance, Rule.PRIORITY, {"r": [], "j/x": ["a"]}) == []


def test_quota_is_room_too() -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 4}]}]
    jobs = [running(queueName="q"), pending(queueName="q")]
    instance = question(NODES, jobs, queues=queues)
    assert broken(instance, Rule.PRIORITY, r=[], j=["b"]) == []


def test_keeping_away_is_room_too() -> None:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "r"}}}
    apart = pending(cpu=1, podset={"podAntiAffinity": [term]})
    instance = question(NODES, [running(cpu=1), apart])
    assert broken(instance, Rule.PRIORITY, r=[], j=["a"]) == []


def test_devices_are_room_too() -> None:
    gpus = [{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}]
    need = [{"class": "gpu", "requests": {"gpu": "600m"}}]
    victim = job("r", pods(devices=need, on=[("a", 0)]), priority=10)
    instance = question(
        [node("a", devices=gpus)], [victim, pending(cpu=1, podset={"devices": need})]
    )
    assert broken(instance, Rule.PRIORITY, r=[], j=[("a", 0)]) == []
    assert broken(instance, Rule.PRIORITY, r=[], j=[("a", 1)]) != []


@pytest.mark.parametrize("mode", ["counts", "off"])
def test_where_only_counts_matter_any_eviction_may_be(mode: str) -> None:
    instance = question(NODES, [running(), pending(priority=1)], rules={"priority": mode})
    assert broken(instance, Rule.PRIORITY, r=[], j=["a"]) == []


# Pinned


def test_pods_that_may_be_evicted_and_moved_are() -> None:
    instance = question(NODES, [running()])
    assert broken(instance, Rule.PINNED, r=[]) == []
    assert broken(instance, Rule.PINNED, r=["b"]) == []


def test_pods_that_are_not_preemptible_may_move_but_not_go() -> None:
    instance = question(NODES, [running(preemptible=False)])
    assert broken(instance, Rule.PINNED, r=["b"]) == []
    assert broken(instance, Rule.PINNED, r=[]) == [
        "job default/r pod set main: 1 of 0 pods evicted"
    ]


def test_pods_that_are_not_movable_may_go_but_not_move() -> None:
    instance = question(NODES, [running(movable=False)])
    assert broken(instance, Rule.PINNED, r=[]) == []
    assert broken(instance, Rule.PINNED, r=["b"]) == [
        "job default/r pod set main: 1 of 0 pods moved"
    ]


def test_a_change_of_device_is_a_move() -> None:
    gpus = [{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}]
    need = [{"class": "gpu", "requests": {"gpu": "600m"}}]
    jobs = [job("r", pods(devices=need, on=[("a", 0)]), movable=False)]
    instance = question([node("a", devices=gpus)], jobs)
    assert broken(instance, Rule.PINNED, r=[("a", 0)]) == []
    assert broken(instance, Rule.PINNED, r=[("a", 1)]) != []


# Disruption


def budget(name: str, allowed: int, of: str = "r") -> Document:
    selector = {"matchLabels": {"job": of}}
    return {"name": name, "selector": selector, "disruptionsAllowed": allowed}


def guarded(*allowed: int, **more: Any) -> Instance:
    budgets = [budget(f"b{i}", k) for i, k in enumerate(allowed)]
    jobs = [running(cpu=1, on=["a"] * 3, minCount=0, **more)]
    return question(NODES, jobs, podDisruptionBudgets=budgets)


def test_pods_under_no_budget_may_all_go() -> None:
    assert broken(guarded(), Rule.DISRUPTION, r=[]) == []


def test_a_budget_bears_as_many_evictions_as_it_allows() -> None:
    assert broken(guarded(2), Rule.DISRUPTION, r=["a"]) == []


def test_a_budget_bears_no_eviction_more() -> None:
    assert broken(guarded(1), Rule.DISRUPTION, r=["a"]) == ["budget default/b0: 2 of 1 evictions"]


def test_a_budget_is_shared_by_all_that_it_selects() -> None:
    shared = {"name": "b", "selector": {}, "disruptionsAllowed": 1}
    jobs = [running("r", cpu=1), running("s", cpu=1)]
    instance = question(NODES, jobs, podDisruptionBudgets=[shared])
    assert broken(instance, Rule.DISRUPTION, r=[]) == []
    assert broken(instance, Rule.DISRUPTION, r=[], s=[]) != []


def test_a_budget_of_one_bears_any_number_of_restarts_in_a_row() -> None:
    assert broken(guarded(1), Rule.DISRUPTION, r=["b"] * 3) == []


def test_an_exhausted_budget_bears_no_restart_but_live_moves() -> None:
    assert broken(guarded(0), Rule.DISRUPTION) == []
    assert broken(guarded(0), Rule.DISRUPTION, r=["a", "a", "b"]) == [
        "budget default/b0: 1 of 0 restarts"
    ]
    assert broken(guarded(0, moveMode="live"), Rule.DISRUPTION, r=["b"] * 3) == []


def test_pods_under_two_budgets_are_not_disrupted_whatever_the_budgets_allow() -> None:
    assert broken(guarded(3, 3), Rule.DISRUPTION, r=["a", "a"]) == [
        "job default/r pod set main: 1 of 0 pods disrupted under several budgets "
        "(default/b0, default/b1)"
    ]
    assert broken(guarded(3, 3), Rule.DISRUPTION, r=["a", "a", "b"]) != []
    assert broken(guarded(3, 3, moveMode="live"), Rule.DISRUPTION, r=["b"] * 3) == []


def test_a_budget_protects_pods_of_its_own_namespace_only() -> None:
    budgets = [{**budget("b", 0), "namespace": "other"}]
    instance = question(NODES, [running()], podDisruptionBudgets=budgets)
    assert broken(instance, Rule.DISRUPTION, r=[]) == []


# Limits


def limited(**limits: int) -> Instance:
    return question(NODES, [running(cpu=1, on=["a"] * 3, minCount=0)], limits=limits)


def test_without_limits_everything_may_go_or_move() -> None:
    assert broken(limited(), Rule.LIMITS, r=[]) == []
    assert broken(limited(), Rule.LIMITS, r=["b"] * 3) == []


def test_limits_count_pods() -> None:
    assert broken(limited(evictions=2), Rule.LIMITS, r=["a"]) == []
    assert broken(limited(evictions=1), Rule.LIMITS, r=["a"]) == ["evictions: 2 of 1 pods"]
    assert broken(limited(moves=2), Rule.LIMITS, r=["a", "b", "b"]) == []
    assert broken(limited(moves=1), Rule.LIMITS, r=["a", "b", "b"]) == ["moves: 2 of 1 pods"]


def test_the_limits_are_two_and_do_not_mix() -> None:
    assert broken(limited(evictions=1, moves=1), Rule.LIMITS, r=["a", "b"]) == []


def test_a_limit_of_none_forbids() -> None:
    assert broken(limited(evictions=0), Rule.LIMITS) == []
    assert broken(limited(evictions=0), Rule.LIMITS, r=["a", "a"]) == ["evictions: 1 of 0 pods"]


# Required


def test_nobody_must_be_placed_unless_required() -> None:
    assert broken(question(NODES, [pending()]), Rule.REQUIRED) == []


def test_a_required_job_is_missed() -> None:
    instance = question(NODES, [pending()], required=["j"])
    assert broken(instance, Rule.REQUIRED, j=["a"]) == []
    assert broken(instance, Rule.REQUIRED) == ["job default/j: 0 of 1 pods placed"]


def test_a_required_gang_is_content_with_its_minimum() -> None:
    jobs = [job("j", pods(count=3, minCount=2))]
    instance = question(NODES, jobs, required=["default/j"])
    assert broken(instance, Rule.REQUIRED, j=["a", "a"]) == []
    assert broken(instance, Rule.REQUIRED, j=["a"]) != []


def test_a_required_job_that_is_no_gang_wants_all_its_pods() -> None:
    instance = question(NODES, [job("j", pods(count=3, minCount=0))], required=["j"])
    assert broken(instance, Rule.REQUIRED, j=["a"] * 3) == []
    assert broken(instance, Rule.REQUIRED, j=["a"] * 2) == ["job default/j: 2 of 3 pods placed"]


def test_a_required_job_that_runs_may_not_be_evicted() -> None:
    instance = question(NODES, [running()], required=["r"])
    assert broken(instance, Rule.REQUIRED) == []
    assert broken(instance, Rule.REQUIRED, r=["b"]) == []
    assert broken(instance, Rule.REQUIRED, r=[]) != []


def test_a_required_gang_below_its_minimum_is_missed_though_it_was_so_before() -> None:
    """What is required is an outcome: that it was not so before is no excuse."""
    instance = question(NODES, [running(on=["a"], cpu=1, count=2, minCount=2)], required=["r"])
    assert said(instance, Rule.REQUIRED, {}) == ["job default/r: 1 of 2 pods placed"]
    assert said(instance, Rule.REQUIRED, {"r+": ["a"]}) == []


def test_a_queue_that_is_above_its_quota_already_is_no_reason_to_evict() -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 2}]}]
    jobs = [running(cpu=4, queueName="q"), pending(cpu=4)]
    instance = question(NODES, jobs, queues=queues)
    assert broken(instance, Rule.PRIORITY, r=[], j=["b"]) == [f"job default/r: {STILL_FITS}"]


@pytest.mark.parametrize(
    ("health", "unready_go", "budgets", "bound"),
    [
        ("ready", True, 1, True),
        ("unready", True, 1, False),
        ("unready", False, 1, True),
        ("unready", True, 2, True),
        ("starting", False, 1, False),
        ("starting", False, 2, False),
    ],
)
def test_a_budget_keeps_what_the_eviction_api_would_ask_it_about(
    health: str, unready_go: bool, budgets: int, bound: bool
) -> None:
    documents = [
        {
            "name": f"b{i}",
            "selector": {"matchLabels": {"job": "r"}},
            "disruptionsAllowed": 0,
            "evictUnready": unready_go,
        }
        for i in range(budgets)
    ]
    subject = job("r", pods(on=["a"], health=health))
    instance = question(NODES, [subject], podDisruptionBudgets=documents)
    assert bool(broken(instance, Rule.DISRUPTION, r=["b"])) == bound


def test_pods_that_are_not_ready_are_no_healthy_ones() -> None:
    """Of three wanted two must stay, and one of the three is not ready: none may go."""
    budget = {"name": "b", "selector": {"matchLabels": {"app": "x"}}, "minAvailable": 2}
    few = [
        job("r", pods(count=2, minCount=0, on=["a", "a"], labels={"app": "x"})),
        job("s", pods(on=["b"], labels={"app": "x"}, health="unready")),
    ]
    instance = question(NODES, few, podDisruptionBudgets=[budget])
    assert broken(instance, Rule.DISRUPTION, r=["a", "b"]) != []
    (first, second) = few
    second["podSets"][0]["health"] = "ready"
    instance = question(NODES, [first, second], podDisruptionBudgets=[budget])
    assert broken(instance, Rule.DISRUPTION, r=["a", "b"]) == []
