"""Moving running pods out of the way of a job that does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.construct import construct
from kantopt.search.portfolio import best_of
from kantopt.search.sequence import sequence
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.step import Step
from tests.generate import random_instance
from tests.questions import model, question

PODS = ({"unplaced": {"unit": "pod"}}, "evictions", "moves")


def node(name: str, gpus: int, **labels: str) -> dict[str, Any]:
    return {"name": name, "labels": labels, "allocatable": {"nvidia.com/gpu": gpus, "cpu": 64}}


def job(name: str, gpus: int, count: int, on: dict[str, int], **more: Any) -> dict[str, Any]:
    podset: dict[str, Any] = {"count": count, "requests": {"nvidia.com/gpu": gpus}}
    podset["assignments"] = [{"node": n, "count": k} for n, k in on.items()]
    return {"name": name, "podSets": [podset], **more}


def placed(instance: Instance) -> tuple[Placement, Step]:
    placement = construct(instance, Deadline(None), Strategy.BEST_FIT, relocate=True)
    assert not check(instance, placement)
    return placement, Step(instance, instance.current, placement)


def moves(instance: Instance, step: Step) -> int:
    return sum(step.moved(podset.index) for podset in instance.podsets if podset.running)


def test_scattered_free_gpus_come_together_for_a_job() -> None:
    """7, 6 and 7 of 8 GPUs are used on three nodes; a job of 4 GPUs finds no node."""
    running = [
        job("a", 1, 7, {"n1": 7}),
        job("b", 1, 6, {"n2": 6}),
        job("c", 1, 7, {"n3": 7}),
    ]
    asked = question([node("n1", 8), node("n2", 8), node("n3", 8)], running, [job("new", 4, 1, {})])
    instance = asked.instance(model(*PODS))
    placement, _ = placed(instance)
    assert measure(instance, placement, tiers_of(instance)) == (0, 0, 2)
    assert sequence(instance, placement) is not None


def test_pods_that_cannot_move_stay() -> None:
    running = [job("a", 1, 7, {"n1": 7}, movable=False), job("b", 1, 6, {"n2": 6}, movable=False)]
    asked = question([node("n1", 8), node("n2", 8)], running, [job("new", 3, 1, {})])
    instance = asked.instance(model(*PODS))
    placement, _ = placed(instance)
    assert placement == instance.current


def test_no_more_pods_move_than_the_model_allows() -> None:
    running = [job("a", 1, 7, {"n1": 7}), job("b", 1, 6, {"n2": 6}), job("c", 1, 7, {"n3": 7})]
    asked = question([node("n1", 8), node("n2", 8), node("n3", 8)], running, [job("new", 4, 1, {})])
    limited = model(*PODS).model_copy(
        update={"limits": model(*PODS).limits.model_copy(update={"moves": 1})}
    )
    instance = asked.instance(limited)
    placement, _ = placed(instance)
    assert placement == instance.current


def test_a_gang_gets_a_rack_of_its_own_when_others_move_away() -> None:
    """One small pod on a node of each rack keeps a gang of two whole nodes out of both."""
    nodes = [node(f"{r}{i}", 8, rack=r) for r in ("x", "y") for i in (1, 2)]
    small = [job("s1", 1, 1, {"x1": 1}), job("s2", 1, 1, {"y1": 1})]
    gang = job("gang", 8, 2, {}, minCount=2)
    gang["podSets"][0]["topologyRequest"] = {"required": "rack"}
    asked = question(
        nodes, small, [gang], topology={"levels": [{"name": "rack", "nodeLabel": "rack"}]}
    )
    instance = asked.instance(model(*PODS))
    placement, _ = placed(instance)
    assert measure(instance, placement, tiers_of(instance)) == (0, 0, 1)


def test_a_victim_that_fits_elsewhere_moves_instead() -> None:
    running = [job("low", 8, 1, {"n1": 1}, priority=1)]
    wants = job("high", 8, 1, {}, priority=9)
    wants["podSets"][0]["nodeSelector"] = {"kubernetes.io/hostname": "n1"}
    asked = question([node("n1", 8), node("n2", 8)], running, [wants])
    instance = asked.instance(model(*PODS))
    _, step = placed(instance)
    assert moves(instance, step) == 1
    assert not any(step.evicted(p.index) for p in instance.podsets if p.running)


@pytest.mark.parametrize("seed", range(60))
def test_placements_are_legal_and_in_an_order(seed: int) -> None:
    instance = random_instance(seed)
    placement, _ = best_of(instance, Deadline(None), (), tiers_of(instance))
    faults = check(instance, placement)
    assert all(fault.rule == "required" for fault in faults), seed
