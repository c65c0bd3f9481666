"""Circles are untangled part by part: what has nothing to do with them never costs the order."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from kantopt.problem.difference import difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.order.sequence import WHOLE, sequence
from kantopt.search.order.units import units_of
from kantopt.verify.replay import replay
from tests.campaign import some
from tests.search.test_detours import Puzzle, drawn, fewest_moves
from tests.verify.world import Document, job, node, pods, put, question

SEEDS, BLOCKS = 80, 2
Asked = tuple[list[Document], list[Document], dict[str, list[str]]]
"""Nodes, jobs and where pods should be that change places."""


def pairs(many: int, mode: str) -> Asked:
    """Pairs of nodes with nothing in common: a pod goes from one to the other, for a new one."""
    nodes: list[Document] = []
    jobs: list[Document] = []
    where: dict[str, list[str]] = {}
    for i in range(many):
        x, y, pair = f"x{i}", f"y{i}", {"pair": str(i)}
        nodes += [node(n, labels=pair) for n in (x, y)]
        jobs += [job(f"e{i}", pods(cpu=2, on=[x], nodeSelector=pair), moveMode=mode)]
        jobs += [job(f"q{i}", pods(cpu=3, nodeSelector=pair))]
        where |= {f"e{i}": [y], f"q{i}": [x]}
    return nodes, jobs, where


def knot(mode: str) -> Asked:
    """Two change places by way of s: after c has left, for which d steps aside, before p comes."""
    core = {"a": (30, 8, "n1", "n2"), "b": (18, 8, "n2", "n1")}
    core |= {"c": (15, 4, "s", "n3"), "d": (5, 4, "n3", "s")}
    jobs = [job(n, pods(cpu=c, gpu=g, on=[on]), moveMode=mode) for n, (c, g, on, _) in core.items()]
    jobs += [job(f"f{on}", pods(cpu=15, gpu=4, on=[on]), movable=False) for on in ("n3", "t")]
    jobs += [job("o", pods(cpu=12)), job("p", pods(cpu=25)), job("q", pods(cpu=2, gpu=4))]
    where = {name: [to] for name, (*_, to) in core.items()}
    nodes = [node(n, cpu=32, gpu=8) for n in ("n1", "n2", "n3", "s", "t")]
    return nodes, jobs, {**where, "o": ["n1"], "p": ["s"], "q": ["t"]}


def chain(many: int) -> Asked:
    """Each makes way for the one before it, the first for a pod that must leave t."""
    names = ["t", *(f"x{i}" for i in range(many + 1))]
    nodes = [node(name, gpu=4) for name in names[1:]]
    jobs = [job(f"e{name}", pods(gpu=4, on=[name]), moveMode="live") for name in names[:-1]]
    return nodes, jobs, {f"e{x}": [y] for x, y in pairwise(names)}


def asked(*questions: Asked, **more: Any) -> tuple[Instance, Placement]:
    """Put some questions that have nothing to do with each other into one."""
    nodes = [item for part, _, _ in questions for item in part]
    jobs = [item for _, part, _ in questions for item in part]
    instance = question(nodes, jobs, **more)
    where = {name: on for *_, part in questions for name, on in part.items()}
    return instance, put(instance, where)


def moves(instance: Instance, placement: Placement) -> int | None:
    """Moves of the order that is found, if one is, all stop-overs counted."""
    waves = sequence(instance, placement)
    if waves is None:
        return None
    assert replay(instance, waves)[0] == []
    return sum(a.pods for wave in waves for a in wave.actions if a.kind == "move")


@pytest.mark.parametrize("mode", ["live", "restart"])
@pytest.mark.parametrize("many", [0, 5, 8])
def test_pods_that_move_elsewhere_take_no_circle_its_order(many: int, mode: str) -> None:
    budget = {"name": "one", "selector": {}, "disruptionsAllowed": 1}
    instance, placement = asked(knot(mode), pairs(many, mode), podDisruptionBudgets=[budget])
    units = units_of(instance, difference(instance, placement))
    assert (len(units) > WHOLE) is (many > 4)
    assert moves(instance, placement) == 6 + many


def test_of_more_than_can_be_searched_the_closest_is_taken_back() -> None:
    instance, placement = asked(knot("live"), chain(20))
    assert moves(instance, placement) == 6 + 21


def boxed(puzzle: Puzzle, name: str) -> Asked:
    """A puzzle on nodes of its own."""
    nodes = [node(f"{name}{i}", room, labels={"of": name}) for i, room in enumerate(puzzle.rooms)]
    jobs, where = [], {}
    for j, live in enumerate(puzzle.live):
        mine = [p for p, of in enumerate(puzzle.jobs) if of == j]
        on, where[f"{name}-{j}"] = (
            [f"{name}{at[p]}" for p in mine] for at in (puzzle.start, puzzle.goal)
        )
        count, cpu, there = len(mine), puzzle.sizes[mine[0]], {"of": name}
        podset = pods(count=count, cpu=cpu, minCount=0, on=on, nodeSelector=there)
        jobs.append(job(f"{name}-{j}", podset, moveMode="live" if live else "restart"))
    return nodes, jobs, where


def together(seed: int) -> tuple[int, int]:
    """Draw puzzles that have nothing to do with each other; return the units and the stop-overs.

    There is an order just where each has one, and of few units one with no more moves.
    """
    rng = random.Random(seed)
    draws = (drawn(rng.randrange(10_000)) for _ in range(rng.choice((3, 6, 12))))
    puzzles = [replace(puzzle, slots=2, limit=None) for puzzle in draws if puzzle]
    each = [(fewest_moves(puzzle), puzzle) for puzzle in puzzles]
    if rng.random() < 0.8:
        each = [(fewest, puzzle) for fewest, puzzle in each if fewest is not None]
    boxes = [boxed(puzzle, f"p{i}-") for i, (_, puzzle) in enumerate(each)]
    budget = {"name": "two", "selector": {}, "disruptionsAllowed": 2}
    instance, placement = asked(*boxes, podDisruptionBudgets=[budget])
    units = len(units_of(instance, difference(instance, placement)))
    found, least = moves(instance, placement), [fewest for fewest, _ in each]
    assert (found is None) is (None in least), f"seed {seed}"
    assert found is None or units > WHOLE or found == sum(filter(None, least)), f"seed {seed}"
    return units, 0 if found is None else found - units


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_what_has_an_order_by_itself_has_one_beside_others(block: int) -> None:
    told = [together(seed) for seed in range(block, SEEDS, BLOCKS)]
    assert any(units > WHOLE and stops for units, stops in told)
    assert any(units <= WHOLE and stops for units, stops in told)
