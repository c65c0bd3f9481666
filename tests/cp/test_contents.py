"""Sums over nodes by what each could hold: never above the optimum, and mostly equal to it."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kantopt.clock import Deadline
from kantopt.cp.relaxed.bounds import relaxed_bounds
from kantopt.cp.relaxed.contents import CONTENTS, by_content
from kantopt.cp.relaxed.model import Relaxation
from kantopt.problem.derived.focus import limited
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.verify.metrics import bounds, measure
from tests.campaign import some
from tests.generate import random_instance, without
from tests.oracle import Value, best
from tests.search.test_orbits import alike
from tests.solved import solved
from tests.verify.world import GPU, job, node, pods, question

MIX = [{"requests": {"cpu": 1, GPU: 1}}, {"requests": {"cpu": 16, GPU: 8}}]
OBJECTIVES = ["unplaced", "fragmented_nodes", {"stranded_gpus": {"mix": MIX}}]
STAYS = {"preemptible": False, "movable": False}


def proved(instance: Instance, values: Value) -> Value:
    """The better of the bounds by arithmetic and by relaxation, for each tier."""
    tiers = tiers_of(instance)
    found = list(bounds(instance, tiers, values))
    relaxed_bounds(instance, tiers, values, Deadline(None), bound=found.__setitem__)
    return tuple(found)


@pytest.mark.parametrize("block", some(range(4)))
def test_no_bound_is_above_the_optimum_where_nobody_leaves(block: int) -> None:
    closed = Counter[bool]()
    for seed in range(block, 200, 4):
        rng = random.Random(seed)
        instance = limited(random_instance(seed), evictions=0, moves=0)
        rule = rng.choice((None, None, *Rule))
        if rule not in (None, Rule.LIMITS):
            instance = without(instance, rule)
        value, _ = best(instance)
        if value is None:
            continue
        tiers = tiers_of(instance)
        for values in (value, tuple(v + rng.randint(0, 2) for v in value)):
            for i, low in enumerate(proved(instance, values)):
                assert low <= value[i], f"seed {seed} {tiers[i].name}"
                if tiers[i].metric in CONTENTS and values is value:
                    closed[low == value[i]] += 1
    assert closed[True] >= 4, closed


@pytest.mark.parametrize("block", some(range(2)))
def test_bounds_of_alike_nodes_are_those_of_all_plans(block: int) -> None:
    closed = Counter[bool]()
    for seed in range(block, 80, 2):
        instance = alike(seed)
        tiers = tiers_of(instance)
        value = solved(instance, tiers).bounds
        for i, low in enumerate(proved(instance, value)):
            assert low <= value[i], f"seed {seed} {tiers[i].name}"
            if tiers[i].metric in CONTENTS and value[i]:
                closed[low == value[i]] += 1
    assert closed[True] > closed[False], closed


def mixed_sizes(**podset: object) -> Instance:
    """Pods of several sizes for 60 nodes, of which some have 1, 2 or 5 GPUs taken."""
    nodes = [node(f"n{i:02}", cpu=64, gpu=8) for i in range(60)]
    jobs = [job(f"r{i}", pods(gpu=(1, 2, 5)[i % 3], on=[f"n{i:02}"]), **STAYS) for i in range(9)]
    sizes = (7, 6, 3, 3, 4, 2, 1, 8)
    jobs += [job(f"w{i}", pods(gpu=size, **podset)) for i, size in enumerate(sizes)]
    return question(nodes, jobs, objectives=OBJECTIVES)


def test_pods_of_several_sizes_fill_what_is_in_part_in_use() -> None:
    instance = mixed_sizes()
    values = solved(instance, tiers_of(instance)).bounds
    assert proved(instance, values) == values
    assert 0 < values[-2] < 9


def test_a_model_names_no_node_twice_that_is_like_another() -> None:
    instance = mixed_sizes()
    tiers = tiers_of(instance)
    relaxation = Relaxation(instance, tiers)
    before = len(relaxation.cp.proto.variables)
    assert by_content(relaxation, tiers[-2]) is not None
    assert len(relaxation.cp.proto.variables) - before < 200


def test_nothing_is_said_of_devices_or_of_pods_that_may_leave() -> None:
    moving = question([node("a", gpu=8)], [job("r", pods(on=["a"]))], objectives=OBJECTIVES)
    tiers = tiers_of(moving)
    assert by_content(Relaxation(moving, tiers), tiers[-1]) is None
    still = limited(moving, evictions=0, moves=0)
    assert by_content(Relaxation(still, tiers), tiers[-1]) is not None
    assert measure(moving, moving.current, tiers)[-2] == 0


def test_a_pod_comes_to_a_node_that_is_overcommitted_in_what_it_does_not_ask_for() -> None:
    over = job("r", pods(cpu=6, gpu=1, on=["n0"]), **STAYS)
    waits = job("w", pods(cpu=0, gpu=7))
    instance = question(
        [node("n0", cpu=4, gpu=8), node("n1", cpu=4, gpu=8)], [over, waits], objectives=OBJECTIVES
    )
    values = solved(instance, tiers_of(instance)).bounds
    assert values[-2] == 0
    assert proved(instance, (*values[:-2], 1, values[-1]))[-2] == 0
