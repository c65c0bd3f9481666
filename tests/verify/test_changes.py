"""Bounds from changes of nodes: never above the optimum, whatever the prices, and refused."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from kantopt.problem.derived.classes import merge_pods
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.certificate import Multiplier, Witness
from kantopt.search.repair.bound import ChangePrices, change_prices
from kantopt.verify.metrics import measure
from kantopt.verify.witness.check import proved_bound
from tests.oracle import best
from tests.questions import question
from tests.search.repair_questions import few_moves, full_cluster, gpu_job, gpu_node


def proved(
    instance: Instance, i: int, values: tuple[int, ...], denominator: int, rows: Mapping[str, int]
) -> int:
    tiers = tiers_of(instance)
    locks = dict(zip(tiers[:i], values[:i], strict=True))
    counted = tuple(Multiplier(row=row, value=k) for row, k in rows.items() if k)
    witness = Witness(formula="changes", denominator=denominator, multipliers=counted)
    return proved_bound(witness, instance, tiers, i, locks)


def prices_of(instance: Instance, values: tuple[int, ...], i: int) -> ChangePrices | None:
    return change_prices(instance, tiers_of(instance), values, i, lambda: False, 30)


def optimum(instance: Instance) -> tuple[int, ...]:
    now = measure(instance, instance.current, tiers_of(instance))
    value, _ = best(instance, now)
    return tuple(now) if value is None else tuple(value)


def test_no_prices_prove_more_than_the_optimum() -> None:
    """Of GPUs that stay unplaced, and of moves where as many are placed as at best."""
    closed = [0, 0]
    for seed in range(30):
        instance = full_cluster(seed, nodes=2, gpus=2, running=5, pending=2, moves=1 + seed % 2)
        values, rng = optimum(instance), random.Random(seed)
        for i in range(2):
            found = prices_of(instance, values, i)
            if found is None:
                continue
            rows = found.multipliers
            assert proved(instance, i, values, found.denominator, rows) == max(0, found.bound)
            for _ in range(4):
                tried = {
                    row: k * rng.choice((0, 50, 100, 101, 300)) // 100 for row, k in rows.items()
                }
                some = proved(instance, i, values, found.denominator, tried)
                assert some <= values[i], seed
            closed[i] += 0 < found.bound == values[i]
    assert closed[0] >= 3, closed
    assert closed[1] >= 1, closed


def test_prices_hold_as_well_where_alike_pods_are_counted_together() -> None:
    """Rows are named by what pods ask for, so that a search over merged pods can tell of them."""
    jobs = [gpu_job(f"r{k}", 320, 1, (f"n{k}", (0,))) for k in range(4)]
    waiting = [gpu_job(f"p{k}", 1000, 1) for k in range(2)]
    nodes = [gpu_node(f"n{k}", 1, 8) for k in range(4)]
    instance = question(nodes, jobs, waiting).instance(few_moves(1))
    merged = merge_pods(instance).instance
    assert len(merged.podsets) < len(instance.podsets)
    values = optimum(instance)
    assert values == (1000, 1)
    for i in range(2):
        found = change_prices(merged, tiers_of(merged), values, i, lambda: False)
        assert found is not None
        assert proved(instance, i, values, found.denominator, found.multipliers) == values[i]


@pytest.mark.parametrize(
    ("row", "value", "said"),
    [
        ("taken: pods of nothing", 1, "is no row"),
        ("tier moves", 1, "is no row"),
        ("limit evictions", 1, "is no row"),
        ("limit moves", 2**70, "expected 0 to"),
    ],
)
def test_rows_that_are_none_and_numbers_too_large_are_refused(
    row: str, value: int, said: str
) -> None:
    instance = full_cluster(3, nodes=2, gpus=2, running=5, pending=2, moves=1)
    with pytest.raises(ValueError, match=said):
        proved(instance, 0, (0, 0), 1024, {row: value})
    with pytest.raises(ValueError, match="too large"):
        proved(instance, 1, (0, 0), 2**60, {"limit moves": 1})


def test_where_pods_may_be_evicted_or_pods_are_not_counted_there_is_no_such_bound() -> None:
    instance = full_cluster(3, nodes=2, gpus=2, running=5, pending=2, moves=1)
    values = optimum(instance)
    limits = instance.model.limits.model_copy(update={"evictions": None})
    evicting = replace(instance, model=instance.model.model_copy(update={"limits": limits}))
    jobs = few_moves(1, {"unplaced": {"unit": "job"}})
    for other in (evicting, replace(instance, model=jobs)):
        assert prices_of(other, values, 0) is None
        with pytest.raises(ValueError, match="no sum over changes"):
            proved(other, 0, values, 1024, {"limit moves": 1})
