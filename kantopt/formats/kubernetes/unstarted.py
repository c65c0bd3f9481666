"""Jobs that a batch system has made no pods for yet: Kueue's Workloads, Volcano's Jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kantopt.formats.kubernetes.gangs import PODSET, Dialect, GangRef, gang_of
from kantopt.formats.kubernetes.jobs import Member
from kantopt.formats.kubernetes.kueue.stopped import StoppedQueues
from kantopt.formats.kubernetes.kueue.workloads import (
    BETWEEN,
    JobPods,
    Slices,
    admitted,
    has_finished,
    into_domains,
    is_open,
    may_run_unseen,
    owners_of,
)
from kantopt.formats.kubernetes.nodes import bounded
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import QUEUE_NAME, Pod, read_template
from kantopt.formats.view import View

VOLCANO_JOBS = "batch.volcano.sh"
"""API group of Volcano's Jobs."""
_GROWTH = "until Kueue lets a job grow (workload slices)"


def unstarted(objects: Objects, pods: Sequence[Pod]) -> Iterator[Member]:
    """Yield what jobs without pods ask for, by their templates.

    A job of which any pod exists waits by its pods.
    """
    yield from _workloads(objects, pods)
    yield from _volcano(objects, pods)


def _workloads(objects: Objects, pods: Sequence[Pod]) -> Iterator[Member]:
    """Kueue's Workloads that wait for admission, suspended jobs, or have none of their pods yet."""
    workloads = [*objects.of(Dialect.KUEUE, "Workload")]
    if not workloads:
        return
    # Pods that terminate are of a Workload that waits again, but hold what it was admitted for.
    staying = [pod for pod in pods if not pod.terminating]
    groups = {(ref.namespace, ref.name) for ref in map(gang_of, staying) if ref is not None}
    owners = {uid for pod in staying for uid in (pod.owner_uid, pod.ref.uid) if uid}
    going = (gang_of(pod) for pod in pods if pod.terminating)
    leaving = {(ref.namespace, ref.name) for ref in going if ref is not None}
    between = {uid for kind in BETWEEN for view in objects.of(*kind) for uid in owners_of(view)}
    slices, job_pods = Slices(objects), JobPods(objects)
    stopped = StoppedQueues(objects)
    for view in workloads:
        spec, status = view.at("spec"), view.at("status")
        namespace, name = view.key
        uids = {*owners_of(view)}
        has_pods = (namespace, name) in groups or not owners.isdisjoint({*uids, view.uid} - {""})
        given = admitted(view) if "admission" in status else {}
        lacking = job_pods.lacking(view, given) if has_pods and is_open(view) else 0
        grows = slices.grow(view, job_pods.there(view))
        has_pods = has_pods and not grows
        if has_finished(view) or view.key in slices.replaced or (has_pods and not lacking):
            continue
        if given and not has_pods and (namespace, name) in leaving:
            continue
        if given and not has_pods and may_run_unseen(view, between):
            text = "Workloads that hold quota and whose pods are not found here: it counts as free"
            objects.notes.add(text, f"{namespace}/{name}")
            continue
        held_back = "" if has_pods else stopped.hold_back(view, admitted=bool(given))
        held_back = held_back or (_GROWTH if grows else "")
        queue = spec.text("queueName")
        owner = min(((o.text("uid"), o.text("name")) for o in view.owners), default=("", ""))
        labels = {QUEUE_NAME: queue} if queue else {}
        if given and not held_back:
            text = "Workloads that hold their quota and have none of their pods yet"
            if has_pods:
                text = "Workloads that hold the quota of pods that are not there, or not again yet"
            objects.notes.add(f"{text}: these are planned for", f"{namespace}/{name}")
        for item in spec.list("podSets"):
            ref = GangRef(Dialect.KUEUE, namespace, name, item.text("name", "main"))
            if has_pods:  # those that are there bear it, and what not all do is left out
                labels = {**labels, PODSET: ref.role}
            own = given.get(ref.role)
            count = item.integer("count", 0) if own is None else lacking or own.count
            count = slices.more(view)[ref.role] if grows else count
            for made in _member(objects, view, item, ref, count, labels, owner):
                flavors = () if own is None else own.flavors
                pod = replace(made.pod, quota_reserved=bool(given), kueue_flavors=flavors)
                pod = replace(pod, kueue_workload=name) if has_pods else pod
                if not given:
                    pod = replace(pod, kueue_count=item.integer("minCount", 0) or made.count)
                if given:
                    pod = into_domains(pod, view, ref.role)
                yield replace(made, pod=pod, held_back=held_back)


def _volcano(objects: Objects, pods: Sequence[Pod]) -> Iterator[Member]:
    """Volcano's Jobs whose PodGroup is not let into its queue yet."""
    started = {
        (pod.namespace, pod.labels.get("volcano.sh/job-name", ""))
        for pod in pods
        if not pod.terminating
    }
    groups = objects.by_name(Dialect.VOLCANO, "PodGroup")
    for view in objects.of(VOLCANO_JOBS, "Job"):
        namespace, name = view.key
        phase = view.at("status", "state").text("phase")
        if (namespace, name) in started or phase not in ("", "Pending", "Restarting"):
            continue
        called = (f"{name}-{view.uid}", name)
        group = next((each for each in called if (namespace, each) in groups), name)
        for task in view.at("spec").list("tasks"):
            ref = GangRef(Dialect.VOLCANO, namespace, group, task.text("name", "default"))
            count = task.integer("replicas", 0)
            yield from _member(objects, view, task, ref, count, {}, (view.uid, name))


def _member(
    objects: Objects,
    job: View,
    role: View,
    ref: GangRef,
    count: int | None,
    labels: dict[str, str],
    owner: tuple[str, str],
) -> Iterator[Member]:
    """Yield the pods of one role, if there are any and they are bound to no node by name."""
    pod = read_template(
        role.at("template"),
        objects,
        name=f"{job.key[1]}-{ref.role}"[:253],
        namespace=ref.namespace,
        created=job.at("metadata").time("creationTimestamp"),
        labels=labels,
    )
    number = bounded(count or 0)
    if number and not pod.node:
        uid, called = owner
        waiting = replace(pod, stays=(), pinned="", owner_uid=uid, owner_name=called)
        yield Member(waiting, ref, number, exists=False)
