"""Placements made anew from the best filling of devices."""

from __future__ import annotations

import random
from typing import Any

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement, nowhere
from kantopt.problem.tiers import tiers_of
from kantopt.search.cutting import cutting_bounds
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.engine.known import Bound
from kantopt.search.techniques.device_patterns import fill, filled
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.verify.world import HOST, job, node, pods, question

NEVER = 10**9


def device(share: str, count: int = 1) -> list[dict[str, Any]]:
    return [{"class": "gpu", "count": count, "requests": {"gpu": share}}]


def cluster(jobs: list[Any], *nodes: tuple[str, int, int]) -> Instance:
    """Nodes by name, CPUs and GPUs that can be shared."""
    offered = [
        node(
            name,
            cpu,
            labels={HOST: name},
            devices=[{"class": "gpu", "count": gpus, "capacity": {"gpu": 1}}],
        )
        for name, cpu, gpus in nodes
    ]
    return question(offered, jobs, objectives=["unplaced"])


def best_of(instance: Instance, i: int = 0) -> tuple[int, ...]:
    """Values of the best placement that is made, all of them legal."""
    tiers = tiers_of(instance)
    found = list(filled(instance, tiers, (NEVER,) * len(tiers), i, lambda: False))
    assert found
    assert not any(check(instance, placement) for placement in found)
    return min(measure(instance, placement, tiers) for placement in found)


def alone(name: str, count: int, cpu: int, share: str, devices: int = 1) -> Any:
    asked = pods(count=count, cpu=cpu, minCount=0, devices=device(share, devices))
    return job(name, asked, priority=1)


def test_devices_are_filled_and_each_node_has_the_cpus_for_its_own() -> None:
    """Shares of 60 and 40 % go together; light ones must go to the node with few CPUs."""
    jobs = [alone("a", 4, 1, "600m"), alone("b", 2, 1, "400m"), alone("c", 2, 9, "400m")]
    assert best_of(cluster(jobs, ("few", 4, 2), ("many", 20, 2)))[0] == 0


def test_pods_left_out_are_the_fewest_as_a_whole() -> None:
    jobs = [alone("a", 3, 1, "810m"), alone("b", 3, 1, "470m")]
    assert best_of(cluster(jobs, ("n", 9, 3)))[0] == 1280


def test_a_pod_on_several_devices_has_them_on_one_node() -> None:
    jobs = [alone("a", 2, 1, "1", devices=2), alone("b", 2, 1, "500m"), alone("c", 1, 1, "1")]
    assert best_of(cluster(jobs, ("m", 9, 3), ("n", 9, 3)))[0] == 0


def test_pods_without_devices_are_placed_as_well() -> None:
    idle = job("idle", pods(count=3, cpu=4, minCount=0), priority=1)
    jobs = [alone("a", 4, 1, "500m"), idle]
    assert best_of(cluster(jobs, ("m", 6, 1), ("n", 11, 1))) == (0, 0)


def test_only_nodes_that_admit_the_pods_are_taken() -> None:
    picky = pods(count=2, cpu=1, minCount=0, devices=device("1"), nodeSelector={"zone": "b"})
    nodes = [
        node(
            zone,
            9,
            labels={"zone": zone},
            devices=[{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}],
        )
        for zone in "ab"
    ]
    wanted = [job("picky", picky, priority=1), alone("any", 2, 1, "1")]
    assert best_of(question(nodes, wanted, objectives=["unplaced"]))[0] == 0


def test_nothing_is_made_anew_where_devices_are_in_use_or_pods_go_together() -> None:
    runs = job("r", pods(cpu=1, devices=device("500m"), on=[("n", 0)]), priority=1)
    gang = job("g", pods(count=2, cpu=1, devices=device("500m")), priority=1)
    several = alone("s", 1, 1, "400m", devices=2)
    for other in (runs, gang, several):
        instance = cluster([other, alone("a", 2, 1, "500m")], ("n", 9, 3))
        tiers = tiers_of(instance)
        assert not list(filled(instance, tiers, (NEVER,) * len(tiers), 0, lambda: False))


def test_what_is_made_is_legal_and_no_bound_is_above_it() -> None:
    """Random questions with two priorities, pods on two devices and nodes that few pods like."""
    made = 0
    for seed in range(40):
        rng = random.Random(seed)
        nodes = [(name, rng.randrange(6, 20), rng.randrange(1, 3)) for name in "abcd"]
        jobs = [_drawn(rng, k) for k in range(rng.randrange(3, 7))]
        instance = cluster(jobs, *nodes)
        tiers = tiers_of(instance)
        values: tuple[int, ...] = (NEVER,) * len(tiers)
        for i in range(len(tiers)):
            for placement in filled(instance, tiers, values, i, lambda: False):
                assert not check(instance, placement), seed
                values = min(values, measure(instance, placement, tiers))
        bounds = dict(cutting_bounds(instance, tiers, values, Deadline(None)))
        assert all(bounds.get(i, 0) <= value for i, value in enumerate(values)), seed
        made += NEVER > values[0] > 0
    assert made >= 20


def _drawn(rng: random.Random, k: int) -> Any:
    if not rng.randrange(4):
        return job(f"j{k}", pods(count=rng.randrange(1, 3), cpu=2, minCount=0), priority=1)
    share = rng.choice(("150m", "300m", "350m", "500m", "650m", "800m", "1", "1"))
    devices = rng.randrange(1, 3) if share == "1" else 1
    asked = pods(
        count=rng.randrange(2, 7),
        cpu=rng.randrange(1, 5),
        minCount=0,
        devices=device(share, devices),
        **({"nodeSelector": {HOST: rng.choice("ab")}} if not rng.randrange(4) else {}),
    )
    return job(f"j{k}", asked, priority=rng.randrange(1, 3))


def _desk(instance: Instance, start: Placement, found: list[Placement]) -> Desk:
    bounds: list[Bound] = []
    line = Line(found.append, bounds.append, lambda _: None)
    budget = Budget(Deadline(None), 0, 1)
    return Desk(instance, tiers_of(instance), start, (), budget, line)


def test_the_stage_closes_what_a_filling_closes() -> None:
    instance = cluster([alone("a", 3, 1, "810m"), alone("b", 3, 1, "470m")], ("n", 9, 3))
    found: list[Placement] = []
    desk = _desk(instance, nowhere(len(instance.podsets)), found)
    fill(desk, desk.budget.deadline)
    assert desk.incumbent.values[0] == 1280
    assert len(found) == 1
