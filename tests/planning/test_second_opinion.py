"""HiGHS finds the same optimum as all the others, where it decides."""

from __future__ import annotations

import pytest

from kantopt.planning.certificates.second_opinion import least_by_highs, opinion, second_opinion
from kantopt.problem.tiers import tiers_of
from tests.generate import random_instance
from tests.oracle import best


@pytest.mark.parametrize("seed", range(25))
def test_highs_finds_the_optimum_of_brute_force(seed: int) -> None:
    instance = random_instance(seed)
    tiers = tiers_of(instance)
    values, _ = best(instance)
    if values is None:
        pytest.skip("a required job has no place")
    for i in range(len(tiers)):
        found = least_by_highs(instance, tiers, values, i, 30.0)
        assert found is None or found == (values[i], True), tiers[i].name


def test_an_opinion_comes_from_another_process_and_in_time() -> None:
    instance = random_instance(1)
    tiers = tiers_of(instance)
    values, _ = best(instance)
    assert values is not None
    given = second_opinion(instance, tiers, values, 0, 30.0)
    assert (given.solver, given.outcome, given.value) == ("HiGHS", "agrees", values[0])
    assert second_opinion(instance, tiers, values, 0, 0.0).outcome == "undecided"


def test_what_a_finding_means() -> None:
    assert opinion(None, 3) == "undecided"
    assert opinion((3, True), 3) == "agrees"
    assert opinion((3, False), 3) == "undecided"
    assert opinion((2, False), 3) == "contradicts"
    assert opinion((4, True), 3) == "contradicts"  # a plan at hand has 3
