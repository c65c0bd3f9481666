"""Whatever is asked: chains leave a legal plan, no worse than the start, and the same each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from kantopt.clock import Deadline
from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.extends import load_model
from kantopt.schema.model import Metric, Rule
from kantopt.search.chains.chain import settle
from kantopt.search.chains.improve import OPERATORS as LISTED
from kantopt.search.chains.improve import improve as chains
from kantopt.search.chains.packing import Packing
from kantopt.search.chains.scope import scope_of
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance
from tests.questions import hard_question
from tests.search.helpers import searching

improve = searching(chains)

BRIEF = Deadline(1.0, deterministic=True)
KNOWN = (Metric.UNPLACED, Metric.EVICTIONS, Metric.MOVES, Metric.DISRUPTION_COST)
OPERATORS = tuple(operator for operator, _ in LISTED)


def counting(instance: Instance) -> Instance:
    """The same question where only counts matter, not who gives way to whom."""
    rules = instance.model.rules.model_copy(update={"priority": "counts"})
    return replace(instance, model=instance.model.model_copy(update={"rules": rules}))


def hard(seed: int, priority: str, model: str = "placement-first") -> Instance:
    found = load_model(model)
    rules = found.rules.model_copy(update={"priority": priority})
    question: Question = hard_question(seed, nodes=6, pods=6)
    return question.instance(found.model_copy(update={"rules": rules}))


def faults(instance: Instance, placement: Placement) -> int:
    """Required jobs that are missing; nothing else may be wrong."""
    found = check(instance, placement)
    assert [fault for fault in found if fault.rule != Rule.REQUIRED] == []
    return len(found)


@pytest.mark.parametrize("seeds", [range(k, k + 10) for k in some(range(0, 100, 10))], ids=str)
def test_what_comes_out_is_legal_and_never_worse(seeds: range) -> None:
    for seed in seeds:
        instance = random_instance(seed)
        if seed % 2:
            instance = counting(instance)
        tiers = tiers_of(instance)
        built = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
        for start in (built, instance.current):
            told: list[Placement] = []
            best = improve(instance, start, tiers, BRIEF, seed, told.append)
            assert best is (told[-1] if told else start)
            assert measure(instance, best, tiers) <= measure(instance, start, tiers)
            assert faults(instance, best) <= faults(instance, start)


@pytest.mark.parametrize("model", ["placement-first", "tier-by-tier", "mixed"])
@pytest.mark.parametrize("priority", ["strict", "counts"])
def test_a_tight_cluster_is_packed_better_than_it_was_constructed(
    priority: str, model: str
) -> None:
    better = 0
    for seed in range(4):
        instance = hard(seed, priority, model)
        tiers = tiers_of(instance)
        start = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
        best = improve(instance, start, tiers, BRIEF)
        assert faults(instance, best) == 0
        better += measure(instance, best, tiers) < measure(instance, start, tiers)
    assert better >= 3


def test_the_same_question_gets_the_same_answer() -> None:
    instance = hard(1, "counts")
    tiers = tiers_of(instance)
    told: list[list[Placement]] = [[], []]
    for news in told:
        improve(instance, instance.current, tiers, BRIEF, 7, news.append)
    assert told[0] == told[1]
    assert told[0]


def test_patience_ends_the_search_without_a_clock() -> None:
    instance = hard(2, "counts")
    tiers = tiers_of(instance)
    once, twice = (
        improve(instance, instance.current, tiers, Deadline(None), patience=40) for _ in range(2)
    )
    assert once == twice


@pytest.mark.parametrize("seeds", [range(k, k + 20) for k in some(range(0, 100, 20))], ids=str)
def test_the_key_that_is_kept_up_to_date_is_what_the_judge_measures(seeds: range) -> None:
    for seed in seeds:
        instance = random_instance(seed)
        rng = random.Random(seed)
        tiers = [tier for tier in tiers_of(instance) if tier.metric in KNOWN]
        scope = scope_of(instance, instance.current)
        if not scope.groups:
            continue
        packing = Packing(scope, tiers, measure(instance, instance.current, tiers), seed)
        for _ in range(6):
            loose = rng.choice(OPERATORS)(packing, rng)
            if rng.random() < 0.8:
                settle(packing, loose, 0.3, None, lambda: False)
            after = scope.placement(packing.snapshot())
            assert packing.value()[1:] == measure(instance, after, tiers)
            assert not check(instance, after, (Rule.CAPACITY, Rule.ELIGIBILITY, Rule.ANTI_AFFINITY))
            if check(instance, after, (Rule.LIMITS, Rule.QUOTA, Rule.DISRUPTION)):
                assert packing.broken()


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_draws_from_its_generator_alone_and_says_whom_it_took(
    operator: Callable[[Packing, random.Random], list[int]],
) -> None:
    instance = hard(3, "counts")
    tiers = tiers_of(instance)
    scope = scope_of(instance, construct(instance, BRIEF, How(Strategy.BEST_FIT)))
    took = 0
    for seed in range(20):
        told = []
        for _ in range(2):
            packing = Packing(scope, tiers, measure(instance, instance.current, tiers), 0)
            unasked = random.getstate()
            placed = list(packing.placed)
            loose = operator(packing, random.Random(seed))
            assert random.getstate() == unasked
            told.append((loose, packing.snapshot()))
            lost = [before - after for before, after in zip(placed, packing.placed, strict=True)]
            assert all(loose.count(g) <= max(0, lost[g]) for g in set(loose))
            took += sum(lost)
        assert told[0] == told[1]
    assert took


def test_what_is_undone_leaves_no_trace() -> None:
    instance = hard(3, "counts")
    tiers = tiers_of(instance)
    scope = scope_of(instance, instance.current)
    packing = Packing(scope, tiers, measure(instance, instance.current, tiers), 0)
    rng = random.Random(3)
    before, value, free = packing.snapshot(), packing.value(), packing.free.copy()
    for operator in OPERATORS * 5:
        settle(packing, operator(packing, rng), 0.5, None, lambda: False)
        packing.undo()
        assert packing.snapshot() == before
        assert packing.value() == value
        assert (packing.free == free).all()
        for n, slots in enumerate(packing.slot):
            for g, slot in slots.items():
                offer = packing.free[:, n] + packing.ask[g]
                assert (packing.offer[:, slot] == offer).all()
                stays = packing.on[g][n] <= packing.home[g].get(n, 0)
                assert packing.leaves_home[slot] == stays
