"""What each metric says of a small case that can be worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import measure
from tests.verify.world import GPU, Document, job, node, pods, put, question, values

NODES = [
    node("a", cpu=16, gpu=8, rack="x/1"),
    node("b", cpu=16, gpu=8, rack="x/1"),
    node("c", cpu=16, gpu=8, rack="x/2"),
    node("d", cpu=16, gpu=8, rack="y/1"),
]


def by_name(instance: Instance, where: dict[str, Any]) -> dict[str, int]:
    tiers = tiers_of(instance)
    found = measure(instance, put(instance, where), tiers)
    return {tier.name: value for tier, value in zip(tiers, found, strict=True)}


def only(instance: Instance, where: dict[str, Any]) -> int:
    """Value of the only tier."""
    (value,) = by_name(instance, where).values()
    return value


# Unplaced


def test_unplaced_counts_gpus_by_priority_and_pods_of_cpu_only_jobs_behind() -> None:
    jobs = [
        job("high", pods(count=2, gpu=4), priority=9),
        job("low", pods(gpu=1), priority=1),
        job("cpu", pods(count=3, minCount=0), priority=1),
    ]
    instance = question(NODES, jobs)
    assert values(instance) == {
        "unplaced[priority=9, milli-GPU]": 8000,
        "unplaced[priority=1, milli-GPU]": 1000,
        "unplaced[priority=1, CPU-only pods]": 3,
    }
    after = values(instance, high=["a", "a"], cpu=["b", "b"])
    assert after["unplaced[priority=9, milli-GPU]"] == 0
    assert after["unplaced[priority=1, milli-GPU]"] == 1000
    assert after["unplaced[priority=1, CPU-only pods]"] == 1


def test_unplaced_counts_members_above_the_minimum_in_a_later_tier() -> None:
    instance = question(NODES, [job("j", pods(count=4, minCount=2, gpu=1), priority=5)])
    core, surplus = (
        "unplaced[priority=5, milli-GPU]",
        ("unplaced[priority=5, milli-GPU, above minCount]"),
    )
    assert values(instance) == {core: 2000, surplus: 2000}
    assert values(instance, j=["a"] * 2) == {core: 0, surplus: 2000}
    assert values(instance, j=["a"] * 3) == {core: 0, surplus: 1000}


def test_the_minimum_over_all_roles_is_made_of_the_cheapest_members() -> None:
    """Three of two small and two big pods: at least two small and a big one, 1 + 1 + 4 GPUs."""
    roles = [pods("small", count=2, gpu=1), pods("big", count=2, gpu=4)]
    instance = question(NODES, [job("j", *roles, minCount=3)])
    assert list(values(instance).values()) == [6000, 4000]
    where = {"j/small": ["a"] * 2, "j/big": ["b"]}
    assert list(by_name(instance, where).values()) == [0, 4000]


def test_a_pod_that_is_evicted_is_unplaced_at_its_own_priority() -> None:
    instance = question(NODES, [job("r", pods(count=2, minCount=0, gpu=3, on=["a", "a"]))])
    assert only(instance, {}) == 0
    assert only(instance, {"r": ["a"]}) == 3000


@pytest.mark.parametrize("unit", ["job", "gpu", "pod"])
def test_a_goal_of_unplaced_is_to_place_those_that_wait_and_counts_no_victims(unit: str) -> None:
    jobs = [job("old", pods(gpu=8, on=["a"]), priority=1), job("new", pods(gpu=8), priority=9)]
    for by, name in (("priority", "priority=9, "), ("all", "")):
        goal = {"unplaced": {"by": by, "unit": unit, "target": 0}}
        after = by_name(question(NODES[:1], jobs, objectives=[goal]), {"old": [], "new": ["a"]})
        assert [tier.partition("[")[2].startswith(name) for tier in after] == [True]
        assert set(after.values()) == {0}


def test_unplaced_jobs_are_those_below_their_minimum() -> None:
    jobs = [
        job("gang", pods(count=3, minCount=2)),
        job("loose", pods(count=2, minCount=0)),
    ]
    instance = question(NODES, jobs, objectives=[{"unplaced": {"by": "all", "unit": "job"}}])
    assert only(instance, {}) == 2
    assert only(instance, {"gang": ["a"] * 2, "loose": ["a"]}) == 1
    assert only(instance, {"gang": ["a"] * 2, "loose": ["a"] * 2}) == 0


def test_each_priority_is_worked_through_before_the_next() -> None:
    jobs = [
        job("high", pods(count=2, minCount=1), priority=2),
        job("low", pods(on=["a"]), priority=1),
    ]
    objectives = [{"each_priority": [{"unplaced": {"unit": "pod"}}, "evictions"]}, "nodes_in_use"]
    instance = question(NODES, jobs, objectives=objectives)
    assert list(values(instance)) == [
        "unplaced[priority=2, pods]",
        "unplaced[priority=1, pods]",
        "evictions[priority=1]",
        "unplaced[priority=2, pods, above minCount]",
        "nodes_in_use",
    ]


# Evictions, moves, disruption cost

DISRUPTIONS = ["evictions", "moves", "disruption_cost"]


def test_evictions_cost_per_pod_and_by_priority_of_the_victim() -> None:
    jobs = [
        job("r", pods(count=3, minCount=0, on=["a"] * 3, disruptionCost=4), priority=2),
        job("s", pods(on=["a"]), priority=1),
    ]
    instance = question(NODES, jobs, objectives=["evictions"])
    assert values(instance, r=["a"], s=[]) == {
        "evictions[priority=2]": 8,
        "evictions[priority=1]": 1,
    }


def test_a_job_that_goes_as_a_whole_costs_once() -> None:
    roles = pods(count=3, minCount=0, on=["a"] * 3)
    jobs = [job("r", roles, disruptionMode="all", disruptionCost=5)]
    assert only(question(NODES, jobs, objectives=["evictions"]), {"r": []}) == 5


def test_moves_count_pods_that_change_place_and_not_those_evicted() -> None:
    jobs = [job("r", pods(count=3, minCount=0, on=["a"] * 3))]
    instance = question(NODES, jobs, objectives=DISRUPTIONS)
    assert list(values(instance, r=["a", "b", "c"]).values()) == [0, 2, 2]
    assert list(values(instance, r=["a", "b"]).values()) == [1, 1, 3]
    assert list(values(instance, r=[]).values()) == [3, 0, 6]


def test_moves_can_be_asked_for_by_priority() -> None:
    jobs = [job(name, pods(on=["a"]), priority=p) for name, p in (("r", 1), ("s", 2))]
    instance = question(NODES, jobs, objectives=[{"moves": {"by": "priority"}}])
    assert values(instance, r=["b"]) == {"moves[priority=2]": 0, "moves[priority=1]": 1}


def test_evictions_by_pod_count_what_costs_nothing_or_once_for_a_whole_job() -> None:
    jobs = [
        job("free", pods(count=2, minCount=0, disruptionCost=0, on=["a", "a"])),
        job("whole", pods(count=3, minCount=0, on=["b"] * 3), disruptionMode="all"),
    ]
    objectives = ["evictions", {"evictions": {"by": "all", "unit": "pod"}}]
    instance = question(NODES, jobs, objectives=objectives)
    assert values(instance, free=[], whole=[]) == {"evictions[priority=0]": 1, "evictions[pods]": 5}


def test_new_pods_are_neither_evictions_nor_moves() -> None:
    jobs = [job("r", pods(count=2, minCount=0, on=["a"]))]
    instance = question(NODES, jobs, objectives=DISRUPTIONS)
    assert list(by_name(instance, {"r+": ["b"]}).values()) == [0, 0, 0]


# Domains crossed, excess nodes, excess groups


def preferring(level: str) -> Document:
    return {"topologyRequest": {"preferred": level}}


def test_a_job_that_fits_in_a_rack_crosses_with_each_rack_more() -> None:
    jobs = [job("j", pods(count=3, gpu=4, **preferring("rack")))]
    instance = question(NODES, jobs, objectives=["domains_crossed"])
    assert only(instance, {}) == 0
    assert only(instance, {"j": ["a", "a", "b"]}) == 0
    assert only(instance, {"j": ["a", "b", "c"]}) == 1
    assert only(instance, {"j": ["a", "c", "d"]}) == 2


def test_what_fits_in_no_single_rack_crosses_only_beyond_the_fewest() -> None:
    """Capacities 3, 3, 2, 1 and 7 pods (Kueue's vector): three racks at least."""
    racks = [node(f"n{i}", cpu=k, rack=f"x/{i}") for i, k in enumerate((1, 2, 3, 3))]
    jobs = [job("j", pods(count=7, **preferring("rack")))]
    instance = question(racks, jobs, objectives=["domains_crossed"])
    assert only(instance, {"j": ["n3"] * 3 + ["n2"] * 3 + ["n0"]}) == 0
    assert only(instance, {"j": ["n3"] * 3 + ["n2"] * 2 + ["n1", "n0"]}) == 1


def test_running_and_new_pods_count_together() -> None:
    roles = pods(count=2, minCount=1, on=["a"], **preferring("rack"))
    instance = question(NODES, [job("r", roles)], objectives=["domains_crossed"])
    assert only(instance, {"r+": ["b"]}) == 0
    assert only(instance, {"r+": ["c"]}) == 1


def test_a_node_outside_all_racks_is_a_domain_of_its_own() -> None:
    jobs = [job("j", pods(count=2, **preferring("rack")))]
    instance = question([*NODES, node("lone")], jobs, objectives=["domains_crossed"])
    assert only(instance, {"j": ["a", "lone"]}) == 1


def test_d_node_is_nodes_beyond_the_fewest() -> None:
    """Four pods of 4 GPUs need two nodes of 8; on three nodes that is one too many."""
    jobs = [job("j", pods(count=4, gpu=4)), job("loose", pods(count=2, minCount=0))]
    instance = question(NODES, jobs, objectives=["excess_nodes"])
    assert only(instance, {"j": ["a", "a", "b", "b"]}) == 0
    assert only(instance, {"j": ["a", "a", "b", "c"]}) == 1
    assert only(instance, {"loose": ["a", "b"]}) == 0


def test_d_group_is_groups_beyond_the_fewest() -> None:
    jobs = [job("j", pods(count=4, gpu=4))]
    instance = question(NODES, jobs, objectives=[{"excess_groups": {"level": "rack"}}])
    assert only(instance, {"j": ["a", "a", "b", "b"]}) == 0
    assert only(instance, {"j": ["a", "a", "c", "c"]}) == 1
    blocks = question(NODES, jobs, objectives=[{"excess_groups": {"level": "block"}}])
    assert only(blocks, {"j": ["a", "a", "c", "c"]}) == 0
    assert only(blocks, {"j": ["a", "a", "d", "d"]}) == 1


def test_groups_are_by_default_the_finest_of_more_than_one_node() -> None:
    instance = question(NODES, [job("j", pods(count=2))], objectives=["excess_groups"])
    assert only(instance, {"j": ["a", "c"]}) == 1
    single = [node("a", rack="x/1"), node("b", rack="x/2")]
    instance = question(single, [job("j", pods(count=2))], objectives=["excess_groups"])
    assert only(instance, {"j": ["a", "b"]}) == 0


@pytest.mark.parametrize("metric", ["excess_nodes", "domains_crossed"])
@pytest.mark.parametrize("minimum", [{"count": 4}, {"count": 4, "minCount": 0}])
def test_a_minimum_of_the_job_counts_like_one_of_its_only_role(
    metric: str, minimum: Document
) -> None:
    """Four pods that fill two nodes in two racks lie as close as they can."""
    racks = [node("a", cpu=2, rack="x/1"), node("b", cpu=2, rack="x/2")]
    jobs = [job("j", pods(**minimum, **preferring("rack")), minCount=4)]
    instance = question(racks, jobs, objectives=[metric])
    assert only(instance, {"j": ["a", "a", "b", "b"]}) == 0


# Fragmented nodes, nodes in use, allocation


def test_a_node_is_fragmented_if_some_of_its_gpus_are_taken_and_some_free() -> None:
    jobs = [job(name, pods(gpu=gpu)) for name, gpu in (("one", 1), ("seven", 7), ("none", 0))]
    instance = question(NODES, jobs, objectives=["fragmented_nodes"])
    assert only(instance, {}) == 0
    assert only(instance, {"none": ["a"]}) == 0
    assert only(instance, {"one": ["a"], "seven": ["b"]}) == 2
    assert only(instance, {"one": ["a"], "seven": ["a"]}) == 0


def test_a_node_is_in_use_with_any_pod() -> None:
    jobs = [job("r", pods(count=2, minCount=0, on=["a", "b"])), job("j")]
    instance = question(NODES, jobs, objectives=["nodes_in_use"])
    assert only(instance, {}) == 2
    assert only(instance, {"r": ["a", "a"]}) == 1
    assert only(instance, {"j": ["c"]}) == 3


def test_allocation_is_what_no_pod_holds_of_gpus_and_shares_of_gpus() -> None:
    shared = node("s", devices=[{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}])
    need = [{"class": "gpu", "requests": {"gpu": "300m"}}]
    jobs = [job("j", pods(gpu=3)), job("k", pods(devices=need))]
    instance = question([NODES[0], shared], jobs, objectives=["allocation"])
    assert only(instance, {}) == 10_000
    assert only(instance, {"j": ["a"], "k": [("s", 1)]}) == 6_700


# Stranded GPUs


def mixed(*shapes: Document) -> list[Document]:
    return [{"stranded_gpus": {"mix": list(shapes)}}]


def test_gpus_are_stranded_by_the_lack_of_cores() -> None:
    """8 GPUs, 16 cores; a pod takes 1 GPU and 4 cores, the mix asks 2 GPUs and 8 cores.

    With 9 cores taken 7 are free: the 8 GPUs are out of reach of the mix. With 8 taken they are
    not: what one pod can use of the node counts as usable, all of it.
    """
    shape = {"count": 3, "requests": {"cpu": 8, GPU: 2}}
    instance = question(NODES[:1], [job("j", pods(cpu=9))], objectives=mixed(shape))
    assert only(instance, {}) == 0
    assert only(instance, {"j": ["a"]}) == 3 * 8000
    instance = question(NODES[:1], [job("j", pods(cpu=8))], objectives=mixed(shape))
    assert only(instance, {"j": ["a"]}) == 0


def test_free_shares_of_a_gpu_are_stranded_if_no_pod_of_the_mix_fits_on_one() -> None:
    """FGD's example: two GPUs half free are no use to who wants a whole one.

    R = (0.5, 0.5): F of a task of 0.5 is 0, F of 0.6 or of 1 is all that is free, 1.0.
    R = (0.5, 1): F of 0.6 or 1 is the half, since the other GPU hosts the task.
    """

    def want(share: str) -> Document:
        need = {"class": "gpu", "requests": {"gpu": share}}
        return {"requests": {"cpu": 1}, "devices": [need]}

    shared = node("s", cpu=9, devices=[{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}])
    half = [{"class": "gpu", "requests": {"gpu": "500m"}}]
    jobs = [job("j", pods(count=2, minCount=0, devices=half))]
    for share, both, one in (("500m", 0, 0), ("600m", 1000, 500), ("1", 1000, 500)):
        instance = question([shared], jobs, objectives=mixed(want(share)))
        assert only(instance, {"j": [("s", 0), ("s", 1)]}) == both
        assert only(instance, {"j": [("s", 0)]}) == one


def test_the_mix_sums_by_weight() -> None:
    shapes = [{"count": 2, "requests": {GPU: 4}}, {"count": 5, "requests": {GPU: 8}}]
    instance = question(NODES[:1], [job("j", pods(gpu=2))], objectives=mixed(*shapes))
    assert only(instance, {"j": ["a"]}) == 5 * 6000


def test_the_default_mix_is_the_gpu_pods_of_the_instance() -> None:
    jobs = [job("j", pods(count=3, gpu=6)), job("cpu")]
    instance = question(NODES[:1], jobs, objectives=["stranded_gpus"])
    assert only(instance, {"j": ["a"]}) == 3 * 2000


def test_nodes_without_gpus_strand_none() -> None:
    instance = question([node("a")], [job("j", pods(gpu=1))], objectives=["stranded_gpus"])
    assert only(instance, {}) == 0


# Waiting


def test_waiting_sums_what_jobs_without_a_place_have_waited() -> None:
    jobs = [
        job("j", creationTime="2026-01-01T00:59:00Z"),
        job("k", creationTime="2026-01-01T00:00:00Z"),
        job("r", pods(count=2, on=["a"]), creationTime="2026-01-01T00:00:00Z"),
        job("unknown"),
    ]
    instance = question(NODES, jobs, objectives=["waiting"])
    assert only(instance, {}) == 60 + 3600
    assert only(instance, {"k": ["a"]}) == 60


# Fragment rate


def test_slots_that_are_missing_because_the_free_cores_lie_apart() -> None:
    """Free are 7, 5 and 4 cores: 16 make four slots of 4 in one piece, but here only three."""
    nodes = [node(f"n{k}", cpu=k) for k in (7, 5, 4)]
    objectives = [{"fragment_rate": {"size": 4}}]
    assert only(question(nodes, [], objectives=objectives), {}) == 1


def test_fr16_of_two_zones() -> None:
    """FR16 of VM rescheduling: slots of 16 cores, counted per zone and not per machine.

    A machine of two zones with 30 cores each has 60 free: three slots in one piece, two here.
    """
    zones = [{"class": "numa", "count": 2, "capacity": {"cpu": 40}}]
    need = [{"class": "numa", "requests": {"cpu": 10}}]
    jobs = [job("vm", pods(cpu=0, count=2, minCount=0, devices=need, on=[("a", 0), ("a", 1)]))]
    size = {"size": 16, "device_class": "numa"}
    instance = question([node("a", devices=zones)], jobs, objectives=[{"fragment_rate": size}])
    assert only(instance, {}) == 1
    # Together the machines in zone 0 leave 20 and 40 cores: 1 + 2 of 3 slots.
    assert only(instance, {"vm": [("a", 0), ("a", 0)]}) == 0
