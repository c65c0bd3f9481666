"""Slots of which each takes several moves that gain nothing by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.tidy.improve import tidy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.search.helpers import FOREVER
from tests.verify.world import GPU, Document, job, node, pods, question

SLOTS: tuple[Any, ...] = ({"fragment_rate": {"resource": GPU, "size": 8}}, "moves")


def on(name: str, node: str, gpus: int, **more: Any) -> Document:
    return job(name, pods(cpu=0, gpu=gpus, on=[node]), **more)


def asked(
    *jobs: Document, nodes: str = "abc", goals: tuple[Any, ...] = SLOTS, **more: Any
) -> Instance:
    return question([node(name, gpu=8) for name in nodes], jobs, objectives=goals, **more)


def made(instance: Instance, deadline: Deadline = FOREVER) -> tuple[int, ...]:
    """Values of the last placement that was found, all of which are legal."""
    found = [instance.current]

    def legal(placement: Placement) -> bool:
        found.append(placement)
        return not check(instance, placement)

    tidy(instance, instance.current, tiers_of(instance), deadline, 0, legal)
    assert check(instance, found[-1]) == []
    return measure(instance, found[-1], tiers_of(instance))


PIECES = [on(f"s{n}", n, 6, movable=False) for n in "bc"]
TWO = [on("x", "a", 2), on("y", "a", 2)]
TWICE = [*TWO, on("v", "d", 2), on("w", "d", 2)]
TWICE += [on(f"s{n}", n, 6, movable=False) for n in "bcef"]


def test_two_pods_leave_a_node_together_though_one_alone_gains_nothing() -> None:
    assert made(asked(*TWO, *PIECES)) == (0, 2)


def test_no_pod_leaves_where_another_has_to_stay_or_finds_no_place() -> None:
    stuck = asked(on("x", "a", 2), on("y", "a", 2, movable=False), *PIECES)
    assert made(stuck) == (1, 0)
    full = asked(*TWO, PIECES[0], on("sc", "c", 7, movable=False))
    assert made(full) == (0, 0)  # what is free makes no slot in one piece either


def test_no_pod_goes_where_it_takes_a_slot() -> None:
    assert made(asked(*TWO, PIECES[0], nodes="abd")) == (0, 0)


def test_the_node_that_fewest_pods_have_to_leave_comes_first_and_few_leave_it() -> None:
    jobs = [on("big", "a", 4), on("x", "a", 1), on("y", "a", 1), on("z", "d", 4)]
    jobs += [on(f"s{n}", n, 4, movable=False) for n in "bc"]
    # Of a three pods would leave, of d one; then of a there are two pieces left for three.
    assert made(asked(*jobs, nodes="abcd"))[1] <= 4


@pytest.mark.parametrize(("limit", "slots", "moves"), [(1, 0, 0), (2, 1, 2), (3, 1, 2), (4, 2, 4)])
def test_no_more_pods_move_than_may(limit: int, slots: int, moves: int) -> None:
    assert made(asked(*TWICE, nodes="abcdef", limits={"moves": limit})) == (2 - slots, moves)


def test_as_many_slots_are_made_as_are_wanted() -> None:
    goal = {"fragment_rate": {"resource": GPU, "size": 8, "target": 1}}
    assert made(asked(*TWICE, nodes="abcdef", goals=(goal, "moves")))[1] == 2


def makes_way(gpus: int, *nodes: Document) -> Instance:
    """A pod that keeps a slot from ``a`` fits on ``b`` but for the CPU that another has there."""
    jobs = [
        job("x", pods(cpu=2, gpu=2, on=["a"])),
        job("y", pods(cpu=4, gpu=gpus, on=["b"])),
        on("s", "b", 6 - gpus, movable=False),
    ]
    return question([*(node(name, gpu=8) for name in "ab"), *nodes], jobs, objectives=SLOTS)


def test_others_leave_a_node_for_a_pod_that_finds_no_place() -> None:
    assert made(makes_way(0, node("c"))) == (0, 2)
    assert made(makes_way(0, node("c", gpu=8))) == (0, 2)


def test_nobody_who_leaves_for_another_takes_a_slot() -> None:
    assert made(makes_way(1, node("c", gpu=8))) == (1, 0)
    assert made(makes_way(1, node("c", gpu=8), node("d", gpu=1))) == (0, 2)
