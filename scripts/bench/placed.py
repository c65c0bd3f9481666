"""Clusters with jobs placed as a scheduler would: one after the other, nobody moved or evicted."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.problem.build import build_instance
from kantopt.schema.jobs import Assignment, Job
from kantopt.schema.model import Model
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from scripts.bench.case import Documents


def emptied(documents: Documents) -> Documents:
    """Return the same cluster before anything ran: all jobs pending, by priority, then as listed.

    So the queue of Kubernetes' scheduler has them.
    """
    jobs = tuple(
        job.model_copy(
            update={
                "pod_sets": tuple(
                    podset.model_copy(update={"assignments": ()}) for podset in job.pod_sets
                )
            }
        )
        for job in documents.jobs
    )
    queue = tuple(sorted(jobs, key=lambda job: -(job.priority or 0)))
    return Documents(documents.snapshot.model_copy(update={"jobs": ()}), queue)


def placed_by(documents: Documents, model: Model, strategy: Strategy) -> ClusterSnapshot:
    """Return the snapshot after a scheduler has taken the pending jobs in the order listed."""
    instance = build_instance(documents.snapshot, documents.pending, model)
    placement = construct(instance, Deadline(None), How(strategy, preempt=False, in_order=True))
    jobs: list[Job] = []
    for j, job in enumerate(documents.jobs):
        podsets = []
        for role, podset in zip(instance.jobs[j].roles, job.pod_sets, strict=True):
            spots = sorted(
                (spot, pods) for s in role.podsets for spot, pods in placement.podsets[s].items()
            )
            places = tuple(
                Assignment(node=instance.nodes[spot.node].name, count=pods, devices=spot.devices)
                for spot, pods in spots
            )
            podsets.append(podset.model_copy(update={"assignments": places}))
        if any(podset.assignments for podset in podsets):
            jobs.append(job.model_copy(update={"pod_sets": tuple(podsets)}))
    return documents.snapshot.model_copy(update={"jobs": tuple(jobs)})
