"""How far K moves go, and how few moves go as far: each answers the other."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Model
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.schedule import search
from kantopt.verify.rules import check
from tests.campaign import some
from tests.drafts import GPU
from tests.generate import random_instance
from tests.questions import model
from tests.vm_questions import vm_question

SEEDS = 48
BLOCKS = 8


def drawn(seed: int) -> tuple[Instance, str, dict[str, Any]]:
    """A tiny cluster in which all that runs may move, and something to tidy up."""
    rng = random.Random(seed)
    if seed % 2:
        instance = vm_question(seed)
        zones = any(node.devices for node in instance.nodes)
        slot = {"resource": "cpu", "size": rng.choice((2, 3, 4))}
        return instance, "fragment_rate", {**slot, **({"device_class": "zone"} if zones else {})}
    instance = random_instance(seed)
    podsets = tuple(replace(podset, movable=True) for podset in instance.podsets)
    instance = replace(instance, podsets=podsets, required=frozenset())
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("nodes_in_use", {}),
        ("domains_in_use", {"level": "rack"}),
    ]
    if GPU in instance.resources:
        kinds.append(("fragmented_nodes", {}))
        kinds.append(("stranded_gpus", {"mix": [{"requests": {GPU: 2}}]}))
    return instance, *rng.choice(kinds)


def solved(instance: Instance, asked: Model) -> tuple[int, ...]:
    """Proved optimum of the tiers."""
    return answered(instance, asked).incumbent.values


def answered(instance: Instance, asked: Model) -> Desk:
    """The search of a question, at its proved end."""
    still = replace(instance, model=asked)
    line = Line(found=lambda _: None, bound=lambda _: None, note=lambda _: None)
    budget = Budget(Deadline.within(20.0), workers=1)
    desk = Desk(still, tiers_of(still), still.current, (), budget, line)
    search(desk)
    assert desk.incumbent.optimal
    return desk


def furthest(instance: Instance, goal: str, parameters: dict[str, Any], moves: int) -> int:
    """Best value of the metric within so many moves."""
    limits = {"evictions": 0, "moves": moves}
    return solved(instance, model({goal: parameters}, "moves", limits=limits))[0]


def fewest(instance: Instance, goal: str, parameters: dict[str, Any], value: int) -> int:
    """Fewest moves that bring the metric down to a value."""
    written = f"{value}m" if goal == "stranded_gpus" else value
    objective = {goal: {**parameters, "target": written}}
    missed, moves = solved(instance, model(objective, "moves", limits={"evictions": 0}))
    assert missed == 0
    return moves


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_both_questions_are_exact_inverses(block: int) -> None:
    for seed in range(block, SEEDS, BLOCKS):
        instance, goal, parameters = drawn(seed)
        if check(instance, instance.current):
            continue
        curve: list[int] = []
        while len(curve) < 2 or curve[-1] < curve[-2] or len(curve) < 5:
            curve.append(furthest(instance, goal, parameters, len(curve)))
        assert curve == sorted(curve, reverse=True), f"seed {seed}"
        for value in set(curve):
            moves = fewest(instance, goal, parameters, value)
            assert moves == curve.index(value), f"seed {seed}: {goal} {curve}"


def test_the_questions_are_worth_asking() -> None:
    falls = 0
    for seed in range(SEEDS):
        instance, goal, parameters = drawn(seed)
        if not check(instance, instance.current):
            most = furthest(instance, goal, parameters, 0)
            falls += furthest(instance, goal, parameters, 3) < most
    assert falls >= SEEDS / 5


def test_a_goal_that_is_reached_asks_for_nothing_more() -> None:
    moved = 0
    for seed in range(SEEDS):
        instance, goal, parameters = drawn(seed)
        if check(instance, instance.current):
            continue
        least = furthest(instance, goal, parameters, 10)
        written = f"{least}m" if goal == "stranded_gpus" else least
        asked = model({goal: {**parameters, "target": written}}, "moves", limits={"evictions": 0})
        desk = answered(instance, asked)
        moved += desk.incumbent.values[1]
        found = desk.incumbent.placement
        if any(not p.running and found.podsets[p.index] for p in instance.podsets):
            continue  # a pending pod was bound: as a running one it would be another question
        then = replace(
            instance,
            podsets=tuple(
                replace(podset, current=spots) if podset.running else podset
                for podset, spots in zip(instance.podsets, found.podsets, strict=True)
            ),
        )
        assert solved(then, asked) == (0, 0), f"seed {seed}: {goal}"
    assert moved >= SEEDS / 5
