"""Pods that came since a plan was made: whose place they take, and which nameless ones left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kantopt.planning.question import Question
from kantopt.schema.answers.actions import Place, PlanAction, namespace_of, source_of, target_of
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan
from kantopt.schema.jobs import Job, PodRef


@dataclass(frozen=True, slots=True)
class Seen:
    """A pod of a cluster."""

    ref: PodRef | None
    """``None``: it has no name."""
    job: str
    pod_set: str
    place: Place | None
    """``None`` while it is pending."""
    terminating: bool = False

    @property
    def namespace(self) -> str:
        """Its job's."""
        return namespace_of(self.job)

    @property
    def node(self) -> str | None:
        """Where it runs."""
        return None if self.place is None else self.place[0]


def pods_of(jobs: Iterable[Job]) -> Iterator[Seen]:
    """Yield the pods of jobs: all that run, and those that wait and have a name."""
    for job in jobs:
        for podset in job.pod_sets:
            name = job.full_name, podset.name
            yield from (Seen(pod, *name, None) for pod in podset.pods)
            for place in podset.assignments:
                refs = (*place.pods, *[None] * (place.count - len(place.pods)))
                at = place.node, tuple(sorted(place.devices))
                yield from (Seen(ref, *name, at, podset.terminating) for ref in refs)


class Successors:
    """Pods that run today and are none of those that a plan knows, each claimed once.

    A pod follows another one if the same controller owns both; of jobs of Slurm, whose uid is their
    id and the time of submission, if the job is the same and was queued again since. Pods without
    names are counted: what their job has more of on a node, or fewer, came or left.
    """

    def __init__(self, question: Question, plan: Plan) -> None:
        read_as = plan.metadata.read_as
        self.by_job = read_as is not None and read_as.source == "slurm"
        """Whether pods are known by their job: those of Slurm's jobs are called by their nodes."""
        before = list(pods_of(plan.jobs))
        known = {(pod.namespace, pod.ref.name): pod.ref.uid for pod in before if pod.ref}
        ran: Counter[tuple[str, str, Place | None]] = Counter(
            (pod.job, pod.pod_set, pod.place)
            for pod in before
            if pod.ref is None and pod.place is not None
        )
        self._came: list[Seen] = []
        for pod in pods_of(question.jobs):
            if pod.terminating:
                continue
            if pod.ref is not None:
                uid = known.get((pod.namespace, pod.ref.name))
                if uid is not None and (not uid or not pod.ref.uid or uid == pod.ref.uid):
                    continue
            place = pod.job, pod.pod_set, pod.place
            if ran[place]:
                ran[place] -= 1
            else:
                self._came.append(pod)
        self._left = ran
        """Pods without names that are not where they ran."""

    def came(self) -> Counter[tuple[str, str, str]]:
        """Count the pods with names that came, by job, pod set and node."""
        return Counter(
            (pod.job, pod.pod_set, pod.node)
            for pod in self._came
            if pod.ref is not None and pod.node is not None
        )

    def follows(self, pod: PodRef, other: PodRef) -> str:
        """Say in words whether a pod was made in the place of another one; empty if it was not."""
        if not other.uid or self._owner(pod) != self._owner(other) or not self._owner(pod):
            return ""
        return "was queued again" if self.by_job else "was made anew"

    def instead(self, item: PlanAction, pods: Iterable[PodRef], besides: str = "") -> str:
        """Name a pod that came in the place of some that are gone, and where; empty if none did.

        Nobody counts who is on the node ``besides``; without pods it is one of a step's pod set.
        """
        owners = {self._owner(pod) for pod in pods} - {""}
        for came in self._came:
            if came.node != besides and self._is_of(came, item, owners):
                name = "a pod" if came.ref is None else came.ref.name
                where = f"came to {came.node}" if came.node else "waits"
                whose = "of its job" if self.by_job or not owners else "of its owner"
                return f"{name} {whose} {where} since"
        return ""

    def _owner(self, pod: PodRef) -> str:
        return pod.uid.partition("@")[0] if self.by_job else pod.owner_uid

    def left(self, item: Eviction | Move) -> bool:
        """Whether as many of a step's pods without names have left; they count for it alone."""
        missing = item.count - len(item.pods)
        place = item.job, item.pod_set, source_of(item)
        if self._left[place] < missing:
            return False
        self._left[place] -= missing
        return True

    def claim(self, item: Binding | Move, others: list[PodRef]) -> bool:
        """Find pods where a step takes its own, in place of those that are gone.

        Parameters
        ----------
        item
            The step.
        others
            Its pods that are not there themselves.

        Returns
        -------
        bool
            Whether there are enough, for these and for those without names; then they count for no
            other step.
        """
        wanted = len(others) + item.count - len(item.pods)
        target = target_of(item)
        node = None if target is None else target[0]
        owners = {self._owner(pod) for pod in others} - {""}
        found = [pod for pod in self._came if pod.node == node and self._is_of(pod, item, owners)]
        if len(found) < wanted or (isinstance(item, Move) and not self.left(item)):
            return False
        names = {pod.name for pod in others}
        found.sort(key=lambda pod: pod.ref is None or pod.ref.name not in names)
        taken = {id(pod) for pod in found[:wanted]}
        self._came = [pod for pod in self._came if id(pod) not in taken]
        return True

    def _is_of(self, pod: Seen, item: PlanAction, owners: set[str]) -> bool:
        if (pod.job, pod.pod_set) == (item.job, item.pod_set):
            return True
        return pod.ref is not None and self._owner(pod.ref) in owners
