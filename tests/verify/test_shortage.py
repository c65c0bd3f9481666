"""What all nodes together have no room for, by prices of their resources."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.verify.bounds.shortage import _beside, _trade, bound_shortage
from tests.generate import random_instance
from tests.oracle import best
from tests.verify.world import Document, job, node, pods, question

BY_PODS: Document = {"unplaced": {"by": "priority", "unit": "pod"}}


def single(name: str, cpu: int, memory: int, priority: int = 1) -> Document:
    """A job of one pod."""
    return job(
        name,
        {
            "name": "main",
            "count": 1,
            "minCount": 0,
            "requests": {"cpu": cpu, "memory": memory},
            "labels": {},
            "assignments": [],
        },
        priority=priority,
    )


def least(nodes: list[Document], jobs: list[Document], *values: int) -> int:
    """Bound of the tier behind those that have the values."""
    instance = question(nodes, jobs, objectives=[BY_PODS])
    tiers = tiers_of(instance)
    i = len(values)
    return bound_shortage(tiers[i], instance, dict(zip(tiers[:i], values, strict=True)))


def shortage(
    tier: Tier,
    instance: Instance,
    held: tuple[Tier, ...],
    values: Sequence[int],
    prices: tuple[int, ...],
) -> int:
    """The bound by one price of all resources together."""
    trade = _trade(tier, instance, held, prices, _beside(tier, instance, held))
    return 0 if trade is None else trade.least(values)


def with_memory(name: str, cpu: int, memory: int) -> Document:
    """A node with some bytes."""
    return node(name, cpu=cpu, offers={"memory": memory})


def test_the_largest_pods_are_left_out_first() -> None:
    jobs = [single(name, cpu, 0) for name, cpu in (("a", 5), ("b", 3), ("c", 3), ("d", 1))]
    assert least([node("n", cpu=9), node("m", cpu=0)], jobs) == 1
    assert least([node("n", cpu=6)], jobs) == 2
    assert least([node("n", cpu=12)], jobs) == 0


def test_two_resources_together_say_more_than_each_alone() -> None:
    """Leaving out the one with much CPU makes no room for memory, and the other way round."""
    jobs = [single(f"c{i}", 4, 1) for i in range(2)] + [single(f"m{i}", 1, 4) for i in range(2)]
    instance = question([with_memory("n", 6, 6)], jobs, objectives=[BY_PODS])
    tier = tiers_of(instance)[0]
    alone = [
        shortage(tier, instance, (), (), tuple(int(name == r) for name in instance.resources))
        for r in ("cpu", "memory")
    ]
    assert alone == [1, 1]
    assert bound_shortage(tier, instance, {}) == 2


def test_what_the_tiers_above_hold_is_gone_but_for_what_they_may_leave() -> None:
    jobs = [single("a", 6, 0, priority=2), single("b", 4, 0), single("c", 2, 0)]
    nodes = [node("n", cpu=8)]
    assert least(nodes, jobs, 0) == 1
    assert least(nodes, jobs, 1) == 0


def test_of_a_gang_only_the_minimum_counts_and_it_counts_whole() -> None:
    gang = job("gang", {**pods("w", count=4, cpu=0, gpu=3), "minCount": 2})
    instance = question(
        [node("n", gpu=5)], [gang], objectives=[{"unplaced": {"by": "all", "unit": "gpu"}}]
    )
    assert bound_shortage(tiers_of(instance)[0], instance, {}) == 3000


def test_what_stands_on_an_overfull_node_may_stay() -> None:
    running = job("old", pods(count=3, cpu=2, on=("n", "n", "n")), priority=1)
    assert least([node("n", cpu=4)], [running]) == 0


def test_any_multipliers_make_a_valid_bound() -> None:
    for seed in range(150):
        instance = random_instance(seed)
        value, _ = best(instance)
        if value is None:
            continue
        tiers = tiers_of(instance)
        held = [i for i, tier in enumerate(tiers) if tier.name.startswith("unplaced")]
        for i in held:
            if tiers[i].surplus:
                continue
            above = [k for k in held if k < i and not tiers[k].surplus]
            for step in range(1, 4):
                prices = tuple((r * step) % 3 for r in range(len(instance.resources)))
                found = shortage(
                    tiers[i],
                    instance,
                    tuple(tiers[k] for k in above),
                    [value[k] for k in above],
                    prices,
                )
                assert found <= value[i], (seed, tiers[i].name, prices)


def test_room_of_those_whom_nobody_may_evict_is_not_offered_to_others() -> None:
    """Neither that of other priorities nor of gangs that count by all their roles together."""
    gang = job("gang", pods(count=2, cpu=1, on=["n", "n"]), minCount=1, priority=1)
    waits = [single("a", 4, 0, priority=9), single("b", 4, 0, priority=9)]
    for other in (job("r", pods(cpu=2, on=["n"]), priority=1), gang):
        asked = [other, *waits]
        for limits, bound in (({"evictions": 0}, 1), (None, 0)):
            instance = question([node("n", cpu=9)], asked, objectives=[BY_PODS], limits=limits)
            value, _ = best(instance)
            assert value is not None
            assert (bound_shortage(tiers_of(instance)[0], instance, {}), value[0]) == (bound,) * 2


def test_nodes_where_nobody_may_arrive_offer_what_is_taken_of_them() -> None:
    """One that is cordoned, unless somebody who waits or may move is let in all the same."""
    nodes = [node("n", cpu=5), node("shut", cpu=9, unschedulable=True)]
    tolerates = {"tolerations": [{"key": "node.kubernetes.io/unschedulable"}]}
    there = job("there", pods(cpu=1, on=["shut"]))
    waits = [single(name, 5, 0, priority=9) for name in "ab"]
    for guest, bound in ((pods(cpu=1, on=["n"]), 1), (pods(cpu=4, on=["shut"], **tolerates), 0)):
        assert least(nodes, [there, job("guest", guest), *waits]) == bound
