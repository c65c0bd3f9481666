"""Bounds from what domains could hold: never above the optimum, whatever the multipliers are."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from kantopt.cp.masters.domain_prices import domain_prices_of, views_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.certificate import Multiplier, RegionView, Witness
from kantopt.verify.witness.check import proved_bound
from kantopt.verify.witness.domains import domain_rows, valued
from kantopt.verify.witness.regions import View
from tests.domain_trials import bounds_by_domains
from tests.generate import random_instance
from tests.oracle import best
from tests.verify.world import Document, job, node, pods, question

SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_prices_prove_more_than_the_optimum(seed: int) -> None:
    instance = random_instance(seed)
    tiers, rng = tiers_of(instance), random.Random(seed)
    values, _ = best(instance)
    if values is None:
        pytest.skip("a required job has no place")
    for i, tier in enumerate(tiers):
        for locks in ({}, dict(zip(tiers[:i], values[:i], strict=True))):
            for bound in bounds_by_domains(instance, tiers, i, locks, rng, values[i]):
                assert bound <= values[i], (tier.name, bool(locks))


def three_gangs_in_two_racks() -> Instance:
    """Two racks of three nodes; three gangs of two whole nodes each would rather be in one."""
    nodes: list[Document] = [
        node(f"{rack}{k}", gpu=8, rack=f"b/{rack}") for rack in "xy" for k in range(3)
    ]
    jobs: list[Document] = [
        job(
            name,
            pods(count=2, minCount=2, cpu=0, gpu=8, topologyRequest={"preferred": "rack"}),
        )
        for name in ("a", "b", "c")
    ]
    objectives: list[object] = [{"unplaced": {"by": "all", "unit": "job"}}, "domains_crossed"]
    return question(nodes, jobs, objectives=objectives)


def test_prices_that_nobody_could_check_end_the_search_for_prices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where a pod that is evicted loses a million GPU-seconds."""
    instance = three_gangs_in_two_racks()
    tiers = tiers_of(instance)
    domains = domain_rows(instance, tiers, 1, {tiers[0]: 0}, View("rack", "nvidia.com/gpu", 8))
    assert domain_prices_of(domains, 1, lambda: False) is not None
    monkeypatch.setattr("kantopt.verify.witness.domains.MOST", 1)
    assert domain_prices_of(domains, 1, lambda: False) is None


def of_racks(values: Mapping[str, int], denominator: int = 1, step: int = 8) -> Witness:
    return Witness(
        formula="domains",
        denominator=denominator,
        multipliers=tuple(Multiplier(row=row, value=k) for row, k in values.items()),
        view=RegionView(level="rack", resource="nvidia.com/gpu", step=step),
    )


def test_a_gang_must_cross_where_no_sums_of_sizes_fill_the_racks() -> None:
    """A pod is worth 1, a rack that a gang uses costs 1: a rack gains 3 - 2, a gang 2 - 1."""
    instance = three_gangs_in_two_racks()
    tiers = tiers_of(instance)
    values = {f"pods default/{name}/main": 1 for name in ("a", "b", "c")}
    values |= {f"domains_crossed of default/{name}/main": 1 for name in ("a", "b", "c")}
    assert proved_bound(of_racks(values), instance, tiers, 1, {tiers[0]: 0}) == 1
    assert proved_bound(of_racks(values, step=1), instance, tiers, 1, {tiers[0]: 0}) == 1
    assert proved_bound(of_racks(values), instance, tiers, 1, {tiers[0]: 1}) == 0
    assert proved_bound(of_racks(values), instance, tiers, 1, {}) == 0


def test_prices_that_prove_it_are_found() -> None:
    instance = three_gangs_in_two_racks()
    tiers = tiers_of(instance)
    view = next(views_of(instance, tiers, 1))
    assert view == View("rack", "nvidia.com/gpu", 8)
    domains = domain_rows(instance, tiers, 1, {tiers[0]: 0}, view)
    prices = domain_prices_of(domains, 1, lambda: False)
    assert prices is not None
    found = valued(domains, *prices, lambda: False)
    assert found is not None
    assert found.bound == 1


@pytest.mark.parametrize(
    ("witness", "message"),
    [
        (of_racks({"pods of nobody": 1}), "is no row of this bound"),
        (of_racks({"domains_crossed of default/a/main": 3}, 2), "counts more often than"),
        (of_racks({"pods default/a/main": 2**61}), "too large"),
        (of_racks({"pods default/a/main": 1}).model_copy(update={"view": None}), "no view"),
        (
            of_racks({}).model_copy(update={"view": RegionView(level="row", resource="cpu")}),
            "row is no level|counts no regions of level row",
        ),
        (
            of_racks({}).model_copy(update={"view": RegionView(level="rack", resource="ink")}),
            "ink by 1 is no measure",
        ),
    ],
)
def test_what_is_no_witness_is_refused(witness: Witness, message: str) -> None:
    instance = three_gangs_in_two_racks()
    tiers = tiers_of(instance)
    with pytest.raises(ValueError, match=message):
        proved_bound(witness, instance, tiers, 1, {tiers[0]: 0})
