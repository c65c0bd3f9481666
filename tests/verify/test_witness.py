"""Bounds from multipliers: exact, never above the optimum, whatever the multipliers are."""

from __future__ import annotations

import itertools
import random

import pytest

from kantopt.cp.masters.multipliers import DENOMINATOR, multipliers_of
from kantopt.cp.masters.node_prices import node_prices_of
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.certificate import Multiplier, Witness
from kantopt.verify.witness.check import proved_bound
from kantopt.verify.witness.node import Arriving, Leaving, Worth, best_change, proportions_of
from kantopt.verify.witness.prices import OutOfTimeError, bound_by_prices
from kantopt.verify.witness.rows import PriceRows, price_rows
from tests.generate import random_instance
from tests.oracle import best
from tests.verify.world import Document, job, node, pods, question

SEEDS = range(60)


def some_multipliers(rows: PriceRows, rng: random.Random) -> dict[str, int]:
    """Multipliers in eighths: few rows count, prices of pods among them more often than others."""
    names = sorted(rows.names)
    kind = rng.choice((("pods", "tier"), ("pods", "tier", "limit"), ("",)))
    return {x: rng.choice((0, 8, rng.randint(0, 20))) for x in names if x.startswith(kind)}


@pytest.mark.parametrize("seed", SEEDS)
def test_no_multipliers_prove_more_than_the_optimum(seed: int) -> None:
    instance = random_instance(seed)
    tiers, rng = tiers_of(instance), random.Random(seed)
    values, _ = best(instance)
    if values is None:
        pytest.skip("a required job has no place")
    for i, tier in enumerate(tiers):
        for locks in ({}, dict(zip(tiers[:i], values[:i], strict=True))):
            rows = price_rows(instance, tiers, i, locks)
            if rows is None:
                continue
            assert bound_by_prices(rows, DENOMINATOR, multipliers_of(rows, 10.0)) <= values[i]
            by_node = node_prices_of(rows, values[i], lambda: False)
            assert by_node is None or bound_by_prices(rows, *by_node) <= values[i]
            for _ in range(3):
                counted = some_multipliers(rows, rng)
                assert bound_by_prices(rows, 8, counted) <= values[i], (tier.name, counted)


def brute_gain(free: tuple[int, ...], leaving: list[Leaving], arriving: list[Arriving]) -> int:
    """Most gain by trying every change of a node."""
    most = 0
    for outs in itertools.product(*(range(out.count + 1) for out in leaving)):
        room = [
            max(0, have + sum(k * out.ask[r] for k, out in zip(outs, leaving, strict=True)))
            for r, have in enumerate(free)
        ]
        spent = sum(k * out.cost for k, out in zip(outs, leaving, strict=True))
        for ins in itertools.product(*(range(into.most + 1) for into in arriving)):
            taken = (
                sum(k * into.ask[r] for k, into in zip(ins, arriving, strict=True))
                for r in range(len(free))
            )
            if all(t <= have for t, have in zip(taken, room, strict=True)):
                worth = sum(k * into.price for k, into in zip(ins, arriving, strict=True))
                most = max(most, worth - spent)
    return most


@pytest.mark.parametrize("seed", range(200))
def test_the_most_that_a_node_gains_is_exact(seed: int) -> None:
    rng = random.Random(seed)
    free = (rng.randint(-2, 6), rng.randint(-2, 9))
    leaving = [
        Leaving(rng.randint(0, 9), (rng.randint(0, 4), rng.randint(1, 4)), rng.randint(1, 2))
        for _ in range(rng.randint(0, 3))
    ]
    arriving = [
        Arriving(rng.randint(1, 9), (rng.randint(0, 4), rng.randint(1, 5)), rng.randint(1, 2))
        for _ in range(rng.randint(1, 3))
    ]
    worth = Worth(arriving, proportions_of(arriving, (9, 12)))
    change = best_change(free, leaving, arriving, worth)
    assert change.gain == brute_gain(free, leaving, arriving)
    outs = zip(change.outs, leaving, strict=True)
    ins = zip(change.ins, arriving, strict=True)
    gain = sum(k * pod.price for k, pod in ins) - sum(k * pod.cost for k, pod in outs)
    assert gain == change.gain


def crowded() -> tuple[list[Document], list[Document]]:
    """Two nodes of 10 with 3 free each; a pod of 5 waits, and pods of 3 and 4 can move."""
    running = [
        job("a", pods(count=1, cpu=3, on=("n",))),
        job("b", pods(count=1, cpu=4, on=("n",))),
        job("c", pods(count=1, cpu=4, on=("m",))),
        job("d", pods(count=1, cpu=3, on=("m",))),
    ]
    return [node("n", cpu=10), node("m", cpu=10)], [*running, job("big", pods(count=1, cpu=5))]


