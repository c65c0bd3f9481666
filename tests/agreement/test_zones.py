"""Zones: the exact search proves what brute force finds where nodes are set apart."""

from __future__ import annotations

import random

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.schema.zone import Zone
from tests.generate import random_documents
from tests.oracle import best
from tests.solved import agrees


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
        expected = agrees(instance, f"seed {seed}")
        mattered += best(zoned(seed, apart=False))[0] != expected
    assert mattered >= 10
