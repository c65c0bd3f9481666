"""Certificates tell the truth, and what does not is refused."""

from __future__ import annotations

import random

import pytest

from kantopt.problem.build import build_instance
from tests.generate import random_documents
from tests.mutations import certificates, try_mutations
from tests.oracle import best


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_changed_certificate_is_refused_exactly_if_it_claims_what_is_not_so(seed: int) -> None:
    for certificate, raws in certificates(seed):
        went = try_mutations(certificate, raws, random.Random(seed), 20)
        assert went["refused: a claim was false"]


@pytest.mark.parametrize("seed", range(20, 26))
def test_bounds_are_at_most_the_optimum_and_the_optimal_is_optimal(seed: int) -> None:
    snapshot, jobs, model = random_documents(seed)
    optimum, _ = best(build_instance(snapshot, jobs.jobs, model))
    for certificate, _ in certificates(seed):
        if optimum is None:
            assert certificate.required_impossible or certificate.verdict == "OPEN"
            continue
        values = tuple(tier.value for tier in certificate.tiers)
        if certificate.verdict == "OPTIMAL":
            assert values == optimum
        same = True
        for tier, least in zip(certificate.tiers, optimum, strict=True):
            # The bound is for plans no worse above: of these the optimum is one while all is equal.
            if same and tier.bound is not None:
                assert tier.bound <= least, tier.name
            same = same and tier.value == least
