"""What a plan could do to pods at most: no legal placement does more; by hand, what bounds it."""

from __future__ import annotations

import random

import pytest

from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from kantopt.verify.step import Step
from tests.campaign import some
from tests.generate import random_instance
from tests.placements import random_placement
from tests.verify.world import job, node, pods, podset_of, question


@pytest.mark.parametrize("seeds", [range(k, k + 50) for k in some(range(0, 400, 50))], ids=str)
def test_no_legal_placement_does_more(seeds: range) -> None:
    reached = [0, 0, 0]
    for seed in seeds:
        instance, rng = random_instance(seed), random.Random(seed)
        on = [rule for rule in Rule if instance.on(rule)]
        for turn in range(24):
            rules = on if turn % 2 else [rule for rule in on if rng.random() < 0.7]
            may = freedom_of(instance, rules)
            placement = random_placement(rng, instance)
            asked = [rule for rule in rules if rule != Rule.REQUIRED]
            if check(instance, placement, asked):
                continue
            step = Step(instance, instance.current, placement)
            for podset in instance.podsets:
                s = podset.index
                done = (step.bound(s), 0, 0)
                if podset.running:
                    done = (0, step.moved(s), step.evicted(s))
                for i, (pods_, most) in enumerate(
                    zip(done, (may.binds[s], may.moves[s], may.evictions[s]), strict=True)
                ):
                    assert pods_ <= most, (seed, turn, podset, done)
                    reached[i] += pods_ == most > 0
    assert min(reached) >= 5, "amounts that no placement reaches say too little"


def amounts(instance: Instance, name: str) -> tuple[int, int]:
    """Moves and evictions of the pods of a role that run."""
    s, may = podset_of(instance, name), freedom_of(instance)
    return may.moves[s], may.evictions[s]


NODES = (node("a", cpu=8), node("b", cpu=8))
URGENT = job("urgent", priority=9)


def of_three(*more: dict[str, object], **fields: object) -> Instance:
    """Three pods that run on two nodes, and an urgent job that waits."""
    limits = fields.pop("limits", {})
    rules = fields.pop("rules", {})
    budgets = fields.pop("budgets", ())
    nodes = fields.pop("nodes", NODES)
    minimum = fields.pop("minCount", 0)
    own = job("r", pods(count=3, minCount=minimum, on=["a", "a", "b"]), **fields)
    return question(
        nodes, [own, URGENT, *more], limits=limits, rules=rules, podDisruptionBudgets=list(budgets)
    )


def budget(name: str, allowed: int) -> dict[str, object]:
    """A budget over the three pods."""
    return {
        "name": name,
        "selector": {"matchLabels": {"job": "r"}},
        "disruptionsAllowed": allowed,
    }


@pytest.mark.parametrize(
    ("fields", "moves", "evictions"),
    [
        ({}, 3, 3),
        ({"movable": False}, 0, 3),
        ({"preemptible": False}, 3, 0),
        ({"preemptible": False, "movable": False, "rules": {"pinned": "off"}}, 3, 3),
        ({"limits": {"moves": 2, "evictions": 1}}, 2, 1),
        ({"limits": {"movesPerNamespace": 1}}, 1, 3),
        ({"limits": {"departuresPerNode": 0}}, 0, 3),
        ({"maxMoves": 1}, 1, 3),
        ({"budgets": [budget("one", 0)]}, 0, 0),
        ({"budgets": [budget("one", 0)], "moveMode": "live"}, 3, 0),
        ({"budgets": [budget("one", 2)]}, 3, 2),
        ({"budgets": [budget("one", 2), budget("two", 2)]}, 0, 0),
        ({"budgets": [budget("one", 0)], "rules": {"disruption": "off"}}, 3, 3),
        ({"disruptionMode": "all", "limits": {"evictions": 2}}, 3, 0),
        ({"disruptionMode": "all", "limits": {"evictions": 3}}, 3, 3),
        ({"minCount": 2, "limits": {"evictions": 2}}, 3, 1),
        ({"minCount": 2}, 3, 3),
        ({"priority": 9}, 3, 0),
        ({"priority": 9, "rules": {"priority": "counts"}}, 3, 3),
        ({"nodes": [node("a", cpu=8, ready=False), NODES[1]]}, 1, 3),
    ],
    ids=str,
)
def test_what_bounds_it(fields: dict[str, object], moves: int, evictions: int) -> None:
    assert amounts(of_three(**fields), "r") == (moves, evictions)


def test_nobody_is_evicted_for_jobs_that_have_no_place_anywhere_or_may_not_ask() -> None:
    never = job("urgent", priority=9, preemptionPolicy="Never")
    nowhere = job("urgent", pods(nodeSelector={"there": "is none"}), priority=9)
    own = job("r", pods(count=3, on=["a", "a", "b"]))
    too_large = job("urgent", pods(cpu=9), priority=9)
    for waiting in (never, nowhere, too_large):
        assert amounts(question(NODES, [own, waiting]), "r") == (3, 0)
    for waiting in (nowhere, too_large):
        assert freedom_of(question(NODES, [own, waiting])).binds == (0, 0)
    unbounded = question(NODES, [own, too_large], rules={"capacity": "off"})
    assert freedom_of(unbounded).binds == (0, 1)


def test_a_pod_is_bound_where_an_empty_node_that_admits_it_would_hold_it() -> None:
    small, large = node("small", cpu=4, labels={"size": "s"}), node("large", cpu=8)
    waiting = [
        job("fits", pods(cpu=8)),
        job("there", pods(cpu=8, nodeSelector={"size": "s"})),
        job("small", pods(cpu=4, nodeSelector={"size": "s"})),
    ]
    instance = question([small, large], [job("r", pods(cpu=4, on=["large"])), *waiting])
    assert freedom_of(instance).binds == (0, 1, 0, 1)
