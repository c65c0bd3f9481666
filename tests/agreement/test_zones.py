"""Zones: the exact search proves what brute force finds where nodes are set apart."""

from __future__ import annotations

import random

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.zone import Zone
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.generate import random_documents
from tests.oracle import best
from tests.solved import solved


def zoned(seed: int, *, apart: bool = True) -> Instance:
    """A random question with some of its nodes set apart for one of its jobs, or not."""
    rng = random.Random(seed)
    snapshot, jobs, model = random_documents(seed)
    labels = sorted({f"{k}={v}" for n in snapshot.nodes for k, v in n.labels.items()})
    names = [job.name for job in (*snapshot.jobs, *jobs.jobs)]
    zone = Zone(nodes=rng.choice(labels), jobs=(rng.choice(names),)) if apart else None
    return build_instance(snapshot, jobs.jobs, model.model_copy(update={"zone": zone}))


def test_search_proves_what_brute_force_finds() -> None:
    mattered = 0
    for seed in range(200, 250):
        instance = zoned(seed)
        tiers = tiers_of(instance)
        expected, _ = best(instance)
        outcome = solved(instance, tiers)
        assert outcome.infeasible == (expected is None), f"seed {seed}"
        mattered += best(zoned(seed, apart=False))[0] != expected
        if expected is None:
            continue
        assert outcome.placement is not None
        assert not check(instance, outcome.placement), f"seed {seed}"
        assert measure(instance, outcome.placement, tiers) == expected, f"seed {seed}"
        assert outcome.bounds == expected, f"seed {seed}"
    assert mattered >= 10
