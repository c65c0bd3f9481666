"""Bounds from contents of nodes and from shares of rooms: never above the optimum, and refused."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.answers.certificate import Formula, Multiplier, Witness
from kantopt.search.cutting import cutting_prices
from kantopt.search.slots.prices import slot_prices
from kantopt.verify.witness.check import proved_bound
from tests.generate import random_instance
from tests.oracle import best
from tests.vm_questions import vm_question

FOREVER = Deadline(None)


def proved(
    formula: Formula,
    denominator: int,
    values: Mapping[str, int],
    instance: Instance,
    i: int,
    locks: Mapping[Tier, int],
) -> int:
    rows = tuple(Multiplier(row=row, value=k) for row, k in values.items() if k)
    witness = Witness(formula=formula, denominator=denominator, multipliers=rows)
    return proved_bound(witness, instance, tiers_of(instance), i, locks)


def changed(values: Mapping[str, int], rng: random.Random) -> Iterator[dict[str, int]]:
    """The same multipliers, and some that are too high, too low or missing."""
    yield dict(values)
    for _ in range(3):
        yield {row: k * rng.choice((0, 50, 100, 100, 101, 300)) // 100 for row, k in values.items()}


def test_no_prices_of_contents_prove_more_than_the_optimum() -> None:
    closed = 0
    for seed in range(50):
        instance, rng = vm_question(seed), random.Random(seed)
        tiers = tiers_of(instance)
        values, _ = best(instance)
        assert values is not None
        for i in range(len(tiers)):
            found = slot_prices(instance, tiers, values, i, lambda: False)
            if found is None:
                continue
            denominator, rows = found
            locks = dict(zip(tiers[:i], values[:i], strict=True))
            bounds = [
                proved("contents", denominator, tried, instance, i, locks)
                for tried in changed(rows, rng)
            ]
            assert max(bounds) <= values[i], f"seed {seed}: {tiers[i].name}"
            closed += 0 < bounds[0] == values[i]
            if not any(k and row.startswith("tier ") for row, k in rows.items()):
                assert proved("contents", denominator, rows, instance, i, {}) <= values[i]
    assert closed >= 25


def test_no_prices_of_shares_prove_more_than_the_optimum() -> None:
    told = 0
    for seed in range(150):
        instance, rng = random_instance(seed), random.Random(seed)
        tiers = tiers_of(instance)
        values, _ = best(instance)
        if values is None:
            continue
        for i in range(len(tiers)):
            found = cutting_prices(instance, tiers, values, i, FOREVER)
            if found is None:
                continue
            told += 1
            locks = dict(zip(tiers[:i], values[:i], strict=True))
            bounds = [
                proved("shares", found.denominator, tried, instance, i, locks)
                for tried in changed(found.multipliers, rng)
                if any(k and row.startswith("shares") for row, k in tried.items())
            ]
            assert bounds[0] == tiers[i].above_target(found.bound)
            assert max(bounds) <= values[i], f"seed {seed}: {tiers[i].name}"
    assert told >= 10


def slots_of(seed: int) -> tuple[Instance, int, dict[str, int]]:
    """A question with prices that prove something of its first tier."""
    instance = vm_question(seed)
    tiers = tiers_of(instance)
    values, _ = best(instance)
    assert values is not None
    found = slot_prices(instance, tiers, values, 0, lambda: False)
    assert found is not None
    return instance, *found


@pytest.mark.parametrize(
    ("row", "value", "said"),
    [
        ("pods of nobody", 1, "is no row"),
        ("tier moves", 1, "is no row"),
        ("arrivals", 2**60, "too large"),
    ],
)
def test_rows_that_are_none_and_numbers_too_large_are_refused(
    row: str, value: int, said: str
) -> None:
    instance, denominator, rows = slots_of(4)
    with pytest.raises(ValueError, match=said):
        proved("contents", denominator, {**rows, row: value}, instance, 0, {})


def test_formulas_are_refused_for_tiers_that_they_do_not_bound() -> None:
    instance, denominator, rows = slots_of(4)
    with pytest.raises(ValueError, match="counts no pods"):
        proved("shares", denominator, rows, instance, len(tiers_of(instance)) - 1, {})
    for seed in range(3):
        other = random_instance(seed)
        with pytest.raises(ValueError, match="is no sum over what nodes hold"):
            proved("contents", 1, {"arrivals": 1}, other, 0, {})
