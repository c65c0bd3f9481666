"""The random questions are worth asking: every rule bites, every metric counts."""

from __future__ import annotations

from itertools import product

import pytest

from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Metric, Rule
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_documents, random_instance, statistics, without
from tests.oracle import best, multisets, spots_of

SEEDS = range(200)
TINY_SEEDS = some(range(120), of=8)
MOST_NAIVE = 1_000


def test_each_rule_and_each_metric_matters_and_few_instances_are_infeasible() -> None:
    """One test, as every process that had a share of several would solve all instances anew."""
    counted = statistics(SEEDS)
    idle = [rule for rule in Rule if counted.rule_percent(rule) < 10]
    assert not idle, f"switched off alone they change too few optima\n{counted.table()}"
    rare = [each for each in Metric if counted.present[each] < 10]
    rare += [each for each in Metric if counted.metric_percent(each) < 20]
    assert not rare, f"more than zero in too few optima\n{counted.table()}"
    assert 0 < counted.infeasible < 0.1 * counted.instances


def test_the_same_seed_asks_the_same_question() -> None:
    assert random_documents(3) == random_documents(3)
    assert random_documents(3) != random_documents(4)


@pytest.mark.parametrize("seed", SEEDS[:50])
def test_doing_nothing_is_legal_unless_a_job_is_required(seed: int) -> None:
    instance = random_instance(seed)
    assert [v for v in check(instance, instance.current) if v.rule != Rule.REQUIRED] == []


@pytest.mark.parametrize("seed", SEEDS[:50])
def test_the_oracle_finds_a_legal_placement_of_the_value_it_says(seed: int) -> None:
    instance = random_instance(seed)
    value, placement = best(instance)
    if placement is None:
        assert instance.required
        return
    assert check(instance, placement) == []
    assert measure(instance, placement, tiers_of(instance)) == value
    if not instance.required:
        assert value <= measure(instance, instance.current, tiers_of(instance))


def test_the_oracle_agrees_with_trying_all_placements_without_any_cut() -> None:
    """Also with a rule off, where the cuts that go with the rule must not be made."""
    tried = 0
    for seed in TINY_SEEDS:
        instance = random_instance(seed)
        rule = list(Rule)[seed % len(Rule)]
        for question in (instance, without(instance, rule)):
            choices = [
                list(multisets(spots_of(question, podset), podset.count))
                for podset in question.podsets
            ]
            size = 1
            for choice in choices:
                size *= len(choice)
            if size > MOST_NAIVE:
                continue
            tried += 1
            tiers = tiers_of(question)
            legal = (
                measure(question, placement, tiers)
                for placement in map(Placement, product(*choices))
                if not check(question, placement)
            )
            assert best(question)[0] == min(legal, default=None), (seed, question is instance)
    assert tried >= 10
