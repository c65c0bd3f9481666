"""What jobs and pods may say more without being any different: names, times, defaults in words."""

from __future__ import annotations

from typing import Any

from kantopt.schema.jobs import Job, PodRef, PodSet
from kantopt.schema.snapshot import PriorityClass
from scripts.bench.features.stated import (
    MOMENT,
    Stated,
    each_job,
    each_pod_set,
    metrics_of,
    only_if,
    with_model,
    with_snapshot,
)

LONG_AGO = "2025-12-01T00:00:00Z"


def defaults_in_words(stated: Stated) -> Stated:
    """Roles say of themselves what their jobs say for them, and jobs may evict."""

    def of_pods(job: Job, podset: PodSet) -> dict[str, Any]:
        said: dict[str, Any] = {"preemptible": job.preemptible, "movable": job.movable}
        if job.disruption_mode == "single":
            said["disruption_cost"] = job.disruption_cost
        # What a role says itself stays.
        return {name: each for name, each in said.items() if getattr(podset, name) is None}

    made = each_pod_set(stated, of_pods)
    if made.snapshot.priority_classes:
        return made
    policy = "PreemptLowerPriority"
    return each_job(made, lambda job: {"preemption_policy": job.preemption_policy or policy})


def never_of_the_lowest(stated: Stated) -> Stated:
    """Jobs may evict nobody that have nobody below them."""
    lowest = stated.lowest_priority()
    return each_job(
        stated, lambda job: {"preemption_policy": "Never"} if job.priority == lowest else {}
    )


def named_classes(stated: Stated) -> Stated:
    """Priorities are those of classes that jobs name."""
    only_if(not stated.snapshot.priority_classes)
    only_if(not any(job.priority_class_name for job in stated.jobs))
    values = sorted({job.priority or 0 for job in stated.jobs})
    classes = tuple(PriorityClass(name=f"bench-{value}", value=value) for value in values)
    made = with_snapshot(stated, priority_classes=classes)
    return each_job(
        made,
        # The number stays, too: job lists know no classes of their own.
        lambda job: {
            "priority": job.priority or 0,
            "priority_class_name": f"bench-{job.priority or 0}",
        },
    )


def namespaces(stated: Stated) -> Stated:
    """Jobs are of four namespaces, and nobody asks of which."""
    only_if(not stated.snapshot.pod_disruption_budgets and not stated.asked.required)
    asked = [podset for _, podset in stated.pod_sets()]
    only_if(not any(p.pod_affinity or p.pod_anti_affinity for p in asked))
    number = {(job.namespace, job.name): j % 4 for j, job in enumerate(stated.jobs)}
    return each_job(
        stated, lambda job: {"namespace": f"{job.namespace}-{number[job.namespace, job.name]}"}
    )


def identities(stated: Stated) -> Stated:
    """Jobs have a uid and every pod a name, a uid, a version and a grace period; gates while it
    waits."""

    def named(job: Job, podset: PodSet) -> dict[str, Any]:
        def refs(first: int, count: int, **more: Any) -> tuple[PodRef, ...]:
            return tuple(
                PodRef(
                    name=f"{job.name}-{podset.name}-{n}",
                    uid=f"uid-{job.name}-{podset.name}-{n}",
                    resource_version="1000",
                    grace_period_seconds=30,
                    **more,
                )
                for n in range(first, first + count)
            )

        known, running = [], 0
        for place in podset.assignments:
            known.append(place.model_copy(update={"pods": refs(running, place.count)}))
            running += place.count
        waits = refs(running, podset.count - running, scheduling_gates=("bench.example/gate",))
        return {"assignments": tuple(known), "pods": waits}

    made = each_pod_set(stated, named)
    return each_job(made, lambda job: {"uid": f"uid-{job.name}"})


def min_runtime(stated: Stated) -> Stated:
    """Jobs must run for a minute before they are evicted, and have for weeks."""
    return each_job(times(stated), lambda _: {"min_runtime": "1m"})


def times(stated: Stated) -> Stated:
    """Jobs were submitted just now or started long ago, and have saved their work just now.

    So none has waited for long, and none loses anything by an eviction.
    """
    only_if(stated.snapshot.metadata.captured_at is None)
    metadata = stated.snapshot.metadata.model_copy(update={"captured_at": MOMENT})
    made = with_snapshot(stated, metadata=metadata)

    def timed(job: Job, _: PodSet) -> dict[str, Any]:
        return {"start_time": LONG_AGO, "last_checkpoint_time": MOMENT}

    return each_job(
        each_pod_set(made, timed),
        lambda _: {
            "creation_time": MOMENT,
            "start_time": LONG_AGO,
            "last_checkpoint_time": MOMENT,
        },
    )


def health_unready(stated: Stated) -> Stated:
    """Running pods are not ready, and no budget asks."""
    only_if(not stated.snapshot.pod_disruption_budgets)
    return each_pod_set(stated, lambda *_: {"health": "unready"})


def dirty_rate(stated: Stated) -> Stated:
    """Pods write into their memory, and no metric asks for what moves copy."""
    only_if("migration_cost" not in metrics_of(stated.asked))
    return each_pod_set(stated, lambda *_: {"dirty_rate": "100Mi"})


def assumed(stated: Stated) -> Stated:
    """Pods ask for what is not modelled, and the model takes it for granted."""
    made = each_pod_set(stated, lambda *_: {"not_modelled": ("claims",)})
    return with_model(made, assume=("claims",))
