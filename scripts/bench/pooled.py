"""Pools that share nothing: instances of pods by priority side by side in one cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.schema.jobs import Job
from scripts.bench.case import Case, Documents

SUITE = "pools"
_POOL = "bench.example/pool"


def pooled(cases: Sequence[Case]) -> Case:
    """Return the instance of which each pool is one of these; its seed is that of the first."""
    name = f"{len(cases)}-of-{cases[0].instance}"
    return Case(SUITE, name, cases[0].seed, {}, lambda: _together([case.make() for case in cases]))


def _together(pools: Sequence[Documents]) -> Documents:
    nodes = tuple(
        node.model_copy(
            update={"name": f"p{k}-{node.name}", "labels": {**node.labels, _POOL: f"p{k}"}}
        )
        for k, pool in enumerate(pools)
        for node in pool.snapshot.nodes
    )
    running = tuple(job for k, pool in enumerate(pools) for job in _of(k, pool.snapshot.jobs))
    snapshot = pools[0].snapshot.model_copy(update={"nodes": nodes, "jobs": running})
    return Documents(
        snapshot, tuple(job for k, pool in enumerate(pools) for job in _of(k, pool.pending))
    )


def _of(k: int, jobs: Sequence[Job]) -> Iterator[Job]:
    """Name jobs and the nodes they run on after their pool, and keep them to it."""
    for job in jobs:
        podsets = tuple(
            podset.model_copy(
                update={
                    "node_selector": {**podset.node_selector, _POOL: f"p{k}"},
                    "assignments": tuple(
                        place.model_copy(update={"node": f"p{k}-{place.node}"})
                        for place in podset.assignments
                    ),
                }
            )
            for podset in job.pod_sets
        )
        yield job.model_copy(update={"name": f"p{k}-{job.name}", "pod_sets": podsets})
