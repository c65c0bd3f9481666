"""Gangs that are placed with a plan come closer together, and nobody loses a place for it."""

from __future__ import annotations

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.extends import load_model
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from kantopt.search.techniques.squeaky_wheel import regroup
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check, is_legal
from scripts.bench.gangs import kant
from tests.generate import random_instance
from tests.search.helpers import FOREVER, built, where
from tests.verify.world import Document, job, node, placed, pods, question

CLOSE = ["unplaced", "evictions", "domains_crossed"]
RACKS = [node(f"{rack}{k}", rack=f"x/{rack}") for rack in "ab" for k in range(2)]


def gang(name: str, count: int, **more: object) -> Document:
    close = {"topologyRequest": {"preferred": "rack"}}
    return job(name, pods(count=count, cpu=4, **close), **more)


def regrouped(instance: Instance, placement: Placement, seed: int = 0) -> Placement:
    """The last placement found; all of them must be legal, each better than the one before."""
    tiers = tiers_of(instance)
    found = [placement]

    def take(better: Placement) -> bool:
        if not is_legal(instance, better):
            return False
        assert measure(instance, better, tiers) < measure(instance, found[-1], tiers)
        found.append(better)
        return True

    regroup(instance, placement, tiers, FOREVER, take, seed=seed)
    return found[-1]


def test_two_gangs_that_share_two_racks_get_one_each() -> None:
    instance = question(RACKS, [gang("v", 2), gang("w", 2)], objectives=CLOSE)
    found = regrouped(instance, placed(instance, v=["a0", "b0"], w=["a1", "b1"]))
    for name in ("v", "w"):
        assert len({on[0] for on in where(instance, found, name)}) == 1


def test_a_job_that_need_not_be_close_makes_room() -> None:
    jobs = [gang("v", 2), job("one", pods(cpu=4)), job("two", pods(cpu=4))]
    instance = question(RACKS, jobs, objectives=CLOSE)
    found = regrouped(instance, placed(instance, v=["a0", "b0"], one=["a1"], two=["b1"]))
    assert len({on[0] for on in where(instance, found, "v")}) == 1


def test_an_elastic_job_grows_where_it_has_begun() -> None:
    """It begins beside those who run, where another takes the node that it would grow on."""
    nodes = [node(f"{rack}{k}", cpu=8, rack=f"x/{rack}") for rack in "ab" for k in range(2)]
    runs = job("runs", pods(cpu=5, on=["b0"]))
    serves, train = job("serves", pods(count=8, minCount=1)), job("train", pods(cpu=8))
    closeness = ["unplaced", "excess_groups", "excess_nodes"]
    instance = question(nodes, [runs, serves, train], objectives=closeness)
    begun = placed(instance, serves=["b0"] * 3 + ["a0"] * 5, train=["b1"])
    assert measure(instance, begun, tiers_of(instance))[-2:] == (1, 1)
    found = regrouped(instance, begun)
    assert measure(instance, found, tiers_of(instance))[-2:] == (0, 0)


def test_where_work_is_counted_rounds_are() -> None:
    instance = question(RACKS, [gang("v", 2), gang("w", 2)], objectives=CLOSE)
    spread = placed(instance, v=["a0", "b0"], w=["a1", "b1"])
    found: list[Placement] = []

    def take(placement: Placement) -> bool:
        found.append(placement)
        return True

    regroup(instance, spread, tiers_of(instance), FOREVER, take, rounds=0)
    assert found == []
    regroup(instance, spread, tiers_of(instance), FOREVER, take, rounds=1)
    assert len(found) == 1


def test_what_runs_stays_where_it_is() -> None:
    runs = gang("r", 2)
    runs["podSets"][0]["assignments"] = [{"node": n, "count": 1} for n in ("a0", "b0")]
    instance = question(RACKS, [runs, gang("v", 2)], objectives=CLOSE)
    placement = placed(instance, v=["a1", "b1"])
    assert regrouped(instance, placement) is placement


def test_room_of_a_victim_stays_with_those_who_may_evict_it() -> None:
    """The gang of ``high`` is spread over a victim's node; ``never`` must not be put there."""
    victim = job("victim", pods(cpu=4, on=["a0"]), priority=5, movable=False)
    high = gang("high", 2, priority=9)
    never = gang("never", 2, priority=9, preemptionPolicy="Never")
    instance = question(RACKS, [victim, high, never], objectives=CLOSE)
    placement = placed(instance, victim=[], high=["a0", "b0"], never=["a1", "b1"])
    assert check(instance, placement) == []
    found = regrouped(instance, placement)
    assert set(where(instance, found, "high")) == {"a0", "a1"}
    assert set(where(instance, found, "never")) == {"b0", "b1"}


def test_nothing_is_done_where_closeness_is_no_objective() -> None:
    instance = question(RACKS, [gang("v", 2)], objectives=["unplaced"])
    placement = placed(instance, v=["a0", "b0"])
    assert regrouped(instance, placement) is placement


@pytest.mark.parametrize("seed", range(3))
def test_gangs_of_a_cluster_come_closer_together(seed: int) -> None:
    documents = kant(160, 0.85, seed, None)
    model = load_model("training")
    instance = build_instance(documents.snapshot, documents.pending, model)
    first = construct(instance, FOREVER, How(Strategy.LEAST_ALLOCATED))
    tiers = tiers_of(instance)
    names = [tier.name for tier in tiers]
    before = dict(zip(names, measure(instance, first, tiers), strict=True))
    after = dict(zip(names, measure(instance, regrouped(instance, first), tiers), strict=True))
    assert after["domains_crossed"] < before["domains_crossed"]
    above = names.index("domains_crossed")
    assert [after[name] for name in names[:above]] == [before[name] for name in names[:above]]


def test_random_plans_stay_legal_and_get_no_worse() -> None:
    better = 0
    for seed in range(240):
        instance = random_instance(seed)
        if instance.required:
            continue
        # Those that must be close come last: else nothing of so few is left to better.
        first = built(instance, Strategy.LEAST_ALLOCATED, largest_first=True)
        better += regrouped(instance, first, seed) is not first
    assert better >= 1
