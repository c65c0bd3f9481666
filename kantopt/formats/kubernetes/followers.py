"""Pods that are made only once their leader has its node: they need room where that may go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kantopt.formats.kubernetes.jobs import Member
from kantopt.formats.kubernetes.nodes import bounded
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod, read_template
from kantopt.formats.view import View

_INDEX = "batch.kubernetes.io/job-completion-index"
_JOB_SET = "alpha.jobset.sigs.k8s.io"
_LWS = "leaderworkerset.sigs.k8s.io"


def followers(objects: Objects, members: Sequence[Member]) -> Iterator[Member]:
    """Yield the pods that are made once leaders that wait have their nodes.

    With exclusive placement a JobSet makes the others of a Job where its first pod runs, and so
    does a LeaderWorkerSet, some of them only once the leader is ready. Gangs know their number
    themselves. Who is planned for is noted, and leaders of whose followers nothing is known.
    """
    found = _Followers(objects, members)
    for member in members:
        pod = member.pod
        if not pod.node and member.exists and member.gang is None:
            yield from found.of(pod)


class _Followers:
    def __init__(self, objects: Objects, members: Sequence[Member]) -> None:
        self._objects, self._notes = objects, objects.notes
        self._jobs = {view.uid: view for view in objects.of("batch", "Job")}
        self._sets = objects.by_name("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
        there = [member.pod for member in members if not member.pod.terminating]
        self._of_owner = Counter(pod.owner_uid for pod in there)
        self._of_group_there = Counter(map(_group, there))

    def of(self, pod: Pod) -> Iterator[Member]:
        if pod.labels.get(f"{_LWS}/worker-index") == "0":
            yield from self._of_group(pod)
        elif _leads_job(pod):
            yield from self._of_job(pod)

    def _of_job(self, leader: Pod) -> Iterator[Member]:
        """Yield the other pods of a Job of a JobSet: they are like the first."""
        job = self._jobs.get(leader.owner_uid)
        there = self._of_owner[leader.owner_uid]
        at_once = 0 if job is None else _at_once(job)
        if job is None or at_once > there:
            yield from self._made(leader, None if job is None else leader, at_once - there)

    def _of_group(self, leader: Pod) -> Iterator[Member]:
        """Yield the workers of a group of a LeaderWorkerSet by their template."""
        name = leader.labels.get(f"{_LWS}/name", "")
        told = self._sets.get((leader.namespace, name))
        there = self._of_group_there[_group(leader)]
        size = leader.annotations.get(f"{_LWS}/size", "")
        count = int(size) if size.isdecimal() and len(size) < 10 else 1
        worker = None
        if told is not None:
            inner = told.at("spec", "leaderWorkerTemplate")
            count = inner.integer("size", 0) or 1
            worker = self._worker(leader, inner.at("workerTemplate"))
        if count > there:
            yield from self._made(leader, worker, count - there)

    def _worker(self, leader: Pod, template: View) -> Pod | None:
        """Read a worker; ``None`` if the input does not tell what it needs."""
        if "spec" not in template:
            return None
        made = read_template(
            template,
            self._objects,
            name=leader.ref.name,
            namespace=leader.namespace,
            created=leader.created,
            labels={k: v for k, v in leader.labels.items() if k.startswith(f"{_LWS}/")},
        )
        if f"{_LWS}/exclusive-topology" not in leader.annotations:
            return made
        # They are made for the leader's domain, which its own terms keep others out of.
        terms = ("pod_affinity", "pod_anti_affinity")
        return made.shaped(**{term: leader.shape[term] for term in terms})

    def _made(self, leader: Pod, like: Pod | None, count: int) -> Iterator[Member]:
        if like is None:
            text = "pods that follow leaders that wait, and whose needs the input does not tell"
            self._notes.add(f"{text}: not planned for", leader.full_name, max(1, count))
            return
        text = "pods that are made once their leader has its node, planned for together with it"
        self._notes.add(text, leader.full_name, count)
        made = replace(
            like,
            ref=leader.ref,
            nominated="",
            owner_kind=leader.owner_kind,
            owner_name=leader.owner_name,
            owner_uid=leader.owner_uid,
            priority=leader.priority,
            priority_class=leader.priority_class,
            preemption_policy=leader.preemption_policy,
            stays=(),
            pinned="",
            homebound=(),
            waits_with=(),
            unit=leader.unit,
            follows=True,
        )
        yield Member(made, None, bounded(count), exists=False)


def _at_once(job: View) -> int:
    """Pods that a Job is to have now: no more than are left to be completed."""
    parallelism = job.at("spec").integer("parallelism", 0) or 1
    completions = job.at("spec").integer("completions", 0)
    left = (
        None
        if completions is None
        else completions - (job.at("status").integer("succeeded", 0) or 0)
    )
    return parallelism if left is None else min(parallelism, left)


def _leads_job(pod: Pod) -> bool:
    """Whether the others of a Job follow a pod; nodes that are labelled before need none to."""
    index = pod.annotations.get(_INDEX, pod.labels.get(_INDEX, ""))
    placed = f"{_JOB_SET}/exclusive-topology" in pod.annotations
    return index == "0" and placed and f"{_JOB_SET}/node-selector" not in pod.annotations


def _group(pod: Pod) -> tuple[str, str, str]:
    labels = pod.labels
    return pod.namespace, labels.get(f"{_LWS}/name", ""), labels.get(f"{_LWS}/group-index", "")
