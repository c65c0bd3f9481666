"""Bounds by arithmetic: never above the optimum, and tight where it is easy."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem import node_room
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds import room
from kantopt.verify.metrics import bounds, measure, unplaced
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance, without
from tests.oracle import best
from tests.verify.world import Document, job, node, pods, question

SEEDS = some(range(120))
SEEDS_WITHOUT_A_RULE = some(range(60))


def bound_at_best(instance: Instance) -> dict[str, tuple[int, int]]:
    """Bound and optimum of each tier, by name."""
    value, _ = best(instance)
    assert value is not None
    tiers = tiers_of(instance)
    found = bounds(instance, tiers, value)
    return {t.name: (low, v) for t, low, v in zip(tiers, found, value, strict=True)}


@pytest.mark.parametrize("seed", SEEDS)
def test_no_bound_is_above_the_optimum(seed: int) -> None:
    instance = random_instance(seed)
    value, _ = best(instance)
    if value is not None:
        tiers = tiers_of(instance)
        assert all(low <= v for low, v in zip(bounds(instance, tiers, value), value, strict=True))


@pytest.mark.parametrize("rule", list(Rule))
def test_no_bound_leans_on_a_rule_that_is_off(rule: Rule) -> None:
    for seed in SEEDS_WITHOUT_A_RULE:
        instance = without(random_instance(seed), rule)
        value, _ = best(instance)
        if value is None:
            continue
        tiers = tiers_of(instance)
        for tier, low, v in zip(tiers, bounds(instance, tiers, value), value, strict=True):
            assert low <= v, (seed, tier.name)


def test_bounds_hold_for_plans_at_values_above_the_optimum_too() -> None:
    """A bound given what doing nothing leaves above: the best plan is no worse in those tiers."""
    for seed in SEEDS[:40]:
        instance = random_instance(seed)
        value, _ = best(instance)
        tiers = tiers_of(instance)
        slack = measure(instance, instance.current, tiers)
        if value is not None and all(v <= s for v, s in zip(value, slack, strict=True)):
            found = bounds(instance, tiers, slack)
            assert all(low <= v for low, v in zip(found, value, strict=True)), seed


def asked(nodes: list[Any], jobs: list[Any], **more: Any) -> tuple[int, int]:
    """Bound and optimum of the first tier."""
    return next(iter(bound_at_best(question(nodes, jobs, **more)).values()))


def test_gpus_beyond_all_that_there_are_stay_unplaced() -> None:
    jobs = [job(name, pods(cpu=0, gpu=4)) for name in "abc"]
    assert asked([node("n", gpu=8)], jobs) == (4000, 4000)


def test_gpus_that_the_tiers_above_have_are_gone() -> None:
    jobs = [
        job("high", pods(cpu=0, gpu=6), priority=2),
        job("low", pods(cpu=0, gpu=4), priority=1),
    ]
    assert bound_at_best(question([node("n", gpu=8)], jobs)) == {
        "unplaced[priority=2, milli-GPU]": (0, 0),
        "unplaced[priority=1, milli-GPU]": (4000, 4000),
    }


def test_members_above_minima_have_what_those_of_higher_priority_leave() -> None:
    """Twelve GPUs: one for each minimum, eight more for high, so two for low, which asks for 7."""
    high = pods(count=9, minCount=1, cpu=0, gpu=1)
    low = pods(count=8, minCount=1, cpu=0, gpu=1)
    jobs = [job("high", high, priority=9), job("low", low, priority=1)]
    found = bound_at_best(question([node("a", gpu=12)], jobs))
    assert found["unplaced[priority=9, milli-GPU, above minCount]"] == (0, 0)
    assert found["unplaced[priority=1, milli-GPU, above minCount]"] == (5000, 5000)


def test_gpus_that_cannot_be_placed_keep_their_jobs_unplaced() -> None:
    """Four jobs want 4, 2, 2 and 1 of 4 GPUs: 5 stay out, at least two jobs (4 + 1, or 4 + 2)."""
    wishes = [job(f"j{i}", pods(gpu=gpu)) for i, gpu in enumerate((4, 2, 2, 1))]
    objectives = ["unplaced", {"unplaced": {"unit": "job"}}]
    found = bound_at_best(question([node("a", gpu=4)], wishes, objectives=objectives))
    assert found["unplaced[priority=0, milli-GPU]"] == (5000, 5000)
    assert found["unplaced[priority=0, jobs]"] == (2, 2)


def test_a_gang_that_fits_nowhere_is_hopeless() -> None:
    jobs = [job("j", pods(count=3, cpu=3))]
    by_pods = [{"unplaced": {"unit": "pod"}}]
    by_jobs = [{"unplaced": {"unit": "job"}}]
    nodes = [node("a", cpu=5), node("b", cpu=5)]
    assert asked(nodes, jobs, objectives=by_pods) == (3, 3)
    assert asked(nodes, jobs, objectives=by_jobs) == (1, 1)


def test_pods_that_stand_for_themselves_are_hopeless_one_by_one() -> None:
    jobs = [job("j", pods(count=3, cpu=3, minCount=0))]
    nodes = [node("a", cpu=5), node("b", cpu=5)]
    assert asked(nodes, jobs, objectives=[{"unplaced": {"unit": "pod"}}]) == (1, 1)


def test_pods_that_need_two_zones_each_are_bounded_by_the_smaller_zone() -> None:
    """Zones of 6 cores and of 1: seven cores would do for three pods, but only one spans both."""
    zones = [{"class": "numa", "capacity": {"cpu": k}} for k in (6, 1)]
    need = [{"class": "numa", "count": 2, "requests": {"cpu": 1}}]
    jobs = [job("j", pods(count=3, cpu=0, minCount=0, devices=need))]
    objectives = [{"unplaced": {"unit": "pod"}}]
    assert asked([node("a", devices=zones)], jobs, objectives=objectives) == (2, 2)


def test_a_gang_too_big_for_every_rack_it_requires_is_hopeless() -> None:
    request: Document = {"topologyRequest": {"required": "rack"}}
    nodes = [node("a", cpu=2, rack="x/1"), node("b", cpu=2, rack="x/2")]
    objectives = [{"unplaced": {"unit": "pod"}}]
    assert asked(nodes, [job("j", pods(count=3, **request))], objectives=objectives) == (3, 3)
    assert asked(nodes, [job("j", pods(count=3))], objectives=objectives) == (0, 0)


def test_a_gang_beyond_its_queue_is_hopeless() -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 2}]}]
    jobs = [job("j", pods(count=3), queueName="q")]
    objectives = [{"unplaced": {"unit": "pod"}}]
    assert asked([node("a")], jobs, objectives=objectives, queues=queues) == (3, 3)


def test_gpus_beyond_all_that_is_wanted_stay_free() -> None:
    jobs = [job("j", pods(cpu=0, gpu=3))]
    assert asked([node("n", gpu=8)], jobs, objectives=["allocation"]) == (5000, 5000)


def test_nodes_of_pods_that_can_neither_go_nor_move_stay_in_use() -> None:
    jobs = [
        job("r", pods(on=["a"]), preemptible=False, movable=False),
        job("s", pods(on=["b"])),
    ]
    nodes = [node("a"), node("b")]
    assert asked(nodes, jobs, objectives=["nodes_in_use"]) == (1, 1)


def test_emptying_nodes_takes_the_pods_of_the_emptiest() -> None:
    jobs = [
        job("r", pods(count=3, on=["a", "a", "b"])),
        job("s", pods(on=["c"]), movable=False, preemptible=False),
    ]
    objectives: list[Any] = [{"nodes_in_use": {"target": 2}}, "moves", "disruption_cost"]
    instance = question(
        [node("a"), node("b"), node("c")], jobs, objectives=objectives, limits={"evictions": 0}
    )
    tiers = tiers_of(instance)
    assert bounds(instance, tiers, [0, 1, 1]) == (0, 1, 1)
    assert bounds(instance, tiers, [1, 0, 0]) == (0, 0, 0)


def test_a_metric_without_arithmetic_has_the_bound_0() -> None:
    instance = question([node("a", gpu=8)], [job("r", pods(gpu=8, on=["a"]))])
    for metric in (Metric.FRAGMENTED_NODES, Metric.EVICTIONS, Metric.MOVES):
        tiers = tiers_of(question([node("a")], [job("r", pods(on=["a"]))], objectives=[metric]))
        assert bounds(instance, tiers, [9] * len(tiers)) == (0,) * len(tiers)


def test_a_pod_that_runs_without_its_devices_takes_nothing_of_what_nodes_offer() -> None:
    share = [{"class": "gpu", "requests": {"gpu": "600m"}}]
    stays = job("r", pods(devices=share, on=["a"]), movable=False, priority=50)
    wants = job("j", pods(gpu=2))
    found = bound_at_best(question([node("a", gpu=2)], [stays, wants]))
    assert found["unplaced[priority=0, milli-GPU]"] == (0, 0)


def test_one_overcommitted_gpu_resource_leaves_the_other_its_room() -> None:
    """Two pods stand on the one nvidia GPU; the amd GPU is free all the same."""
    gpus = {"nvidia.com/gpu": 1, "amd.com/gpu": 1}
    full = job("r", pods(count=2, cpu=0, gpu=1, on=["a", "a"]), movable=False, preemptible=False)
    wants = job("j", pods(cpu=1, requests={"cpu": 1, "amd.com/gpu": 1}))
    found = bound_at_best(question([node("a", offers=gpus)], [full, wants]))
    assert found["unplaced[priority=0, milli-GPU]"] == (0, 0)


def test_one_overfull_device_leaves_the_others_their_room() -> None:
    share = [{"class": "gpu", "requests": {"gpu": "700m"}}]
    full = job("r", pods(count=2, devices=share, on=[("a", 0), ("a", 0)]), movable=False)
    wants = job("j", pods(devices=[{"class": "gpu", "requests": {"gpu": 1}}]))
    devices = [{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}]
    found = bound_at_best(question([node("a", devices=devices)], [full, wants]))
    assert found["unplaced[priority=0, milli-GPU]"] == (0, 0)


@pytest.mark.parametrize(
    ("podset", "rules"),
    [({"tolerations": [{"operator": "Exists"}]}, {}), ({}, {"eligibility": "off"})],
)
def test_odd_pods_that_a_cordon_does_not_keep_out_leave_whole_nodes(
    podset: Document, rules: Document
) -> None:
    """Three of four GPUs in use on a node that counts are none once they are on a cordoned one."""
    nodes = [node("a", gpu=4), node("b", gpu=4, unschedulable=True)]
    jobs = [job("r", pods(gpu=3, on=["a"], **podset))]
    objectives = ["fragmented_nodes", "stranded_gpus"]
    instance = question(nodes, jobs, objectives=objectives, rules=rules)
    tiers = tiers_of(instance)
    moved = instance.current.replace({0: {Spot(1): 1}})
    assert check(instance, moved) == []
    values = measure(instance, moved, tiers)
    assert all(bound <= v for bound, v in zip(bounds(instance, tiers, values), values, strict=True))


def test_what_all_jobs_and_nodes_have_is_added_up_once_whatever_the_shapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each job that waits is another shape: thousands of them are asked on thousands of nodes."""
    walks: list[str] = []

    class Walked(dict[int, int]):
        def items(self) -> Any:
            walks.append("jobs")
            return super().items()

        def values(self) -> Any:
            walks.append("jobs")
            return super().values()

    staying, alike = unplaced._staying, room.alike_nodes
    monkeypatch.setattr(unplaced, "_staying", lambda instance: Walked(staying(instance)))
    for module in (room, node_room):
        monkeypatch.setattr(module, "alike_nodes", lambda i: walks.append("nodes") or alike(i))
    nodes = [node(name, cpu=16, gpu=8) for name in "abc"]
    held = [job(f"r{k}", pods(gpu=2, on=["a"]), preemptible=False) for k in range(2)]
    waiting = [job(f"w{k}", pods(cpu=1 + k, gpu=1 + k)) for k in range(8)]
    instance = question(nodes, [*held, *waiting], objectives=[{"unplaced": {"unit": "job"}}])
    tiers = tiers_of(instance)
    bounds(instance, tiers, measure(instance, instance.current, tiers))
    assert {walk: walks.count(walk) for walk in walks} == {"jobs": 1, "nodes": 2}
