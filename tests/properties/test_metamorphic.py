"""What must not matter does not, and what can only help does not hurt.

Tier values are proved optimal on both sides of every comparison.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.dump import dump_data
from kantopt.schema.jobs import Job, JobList
from kantopt.schema.model import Model
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.verify.metrics import measure
from tests.generate import random_documents
from tests.questions import document, model
from tests.solved import solved as proved

SEEDS = range(120)
PODS_ONLY = model({"unplaced": {"unit": "pod"}}, "evictions", "moves")

Documents = tuple[ClusterSnapshot, JobList, Model]


def solved(snapshot: ClusterSnapshot, jobs: tuple[Job, ...], asked: Model) -> tuple[Instance, Any]:
    """Return the instance and its optimal placement, ``None`` if nothing is legal."""
    instance = build_instance(snapshot, jobs, asked)
    return instance, proved(instance, tiers_of(instance)).placement


def values(snapshot: ClusterSnapshot, jobs: tuple[Job, ...], asked: Model) -> Any:
    """Return the optimal tier values by name, ``None`` if nothing is legal."""
    instance, placement = solved(snapshot, jobs, asked)
    if placement is None:
        return None
    tiers = tiers_of(instance)
    names = [tier.name for tier in tiers]
    return list(zip(names, measure(instance, placement, tiers), strict=True))


def renamed(data: Any, names: dict[str, str]) -> Any:
    """Return a document with some strings replaced wherever they stand."""
    if isinstance(data, dict):
        return {key: renamed(value, names) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [renamed(value, names) for value in data]
    return names.get(data, data) if isinstance(data, str) else data


def again(data: Any, cls: Any) -> Any:
    """Return a document from its data."""
    return document(json.loads(json.dumps(data)), cls)


@pytest.mark.parametrize("seed", SEEDS)
def test_names_and_order_do_not_matter(seed: int) -> None:
    snapshot, jobs, asked = random_documents(seed)
    names = {
        node.name: f"machine-{i * 7 % 11}-{node.name}" for i, node in enumerate(snapshot.nodes)
    }
    names |= {job.name: f"work-{i * 5 % 13}-{job.name}" for i, job in enumerate(snapshot.jobs)}
    names |= {job.name: f"wish-{i * 3 % 17}-{job.name}" for i, job in enumerate(jobs.jobs)}
    names |= {f"default/{old}": f"default/{new}" for old, new in list(names.items())}
    rng = random.Random(seed)
    cluster = renamed(dump_data(snapshot), names)
    wishes = renamed(dump_data(jobs), names)
    for shuffled in (cluster.get("nodes", []), cluster.get("jobs", []), wishes.get("jobs", [])):
        rng.shuffle(shuffled)
    other = (
        again(cluster, ClusterSnapshot),
        again(wishes, JobList).jobs,
        again(renamed(dump_data(asked), names), Model),
    )
    assert values(*other) == values(snapshot, jobs.jobs, asked)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_idle_node_never_hurts_placement(seed: int) -> None:
    """Spread is left out: an empty domain more can make pods that arrive elsewhere skewed."""
    snapshot, jobs, asked = random_documents(seed)
    rules = asked.rules.model_copy(update={"spread": "off"})
    asked = asked.model_copy(update={"rules": rules, "objectives": PODS_ONLY.objectives})
    before = values(snapshot, jobs.jobs, asked)
    idle = snapshot.nodes[0].model_copy(update={"name": "idle", "labels": {}})
    wider = snapshot.model_copy(update={"nodes": (*snapshot.nodes, idle)})
    after = values(wider, jobs.jobs, asked)
    assert before is None or after <= before


@pytest.mark.parametrize("seed", SEEDS)
def test_planning_the_planned_changes_nothing(seed: int) -> None:
    """Budgets and limits are left out: both would be full again the second time.

    Where pods were evicted, the second plan may place them elsewhere, as new pods. A required job
    that takes room from a more important one may not evict for it; once it runs, the other may.
    """
    snapshot, jobs, asked = random_documents(seed)
    rules = asked.rules.model_copy(update={"disruption": "off"})
    asked = asked.model_copy(
        update={"rules": rules, "objectives": PODS_ONLY.objectives, "limits": PODS_ONLY.limits}
    )
    instance, placement = solved(snapshot, jobs.jobs, asked)
    if placement is None:
        return
    tiers = tiers_of(instance)
    first = dict(zip((t.name for t in tiers), measure(instance, placement, tiers), strict=True))
    second = values(applied(snapshot, jobs.jobs, instance, placement), (), asked)
    unplaced = [(name, value) for name, value in second if name.startswith("unplaced")]
    evicted = any(value for name, value in first.items() if name.startswith("evictions"))
    waits = {
        instance.job_of(podset.index).priority
        for podset in instance.podsets
        if placement.placed(podset.index) < podset.count
    }
    favoured = any(instance.jobs[j].priority < max(waits, default=0) for j in instance.required)
    expected = [(name, first[name]) for name, _ in unplaced]
    if evicted or favoured:
        assert unplaced <= expected
    else:
        assert unplaced == expected
        assert not any(value for name, value in second if not name.startswith("unplaced"))


def applied(
    snapshot: ClusterSnapshot, jobs: tuple[Job, ...], instance: Instance, placement: Placement
) -> ClusterSnapshot:
    """Return the snapshot after a plan: every job where the placement has it."""
    documents = []
    for job, spec in zip(instance.jobs, (*snapshot.jobs, *jobs), strict=True):
        podsets = []
        for role, podset in zip(job.roles, spec.pod_sets, strict=True):
            assignments = [
                {
                    "node": instance.nodes[spot.node].name,
                    "count": pods,
                    "devices": list(spot.devices),
                }
                for s in role.podsets
                for spot, pods in sorted(placement.podsets[s].items())
            ]
            podsets.append({**dump_data(podset), "assignments": assignments})
        documents.append({**dump_data(spec), "podSets": podsets})
    data = {**dump_data(snapshot), "jobs": documents}
    return again(data, ClusterSnapshot)  # type: ignore[no-any-return]
