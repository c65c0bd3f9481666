"""The most profitable pattern of a node is what trying them all finds, and bounds are bounds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.search.chains.scope import scope_of
from kantopt.search.columns import pricing as pricing_module
from kantopt.search.columns.multipliers import Multipliers
from kantopt.search.columns.patterns import Pattern, counts_after, patterns_of
from kantopt.search.columns.pricing import Pricing
from kantopt.search.columns.program import Program, program_of
from kantopt.search.columns.table import Table
from kantopt.search.shapes import Ints
from kantopt.verify.disturbance import DISRUPTION
from kantopt.verify.metrics import measure
from tests.campaign import some
from tests.search.columns import crowded

SEEDS = range(60)
BLOCKS = 4


def programs(seed: int) -> Iterator[Program]:
    """Programs of all tiers of disruption, with the snapshot's values."""
    instance = crowded(seed)
    tiers = tiers_of(instance)
    scope = scope_of(instance, instance.current)
    values = measure(instance, instance.current, tiers)
    for t, tier in enumerate(tiers):
        if tier.metric in DISRUPTION:
            yield program_of(scope, tiers, values, t)


def prices_of(program: Program, rng: random.Random) -> tuple[Ints, Ints]:
    """Prices, many of them equal or 0, and costs of leaving, some of them no more."""
    groups = range(len(program.groups))
    prices = np.array([rng.choice((0, 0, 4, 7, 7, 10, 25)) for _ in groups], dtype=np.int64)
    return prices, prices + np.array([rng.choice((0, 3, 10)) for _ in groups], dtype=np.int64)


def gain(pattern: Pattern, prices: Ints, leave: Ints) -> int:
    ins = sum(int(prices[g]) * k for g, k in pattern.ins)
    return ins - sum(int(leave[g]) * k for g, k in pattern.outs)


def most_by_trying(program: Program, n: int, prices: Ints, leave: Ints) -> int:
    """Gain of the best pattern of a node, at least 0."""
    home, room = program.home[:, n], program.room[:, n]
    ranges = [
        range(0 if not program.still[g] else int(home[g]), int(most) + 1)
        for g, most in enumerate(np.where(program.welcome[:, n], program.count, home))
    ]
    best = 0
    for after in itertools.product(*ranges):
        more = np.array(after) - home
        arriving, going = np.maximum(more, 0), np.maximum(-more, 0)
        used = program.ask @ np.array(after)
        asked = (program.ask @ arriving) > 0
        if not (asked & (used > room)).any():
            best = max(best, int(prices @ arriving - leave @ going))
    return best


def legal(program: Program, pattern: Pattern) -> bool:
    after = program.home[:, pattern.node].copy()
    for g, k in pattern.outs:
        assert not program.still[g]
        after[g] -= k
    for g, k in pattern.ins:
        assert program.welcome[g, pattern.node]
        after[g] += k
    fits = program.ask @ after <= program.room[:, pattern.node]
    return bool(fits.all() and (after >= 0).all() and (after <= program.count).all())


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_pricing_finds_what_trying_all_patterns_finds(block: int) -> None:
    profitable = 0
    for seed in SEEDS[block::BLOCKS]:
        rng = random.Random(seed)
        for program in programs(seed):
            prices, leave = prices_of(program, rng)
            nodes = program.home.shape[1]
            priced = Pricing(program).best(prices, leave, np.zeros(nodes, dtype=np.int64))
            expected = [most_by_trying(program, n, prices, leave) for n in range(nodes)]
            assert priced.exact
            assert priced.most.tolist() == expected, f"seed {seed}"
            found = [0] * nodes
            for pattern in priced.patterns:
                assert legal(program, pattern)
                found[pattern.node] = max(found[pattern.node], gain(pattern, prices, leave))
            assert found == expected, f"seed {seed}"
            profitable += sum(x > 0 for x in expected)
    assert profitable > 50


def test_what_is_left_out_counts_with_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kantopt.search.columns.pricing.MOST_CASES", 3)
    monkeypatch.setattr(pricing_module, "LIMITS", (2, 4))
    short = 0
    for seed in SEEDS:
        rng = random.Random(seed)
        for program in programs(seed):
            prices, leave = prices_of(program, rng)
            nodes = program.home.shape[1]
            priced = Pricing(program).best(prices, leave, np.zeros(nodes, dtype=np.int64))
            expected = [most_by_trying(program, n, prices, leave) for n in range(nodes)]
            assert all(a >= b for a, b in zip(priced.most.tolist(), expected, strict=True))
            assert not priced.exact or priced.most.tolist() == expected
            short += not priced.exact
    assert short > 10


def test_many_patterns_of_a_node_are_legal_and_gain_more_than_the_floor() -> None:
    several = 0
    for seed in SEEDS:
        rng = random.Random(seed)
        for program in programs(seed):
            prices, leave = prices_of(program, rng)
            floor = np.full(program.home.shape[1], -5, dtype=np.int64)
            found = Pricing(program).best(prices, leave, floor, each=4).patterns
            assert all(legal(program, p) and gain(p, prices, leave) > -5 for p in found)
            several += len(found) > 2 * len({p.node for p in found}) > 0
    assert several > 5


def test_patterns_of_counts_make_them_again() -> None:
    for seed in SEEDS:
        for program in programs(seed):
            groups = program.scope.groups
            homes = [dict(group.home) for group in groups]
            assert patterns_of(program, homes) == []
            assert counts_after(program, []) == homes
            rng = random.Random(seed)
            prices, leave = prices_of(program, rng)
            floor = np.zeros(program.home.shape[1], dtype=np.int64)
            found = {p.node: p for p in Pricing(program).best(prices, leave, floor).patterns}
            counts = counts_after(program, found.values())
            assert all(
                sum(spots.values()) <= group.most
                for spots, group in zip(counts, groups, strict=True)
            )


@pytest.mark.parametrize(("resources", "apart"), [(1, 0), (2, 0), (3, 0), (2, 30)])
def test_multipliers_and_tables_never_say_too_little(resources: int, apart: int) -> None:
    """Of pods that keep apart a node has one: there may be as many such sets as services."""
    rng = random.Random(resources)
    for _ in range(60):
        kinds = rng.randint(1, 5)
        unit = rng.choice((1, 1000, 10**8))
        ask = np.array([[rng.randint(0, 9) * unit for _ in range(kinds)] for _ in range(resources)])
        ask[0] += unit
        sets = [[rng.randint(0, 1) for _ in range(kinds)] for _ in range(apart)]
        ask = np.vstack([ask, np.array(sets, dtype=np.int64).reshape(apart, kinds)])
        prices = np.array([rng.randint(1, 1 << 22) for _ in range(kinds)])
        most = np.array([rng.randint(1, 3) for _ in range(kinds)])
        room = np.array([[rng.randint(5, 25) * unit] for _ in range(resources)] + [[1]] * apart)
        multipliers = Multipliers(ask, prices, room)
        table = Table(ask, prices, most, room[:, 0], rng.choice((64, 1 << 12)))
        for first in range(kinds):
            ranges = [range(int(k) + 1) if g >= first else range(1) for g, k in enumerate(most)]
            best = max(
                int(prices @ np.array(pods))
                for pods in itertools.product(*ranges)
                if (ask @ np.array(pods) <= room[:, 0]).all()
            )
            assert table.most(room, first)[0] >= best
            assert (multipliers.worth(room)[:, 0] >= best).all()
