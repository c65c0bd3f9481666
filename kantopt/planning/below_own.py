"""Queues of which a plan takes more than they have beyond their own, where schedulers stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kantopt.planning.words import listed
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.verify.step import Step
from kantopt.verify.victims.preemptors import preemptors_of


def below_own(snapshot: ClusterSnapshot, instance: Instance, placement: Placement) -> Iterator[str]:
    """Name queues of which others take so much that their scheduler stops before the last job."""
    excess = {item.job: item.excess for item in snapshot.victims if item.excess}
    if not excess:
        return
    step = Step(instance, instance.current, placement)
    taken: dict[str, dict[str, Counter[str]]] = {}
    has: dict[str, Mapping[str, str | int]] = {}
    preemptors, running = preemptors_of(step), {job.full_name: job for job in snapshot.jobs}
    for job in step.changed_jobs:
        gone = {role.name: step.evicted(s) for role in job.roles if (s := role.running) is not None}
        by = preemptors.of_job(job) if any(gone.values()) else None
        document = running.get(job.name)
        if by is None or document is None or document.queue_name not in excess.get(by.name, ()):
            continue
        has[document.queue_name] = excess[by.name][document.queue_name]
        asked = taken.setdefault(document.queue_name, {}).setdefault(job.name, Counter())
        for podset in document.pod_sets:
            for resource, amount in podset.requests.items():
                asked[resource] += gone.get(podset.name, 0) * to_base(resource, amount)
    for queue, jobs in taken.items():
        total = sum(jobs.values(), Counter[str]())
        left = {r: to_base(r, amount) for r, amount in has[queue].items()}
        if not any(total[r] - each[r] < n for each in jobs.values() for r, n in left.items()):
            yield (
                f"queue {queue} has no more than it owns before all of {listed(sorted(jobs))} are "
                "gone: its scheduler stops then, and evicts the others only by other means"
            )