def test_prices_prove_that_a_pod_must_move() -> None:
    """It is worth 8 eighths where it arrives, and each pod that leaves for it costs as much."""
    nodes, jobs = crowded()
    objectives: list[object] = [{"unplaced": {"by": "all", "unit": "pod"}}, "evictions", "moves"]
    instance = question(nodes, jobs, objectives=objectives)
    tiers = tiers_of(instance)
    witness = Witness(
        formula="multipliers",
        denominator=8,
        multipliers=(Multiplier(row="pods default/big/main", value=8),),
    )
    assert proved_bound(witness, instance, tiers, 2, {tiers[0]: 0, tiers[1]: 0}) == 1
    assert proved_bound(witness, instance, tiers, 2, {tiers[0]: 1, tiers[1]: 0}) == 0


def test_rows_that_are_none_and_rows_counted_twice_are_refused() -> None:
    nodes, jobs = crowded()
    instance = question(nodes, jobs, objectives=["moves"])
    tiers = tiers_of(instance)
    row = Multiplier(row="pods default/big/main", value=1)
    for rows in ((row, row), (Multiplier(row="pods of nobody", value=1),)):
        witness = Witness(formula="multipliers", multipliers=rows)
        with pytest.raises(ValueError, match=r"is no row|is counted twice"):
            proved_bound(witness, instance, tiers, 0, {})


def test_what_nobody_may_evict_or_move_leaves_each_node_its_room() -> None:
    """Two of four GPUs are free of what is most important, on either node: three go on neither."""
    nodes: list[Document] = [node("a", gpu=4), node("b", gpu=4)]
    jobs: list[Document] = [
        job("stays", pods(count=4, minCount=0, cpu=0, gpu=1, on=["a", "a", "b", "b"]), priority=5),
        job("large", pods(count=1, cpu=0, gpu=3), priority=5),
    ]
    objectives: list[object] = [{"unplaced": {"unit": "gpu"}}]
    instance = question(nodes, jobs, objectives=objectives, limits={"moves": 0})
    tiers = tiers_of(instance)
    rows = price_rows(instance, tiers, 0, {})
    assert rows is not None
    assert not any(group.leaves for group in rows.groups)
    assert rows.least == (4, 0)
    found = node_prices_of(rows, 3000, lambda: False)
    assert found is not None
    assert bound_by_prices(rows, *found) == 3000


def test_what_is_placed_leaves_no_node_room_for_lesser_pods() -> None:
    """Each of two gangs takes more than half of a node: a pod of half a node goes on none."""
    nodes: list[Document] = [node("a", cpu=8), node("b", cpu=8)]
    jobs: list[Document] = [
        job("gang", pods(count=2, minCount=2, cpu=5), priority=5),
        job("half", pods(count=1, cpu=4), priority=1),
    ]
    objectives: list[object] = [{"unplaced": {"unit": "pod"}}]
    instance = question(nodes, jobs, objectives=objectives)
    tiers = tiers_of(instance)
    rows = price_rows(instance, tiers, 1, {tiers[0]: 0})
    assert rows is not None
    found = node_prices_of(rows, 1, lambda: False)
    assert found is not None
    assert bound_by_prices(rows, *found) == 1


def test_the_cheapest_nodes_to_clear_bound_evictions_and_lost_work() -> None:
    """Two whole nodes are wanted; of four one holds a costly pod, one a pod of more importance."""
    nodes: list[Document] = [node(name, gpu=8) for name in "abcd"]
    jobs: list[Document] = [
        job(f"r{name}", pods(cpu=0, gpu=8, on=[name], disruptionCost=cost), priority=priority)
        for name, cost, priority in (("a", 3, 1), ("b", 1, 1), ("c", 2, 1), ("d", 1, 2))
    ]
    wanted = job("wanted", pods(count=2, minCount=2, cpu=0, gpu=8), priority=3)
    instance = question(
        nodes, [*jobs, wanted], objectives=["evictions"], required=["wanted"], limits={"moves": 0}
    )
    tiers = tiers_of(instance)
    rows = price_rows(instance, tiers, 1, {tiers[0]: 0})
    assert rows is not None
    found = node_prices_of(rows, 3, lambda: False)
    assert found is not None
    with pytest.raises(OutOfTimeError):
        bound_by_prices(rows, *found, over=lambda: True)
    assert bound_by_prices(rows, *found) == 3
