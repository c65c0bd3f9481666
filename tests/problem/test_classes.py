"""Merged pods: the same optimum, tier by tier, and placements that go to and fro."""

from __future__ import annotations

import os
import random
from math import prod
from pathlib import Path
from typing import Any

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Spot
from kantopt.problem.derived.classes import Merged, merge_pods
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.jobs import Assignment, Job
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from scripts.bench import vm_rescheduling
from tests.campaign import some
from tests.generate import random_documents
from tests.oracle import best, job_options
from tests.placements import random_placement
from tests.questions import model, question
from tests.solved import solved

DATA = os.environ.get("KANTOPT_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="needs third-party data: KANTOPT_DATA unset")
SEEDS = 240
BLOCKS = 6
MOST_PLACEMENTS = 20_000


def twins(seed: int) -> Instance:
    """A random question in which some jobs are there several times, elsewhere or pending."""
    rng = random.Random(seed)
    snapshot, pending, chosen = random_documents(seed)
    running, waiting = list(snapshot.jobs), list(pending.jobs)
    nodes = [node.name for node in snapshot.nodes]
    for jobs in (running, waiting):
        for job in rng.sample(jobs, min(len(jobs), 2)):
            if len(job.pod_sets) == 1 and rng.random() < 0.8:
                jobs.remove(job)
                jobs += [_copy(rng, job, i, nodes) for i in range(rng.choice((2, 2, 3)))]
    if rng.random() < 0.3:
        limits = chosen.limits.model_copy(update={"evictions": 0})
        chosen = chosen.model_copy(update={"limits": limits})
    if rng.random() < 0.3:
        rules = chosen.rules.model_copy(update={"priority": "counts"})
        chosen = chosen.model_copy(update={"rules": rules})
    snapshot = snapshot.model_copy(update={"jobs": tuple(running)})
    chosen = chosen.model_copy(update={"required": ()})
    return build_instance(snapshot, waiting, chosen)


def _copy(rng: random.Random, job: Job, i: int, nodes: list[str]) -> Job:
    """The job with one pod, or as it is but for its name and place."""
    podset = job.pod_sets[0]
    changes: dict[str, object] = {}
    if rng.random() < 0.8:
        changes = {"count": 1, "min_count": None}
    if podset.assignments:
        count = int(str(changes.get("count", sum(a.count for a in podset.assignments))))
        changes |= {"count": count, "min_count": None}
        place = podset.assignments[0].node if rng.random() < 0.4 else rng.choice(nodes)
        changes["assignments"] = (Assignment(node=place, count=count),)
    if rng.random() < 0.7:
        changes |= {"pod_anti_affinity": (), "topology_spread_constraints": ()}
    if rng.random() < 0.5:
        changes["labels"] = {}
    podsets = (podset.model_copy(update=changes),)
    more: dict[str, object] = {"topology_request": None} if rng.random() < 0.5 else {}
    if "count" in changes:
        more["min_count"] = None  # else it could ask for more pods than there are
    return job.model_copy(update={"name": f"{job.name}-{i}", "pod_sets": podsets, **more})


def merges(instance: Instance) -> Merged | None:
    merged = merge_pods(instance)
    small = prod(len(job_options(instance, job)) for job in instance.jobs) <= MOST_PLACEMENTS
    return merged if merged.instance is not instance and small else None


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_the_merged_question_has_the_optimum_of_the_original(block: int) -> None:
    compared = 0
    for seed in range(block, SEEDS, BLOCKS):
        instance = twins(seed)
        merged = merges(instance)
        if merged is None or check(instance, instance.current):
            continue
        compared += 1
        expected, _ = best(instance)
        outcome = solved(merged.instance, merged.tiers(tiers_of(instance)))
        assert outcome.placement is not None
        placement = merged.expand(outcome.placement)
        assert check(instance, placement) == [], f"seed {seed}"
        assert measure(instance, placement, tiers_of(instance)) == expected, f"seed {seed}"
        assert outcome.bounds == expected, f"seed {seed}"
    assert compared >= 10


def test_placements_go_to_and_fro() -> None:
    compared, seeds = 0, some(range(1600))
    for seed in seeds:
        instance = twins(seed)
        merged = merge_pods(instance)
        if merged.instance is instance:
            continue
        tiers = tiers_of(instance)
        rng = random.Random(seed)
        for _ in range(10):
            placement = random_placement(rng, instance)
            small = merged.shrink(placement)
            back = merged.expand(small)
            assert merged.shrink(back) == small, f"seed {seed}"
            broken = check(merged.instance, small)
            assert bool(broken) == bool(check(instance, back)), f"seed {seed}"
            if not broken:
                values = measure(instance, back, tiers)
                counted = measure(merged.instance, small, merged.tiers(tiers))
                assert counted == values, f"seed {seed}"
            if not check(instance, placement):
                compared += 1
                assert not broken, f"seed {seed}"
                before = measure(instance, placement, tiers)
                assert all(v <= w for v, w in zip(values, before, strict=True)), f"seed {seed}"
    assert compared >= len(seeds) / 2


def vms(count: int, **more: Any) -> list[dict[str, Any]]:
    """Running jobs of one pod, all alike but for where they run."""
    jobs = []
    for i in range(count):
        podset = {"count": 1, "requests": {"cpu": 1}, "assignments": [{"node": f"n{i % 2}"}]}
        podset |= more.get("podset", {})
        jobs.append({"name": f"r{i}", "podSets": [podset], **more.get("job", {})})
    return jobs


def asked(
    running: list[dict[str, Any]], pending: list[dict[str, Any]], *objectives: Any, **more: Any
) -> Merged:
    nodes = [{"name": f"n{i}", "allocatable": {"cpu": 9}} for i in range(2)]
    chosen = model(*(objectives or ("nodes_in_use", "moves")), **more)
    return merge_pods(question(nodes, running, pending).instance(chosen))


def classes(merged: Merged) -> list[int]:
    return [len(members) for members in merged.members]


def waiting(count: int, **more: Any) -> list[dict[str, Any]]:
    podset = {"count": 1, "requests": {"cpu": 1}}
    return [{"name": f"p{i}", "podSets": [podset], **more} for i in range(count)]


def test_pods_of_jobs_alike_make_one_pod_set() -> None:
    merged = asked(vms(5, job={"preemptible": False}), waiting(3))
    assert classes(merged) == [5, 3]
    assert [podset.count for podset in merged.instance.podsets] == [5, 3]
    assert merged.instance.podsets[0].current == {Spot(0): 3, Spot(1): 2}
    assert [len(merged.instance.jobs), len(merged.original.jobs)] == [2, 8]


def test_pods_stay_where_they_are_when_a_merged_placement_is_expanded() -> None:
    merged = asked(vms(4, job={"preemptible": False}), [])
    spread = merged.expand(Placement(({Spot(0): 1, Spot(1): 3},)))
    assert spread.podsets == ({Spot(0): 1}, {Spot(1): 1}, {Spot(1): 1}, {Spot(1): 1})


@pytest.mark.parametrize("limits", [{}, {"movesPerJob": 1}])
def test_limits_of_each_job_that_cannot_bind_do_not_hold_for_all_of_them_together(
    limits: dict[str, int],
) -> None:
    jobs = vms(4, job={"preemptible": False, "maxMoves": 1})
    merged = asked(jobs, [], limits=limits)
    assert classes(merged) == [4]
    there = Placement(({Spot(1): 4},))
    assert check(merged.instance, there) == []
    assert check(merged.original, merged.expand(there)) == []


@pytest.mark.parametrize(
    ("running", "pending", "more"),
    [
        # An eviction must be justified by the place that was left, and others may have moved.
        (vms(2), waiting(1, priority=5), {}),
        # Gangs of several pods.
        ([], [{"name": n, "podSets": [{"count": 2}]} for n in "ab"], {}),
        # Jobs that must be placed.
        ([], waiting(2), {"required": ["p0", "p1"]}),
    ],
)
def test_what_a_rule_can_tell_apart_is_left_alone(
    running: list[dict[str, Any]], pending: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    merged = asked(running, pending, **more)
    assert merged.instance is merged.original
    assert set(classes(merged)) == {1}


def test_pods_that_rules_name_are_left_alone() -> None:
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    named = {"labels": {"a": "b"}, "podAntiAffinity": [apart]}
    assert classes(asked(vms(3, podset=named, job={"preemptible": False}), [])) == [1, 1, 1]


def test_pods_that_differ_in_anything_that_counts_are_apart() -> None:
    jobs = vms(6, job={"preemptible": False})
    jobs[1]["priority"] = 3
    jobs[2]["moveMode"] = "live"
    jobs[3]["podSets"][0]["requests"] = {"cpu": 2}
    jobs[4]["movable"] = False
    assert classes(asked(jobs, [])) == [2, 1, 1, 1, 1]


def test_unplaced_jobs_of_one_pod_are_counted_as_pods() -> None:
    unit = {"unplaced": {"unit": "job"}}
    merged = asked([], waiting(12), unit)
    assert classes(merged) == [12]
    tiers = tiers_of(merged.original)
    assert [tier.unit for tier in tiers] == ["jobs"]
    assert [tier.unit for tier in merged.tiers(tiers)] == ["pods"]
    mixed = asked([], [*waiting(12), {"name": "gang", "podSets": [{"count": 2}]}], unit)
    assert set(classes(mixed)) == {1}
    assert merged.tiers(tiers) != mixed.tiers(tiers_of(mixed.original))


def test_pending_jobs_whose_waiting_counts_are_left_alone() -> None:
    pods = waiting(2, creationTime="2026-01-01T00:00:00Z")
    metadata = {"capturedAt": "2026-01-01T01:00:00Z"}
    nodes = [{"name": "n", "allocatable": {"cpu": 1}}]
    for metric, expected in (("waiting", [1, 1]), ("nodes_in_use", [2])):
        made = question(nodes, [], pods, metadata=metadata).instance(model(metric))
        assert classes(merge_pods(made)) == expected


@pytest.mark.data
@needs_data
def test_the_vm_snapshot_has_eleven_kinds_of_vms() -> None:
    made = vm_rescheduling.cases(Path(str(DATA)))[0].make()
    asked_model = vm_rescheduling.model("mnl-50")(made)
    instance = build_instance(made.snapshot, made.pending, asked_model)
    merged = merge_pods(instance)
    assert (len(instance.podsets), len(merged.instance.podsets)) == (2089, 11)
    assert merged.expand(merged.instance.current).podsets == instance.current.podsets
