"""Units: pods that go together, whoever schedules them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from kantopt.formats.kubernetes.gangs import GangRef
from kantopt.formats.kubernetes.job_sets import JobSets
from kantopt.formats.kubernetes.jobs import Member
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.priorities import Priorities
from kantopt.formats.kubernetes.ray_clusters import RayClusters
from kantopt.formats.notes import Notes
from kantopt.formats.view import View

_LWS = "leaderworkerset.sigs.k8s.io"
_KUBEFLOW = "training.kubeflow.org"
_TRAINING = re.compile(r"(PyTorch|MPI|TF|XGBoost|Paddle|JAX)Job")


class Units:
    """Tells which unit a pod belongs to.

    A LeaderWorkerSet makes all pods of a group anew when one of them goes, unless its restart
    policy is ``None``; a training job whose pods are never restarted ends with any of them, and the
    run of an MPIJob ends with any, as its launcher then starts it from the beginning. What a Job of
    Volcano's does its policies say, and what a JobSet does its ``failurePolicy``. With
    ``group`` lifted pods go one by one whose owners make them anew so, whatever becomes of the run.
    """

    def __init__(self, objects: Objects, lifted: Collection[str] = ()) -> None:
        self._apart = {
            name
            for name, view in objects.by_name(_LEADERS, "LeaderWorkerSet").items()
            if view.at("spec", "leaderWorkerTemplate").text("restartPolicy") == "None"
        }
        self._volcano = objects.by_name("batch.volcano.sh", "Job")
        self._by_ones = "group" in lifted
        self._job_sets = JobSets(objects, by_ones=self._by_ones)
        self._ray = RayClusters(objects)
        self._notes = objects.notes

    def into(self, pod: Pod) -> Pod:
        """Return a pod that knows its unit."""
        name = pod.labels.get(f"{_LWS}/name", "")
        if name and (pod.namespace, name) not in self._apart:
            return replace(pod, unit=f"{name}-{pod.labels.get(f'{_LWS}/group-index', '0')}")
        if _TRAINING.fullmatch(pod.owner_kind) and pod.restarts == "Never":
            return replace(pod, unit=pod.owner_name, ends_others=True, ends_job=True)
        mpi_job = _mpi_job(pod)
        if mpi_job and not self._by_ones:
            return replace(pod, unit=mpi_job, ends_others=_is_launcher(pod))
        of_set = self._job_sets.into(pod)
        if of_set is not None:
            return of_set
        called = pod.labels.get("volcano.sh/job-name", "")
        job = self._volcano.get((pod.namespace, called))
        if called and job is None and pod.node:
            text = "Jobs of Volcano's that are not in the input bear the loss of any of their pods"
            self._notes.add(text, f"{pod.namespace}/{called}")
        if job is None:
            return self._ray.into(pod)
        action = _on_eviction(job, pod.annotations.get("volcano.sh/task-spec", ""))
        if action in _OF_ALL or action in _OF_SOME:
            ends = action in _OF_ALL and (action != "RestartJob" or _last_try(job))
            some = action in _OF_SOME
            return replace(pod, unit=called, ends_others=ends or some, ends_job=ends)
        return pod


def with_unit_priorities(
    members: Sequence[Member], priorities: Priorities, notes: Notes
) -> list[Member]:
    """Give the running pods of each unit the priority and the policy of its most important one.

    Whoever evicts one of them takes all, so that nobody may who is not more important than each.
    Pods that wait keep their own, by which they evict others. Gangs have one priority anyway.
    """
    units: dict[tuple[str, str], list[Pod]] = {}
    for pod in (member.pod for member in members if _goes_with_unit(member)):
        units.setdefault((pod.namespace, pod.unit), []).append(pod)
    first = {unit: max(pods, key=priorities.of) for unit, pods in units.items()}
    for (namespace, unit), pods in units.items():
        if len({priorities.of(pod) for pod in pods}) > 1:
            text = "pods that go together and are of several priorities are given the highest"
            notes.add(text, f"{namespace}/{unit}")
    return [
        replace(member, pod=_with_priority_of(first[member.pod.namespace, member.pod.unit], member))
        if _goes_with_unit(member)
        else member
        for member in members
    ]


def with_unit_gangs(members: Sequence[Member]) -> list[Member]:
    """Take the running pods of a unit into its gang, if some are in one and all others in none."""
    gangs: dict[tuple[str, str], set[GangRef]] = {}
    for member in members:
        if member.gang is not None and _runs_in_unit(member.pod):
            unit = (member.pod.namespace, member.pod.unit)
            gangs.setdefault(unit, set()).add(replace(member.gang, role=""))
    return [
        replace(member, gang=next(iter(found)))
        if _goes_with_unit(member)
        and not member.pod.terminating
        and len(found := gangs.get((member.pod.namespace, member.pod.unit), ())) == 1
        else member
        for member in members
    ]


def _goes_with_unit(member: Member) -> bool:
    """Whether a pod that is no member of a gang runs, and others end with it."""
    return member.gang is None and _runs_in_unit(member.pod)


def _runs_in_unit(pod: Pod) -> bool:
    return bool(pod.unit and pod.node) and not pod.shape.get("nominated")


def _with_priority_of(first: Pod, member: Member) -> Pod:
    return replace(
        member.pod,
        priority=first.priority,
        priority_class=first.priority_class,
        preemption_policy=first.preemption_policy,
    )


def _mpi_job(pod: Pod) -> str:
    """Return the MPIJob of a pod, if any: its launcher may be owned by a Job between them."""
    if pod.owner_kind == "MPIJob":
        return pod.owner_name
    return pod.labels.get(f"{_KUBEFLOW}/job-name", "") if _is_launcher(pod) else ""


def _is_launcher(pod: Pod) -> bool:
    """Whether a pod runs ``mpirun``: made anew, it starts all ranks from the beginning."""
    roles = (f"{_KUBEFLOW}/job-role", f"{_KUBEFLOW}/replica-type")
    return any(pod.labels.get(role, "") == "launcher" for role in roles)


def _on_eviction(job: View, role: str) -> str:
    """Return what Volcano does with a Job of which a pod is evicted: a task's policies come first.

    A pod that is deleted while it runs is evicted for it, whoever did so.
    """
    spec = job.at("spec")
    own = next((task for task in spec.list("tasks") if task.text("name", "default") == role), None)
    for rule in (*(() if own is None else own.list("policies")), *spec.list("policies")):
        events = rule.raw.get("events")
        if not {"PodEvicted", "*"}.isdisjoint(
            (rule.text("event"), *(events if isinstance(events, list) else ()))
        ):
            action = rule.text("action")
            alone = own is not None and own.integer("replicas", 0) == 1
            return "" if alone and action in _OF_SOME else action
    return ""


def _last_try(job: View) -> bool:
    """Whether a Job that is made anew once more fails instead."""
    tries = job.at("spec").integer("maxRetry", 0) or 3
    return (job.at("status").integer("retryCount", 0) or 0) + 1 >= tries


_OF_ALL = ("RestartJob", "AbortJob", "TerminateJob", "CompleteJob")
_OF_SOME = ("RestartTask", "RestartPartition")
"""Actions that take all pods of a Job along, and those that take some."""


_LEADERS = "leaderworkerset.x-k8s.io"
"""API group of what makes the pods; their labels have a prefix of their own."""
