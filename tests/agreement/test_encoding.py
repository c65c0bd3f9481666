"""Checker and encoding agree on random placements, rule by rule and all together.

Under-filtering is an encoding that admits what the checker refuses, over-filtering one that
refuses what the checker admits.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from ortools.sat.python import cp_model

from kantopt.cp.model import PlacementModel
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.generate import random_instance
from tests.placements import random_placement

ALONE = 105
LEGAL = 900
MIXED = 300
PER_INSTANCE = 40

Case = tuple[int, Instance, Placement, frozenset[Rule]]


def fix(model: PlacementModel, placement: Placement) -> bool:
    """Admit nothing but a placement; false if the model has no way to say it."""
    values = model.assignment(placement)
    for var, value in values or ():
        model.cp.add(var == value)
    return values is not None


class Encodings:
    """The encodings of a question, each built once for all placements that it is asked about."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._built: dict[Rule | None, PlacementModel] = {}

    def admit(self, placement: Placement, rule: Rule | None = None) -> bool:
        """Whether the encoding of a rule (default: of all that hold) admits a placement."""
        model = self._built.get(rule)
        if model is None:
            rules = None if rule is None else [rule]
            model = self._built[rule] = PlacementModel(self._instance, rules=rules)
            assert model.cp.validate() == ""
        values = model.assignment(placement)
        if values is None:
            return False
        # Copies of the model would take longer than the solver: its own variables are fixed, and
        # are what they were afterwards.
        domains = [model.cp.proto.variables[var.index].domain for var, _ in values]
        before = [list(domain) for domain in domains]
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        try:
            for domain, (_, value) in zip(domains, values, strict=True):
                ends = list(domain)
                if not any(a <= value <= b for a, b in zip(ends[::2], ends[1::2], strict=True)):
                    return False
                domain.clear()
                domain.extend([value, value])
            return solver.solve(model.cp) == cp_model.OPTIMAL
        finally:
            for domain, ends in zip(domains, before, strict=True):
                domain.clear()
                domain.extend(ends)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Placements in fixed shares: legal ones, some that break each rule alone, some that mix.

    Drawn from random questions in the order of their seeds until every share is full.
    """
    found: list[Case] = []
    counts: Counter[frozenset[Rule] | None] = Counter()
    shares = {frozenset({rule}): ALONE for rule in Rule}
    shares[frozenset()] = LEGAL
    for seed in range(3_000):
        lacking = {kind for kind, share in shares.items() if counts[kind] < share}
        if not lacking:
            break
        # In the end only a few rules are looked for: what does not break one of them is no case.
        rare = () if frozenset() in lacking or counts[None] < MIXED else frozenset().union(*lacking)
        rng = random.Random(seed)
        instance = random_instance(seed)
        for _ in range(PER_INSTANCE):
            placement = random_placement(rng, instance)
            if rare and not check(instance, placement, rare):
                continue
            broken = frozenset(Rule(violation.rule) for violation in check(instance, placement))
            kind = broken if broken in shares else None
            if counts[kind] < shares.get(broken, MIXED):
                counts[kind] += 1
                found.append((seed, instance, placement, broken))
    return found


def test_the_placements_are_worth_comparing(cases: list[Case]) -> None:
    alone = Counter(rule for *_, broken in cases if len(broken) == 1 for rule in broken)
    few = {rule.value: alone[rule] for rule in Rule if alone[rule] < 100}
    assert not few, f"rules that fewer than 100 placements break alone: {few}"
    assert len(cases) >= 2_000
    assert sum(not broken for *_, broken in cases) >= 0.3 * len(cases)


def test_checker_and_encoding_agree_on_random_placements(cases: list[Case]) -> None:
    rng = random.Random(0)
    encodings: dict[int, Encodings] = {}
    for seed, instance, placement, broken in cases:
        if seed not in encodings:
            encodings = {seed: Encodings(instance)}
        admitted = encodings[seed].admit(placement)
        assert admitted == (not broken), f"seed {seed}: all rules, checker says {broken or 'legal'}"
        on = [rule for rule in Rule if instance.on(rule)]
        for rule in sorted({*broken, *rng.sample(on, 2)}):
            kind = "under-filtering" if rule in broken else "over-filtering"
            assert encodings[seed].admit(placement, rule) == (rule not in broken), (
                f"seed {seed}: {kind} of {rule}"
            )


def test_expressions_measure_what_the_metrics_measure() -> None:
    for seed in range(0, 150):
        instance = random_instance(seed)
        tiers = tiers_of(instance)
        placement = random_placement(random.Random(seed), instance)
        if check(instance, placement):
            continue
        for tier, value in zip(tiers, measure(instance, placement, tiers), strict=True):
            model = PlacementModel(instance)
            assert fix(model, placement)
            model.cp.minimize(model.expression(tier))
            solver = cp_model.CpSolver()
            solver.parameters.num_workers = 1
            assert solver.solve(model.cp) == cp_model.OPTIMAL
            assert round(solver.objective_value) == value, f"seed {seed}: {tier.name}"
