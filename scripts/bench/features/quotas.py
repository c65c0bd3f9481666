"""Disruption budgets that let everybody go, queues that nobody fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kantopt.schema.base import LabelSelector
from kantopt.schema.model import Objective
from kantopt.schema.objectives import NoParameters
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import PodDisruptionBudget, Queue, QueueResource
from scripts.bench.features.jobs import times
from scripts.bench.features.stated import (
    Stated,
    each_job,
    each_pod_set,
    metrics_of,
    only_if,
    wanted,
    with_model,
    with_snapshot,
)

OWNER = "bench.example/job"
"""Label by which the pods of one job are told from others."""


def budget_allowed(stated: Stated) -> Stated:
    """A budget for each namespace that allows as many disruptions as pods run."""
    pods = sum(place.count for _, podset in stated.pod_sets() for place in podset.assignments)
    return _budgets(stated, disruptions_allowed=pods)


def budget_min_available(stated: Stated) -> Stated:
    """A budget for each namespace that wants none of the pods to stay."""
    return _budgets(stated, min_available=0, evict_unready=True)


def budget_max_unavailable(stated: Stated) -> Stated:
    """A budget for each namespace that lets all pods be away."""
    return _budgets(stated, max_unavailable="100%")


def budget_per_job(stated: Stated) -> Stated:
    """A budget for each job, as many disruptions as it has pods."""
    only_if(not stated.snapshot.pod_disruption_budgets)
    made = labelled(stated)
    budgets = tuple(
        PodDisruptionBudget(
            name=job.name,
            namespace=job.namespace,
            selector=of_job(job.name),
            disruptions_allowed=sum(podset.count for podset in job.pod_sets),
        )
        for job in made.jobs
    )
    return with_snapshot(made, pod_disruption_budgets=budgets)


def labelled(stated: Stated) -> Stated:
    """Give the pods of each job a label with its name."""
    return each_pod_set(stated, lambda job, podset: {"labels": {**podset.labels, OWNER: job.name}})


def of_job(name: str) -> LabelSelector:
    """Select the pods that :func:`labelled` has labelled."""
    return LabelSelector(match_labels={OWNER: name})


def queue(stated: Stated) -> Stated:
    """One queue of all jobs, its quota four hundred times what all of them ask for."""
    return _queued(stated, [Queue(name="bench", resources=_quota(stated, 400))])


def queue_reserved(stated: Stated) -> Stated:
    """That queue, with quota reserved for all jobs of which pods wait."""
    return each_job(queue(stated), lambda job: {"quota_reserved": bool(job.waiting)})


def cohort(stated: Stated) -> Stated:
    """Two queues of one cohort; what is not held of each is quota for twice what all jobs want."""
    borrowing = {"borrowing_limit": 1000, "lending_limit": 1000, "held": 1}
    quota = _quota(stated, 2, **borrowing)
    names = ("bench-a", "bench-b")
    return _queued(stated, [Queue(name=name, cohort="bench", resources=quota) for name in names])


def queue_min_runtime(stated: Stated) -> Stated:
    """A queue without quota whose pods must have run for a minute, as all have."""
    return _queued(times(stated), [Queue(name="bench", min_runtime="1m")])


def fair_shares(stated: Stated) -> Stated:
    """Two queues without quota, and last of all what they have less than their fair shares."""
    only_if("fair_share" not in metrics_of(stated.asked))
    made = _queued(stated, [Queue(name="bench-a", weight=2), Queue(name="bench-b")])
    more = Objective(fair_share=NoParameters())
    return with_model(made, objectives=(*(made.asked.objectives or ()), more))


def _budgets(stated: Stated, **limit: Any) -> Stated:
    only_if(not stated.snapshot.pod_disruption_budgets)
    budgets = tuple(
        PodDisruptionBudget(
            name="bench",
            namespace=namespace,
            selector=LabelSelector(),
            uid=f"uid-{namespace}",
            resource_version="1",
            **limit,
        )
        for namespace in dict.fromkeys(job.namespace for job in stated.jobs)
    )
    return with_snapshot(stated, pod_disruption_budgets=budgets)


def _quota(stated: Stated, times: int, **more: Any) -> tuple[QueueResource, ...]:
    return tuple(
        QueueResource(name=resource, nominal_quota=from_base(resource, times * amount + 1), **more)
        for resource, amount in wanted(stated).items()
    )


def _queued(stated: Stated, queues: Sequence[Queue]) -> Stated:
    only_if(not stated.snapshot.queues)
    names = {
        (job.namespace, job.name): queues[j % len(queues)].name for j, job in enumerate(stated.jobs)
    }
    made = each_job(stated, lambda job: {"queue_name": names[job.namespace, job.name]})
    return with_snapshot(made, queues=tuple(queues))
