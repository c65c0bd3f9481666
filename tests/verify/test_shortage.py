"""What all nodes together have no room for, by prices of their resources."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.shortage import Prices, Share, bound_shortage, dearest, shortage
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
        shortage(
            tier, instance, (), (), Prices(tuple(int(name == r) for name in instance.resources))
        )
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


def shares_of(instance: Instance) -> set[Share]:
    """All shares of devices that pods ask for."""
    return {
        Share(need.device_class, r, size)
        for podset in instance.podsets
        for need in podset.devices
        for r, size in enumerate(need.request)
        if size
    }


def test_a_device_is_worth_the_dearest_shares_that_fit_together() -> None:
    sizes = [(5, 50), (3, 20), (2, 15)]
    assert [dearest(room, sizes) for room in (0, 1, 2, 4, 5, 7, 9, 10)] == [
        *(0, 0, 15, 30, 50, 65, 80, 100)
    ]


def test_coarse_units_and_tiny_sizes_never_say_less() -> None:
    sizes = [(333_337, 40), (250_001, 29), (7, 1)]
    fits = max(
        40 * a + 29 * b + (1_000_003 - 333_337 * a - 250_001 * b) // 7
        for a in range(4)
        for b in range(5)
        if 333_337 * a + 250_001 * b <= 1_000_003
    )
    assert dearest(1_000_003, sizes) >= fits


def test_shares_of_devices_that_do_not_go_together_leave_room_unused() -> None:
    """Three GPUs and four pods of 60 %: two never share one."""
    gpus = [{"class": "gpu", "count": 3, "capacity": {"gpu": 1}}]
    needs = [{"class": "gpu", "requests": {"gpu": "600m"}}]
    jobs = [job("j", pods(count=4, cpu=0, devices=needs, minCount=0))]
    instance = question([node("n", devices=gpus)], jobs, objectives=[{"unplaced": {"by": "all"}}])
    tier = tiers_of(instance)[0]
    (share,) = shares_of(instance)
    prices = Prices((0,) * len(instance.resources), ((share, 1),))
    assert bound_shortage(tier, instance, {}) == 0
    assert shortage(tier, instance, (), (), prices) == 600


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
                prices = Prices(
                    tuple((r * step) % 3 for r in range(len(instance.resources))),
                    tuple(
                        (share, (k + step) % 4)
                        for k, share in enumerate(sorted(shares_of(instance)))
                    ),
                )
                found = shortage(
                    tiers[i],
                    instance,
                    tuple(tiers[k] for k in above),
                    [value[k] for k in above],
                    prices,
                )
                assert found <= value[i], (seed, tiers[i].name, prices)
