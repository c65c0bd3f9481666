"""Are the pods and nodes that a plan names still the ones that it means?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kantopt.planning.document.actions import unknown_in
from kantopt.planning.later.successors import Seen, Successors, pods_of
from kantopt.planning.question import Question
from kantopt.problem.chosen import as_cordoned
from kantopt.problem.instance import Instance
from kantopt.schema.answers.actions import (
    PlanAction,
    in_waves,
    namespace_of,
    nodes_of,
    source_of,
    target_of,
)
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan
from kantopt.schema.jobs import Job, PodRef


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a step cannot be taken any more: what it names is not there."""

    word: str
    """``gone``, ``unmade``, ``replaced``, ``back``, ``leaving`` or ``elsewhere``."""
    message: str
    moot: bool
    """Its pods are not where it would take them from: nobody has to wait for that any more."""


class StillThere:
    """Looks at one step after the other, in the order of the plan.

    Pods that an earlier step takes somewhere count as being there.
    """

    def __init__(self, question: Question, plan: Plan) -> None:
        self._nodes = {node.name: node for node in question.snapshot.nodes}
        self._meant = {node.name: node.uid for node in plan.nodes}
        self._left_out = question.left_out
        self._pods = {
            (seen.namespace, seen.ref.name): seen
            for seen in pods_of(as_cordoned(question.jobs, plan.model.drain))
            if seen.ref is not None
        }
        self._successors = Successors(question, plan)
        self._called = _called_today(plan.jobs, question.jobs)
        self._ends: dict[tuple[str, str], str] = {}
        """Nodes where the plan's moves take pods in the end."""
        for _, item in in_waves(plan):
            if isinstance(item, Move):
                for pod in item.pods:
                    self._ends[namespace_of(item.job), pod.name] = item.to_node
        items = [item for _, item in in_waves(plan)]
        done = [item for item in items if not _in_place(item) and self._all_done(item)]
        self._moved = {item.job for item in done if isinstance(item, Move)}
        """Jobs of which pods are where the plan moves them: all that restart with them have."""
        done += [item for item in items if _in_place(item) and self._all_done(item)]
        self.done = frozenset(item.id for item in done)

    def why_not(self, instance: Instance, item: PlanAction) -> Missing | None:
        """Say what is not there any more of what a step names; ``None`` if all is."""
        for pod in item.pods:
            missing = self._why_not_pod(item, pod)
            if missing is not None:
                return missing
        for name in nodes_of(item):
            node = self._nodes.get(name)
            if node is None:
                return Missing("gone", f"node {name} is gone", False)
            meant = self._meant.get(name, "")
            if meant and node.uid and node.uid != meant:
                message = f"node {name} is another one: uid {node.uid}, not {meant}"
                return Missing("replaced", message, False)
        unknown = next(unknown_in(instance, self.named_today(item), "", ""), None)
        if unknown is not None:
            nameless = len(item.pods) < item.count and item.job in instance.job_index
            if isinstance(item, Binding) and nameless:
                return self._why_nameless(item)
            path = unknown.path.removeprefix(".")
            message = f"{path} {unknown.found} is not {unknown.expected}"
            return Missing("gone", message, False)
        if isinstance(item, Move):
            self._take_along(item)
        return None

    def named_today(self, item: PlanAction) -> PlanAction:
        """Return a step with the names that the job and the pod set of its pods have today."""
        names = {
            (seen.job, seen.pod_set)
            for pod in item.pods
            if (seen := self._pods.get((namespace_of(item.job), pod.name))) is not None
        }
        if len(names) != 1 or len(item.pods) < item.count:
            return item.model_copy(update=self._called_today(item))
        job, pod_set = names.pop()
        return item.model_copy(update={"job": job, "pod_set": pod_set})

    def _called_today(self, item: PlanAction) -> dict[str, str]:
        """Return what the only pod set of a step's job is called today."""
        return {"pod_set": self._called.get(item.job, item.pod_set)}

    def _why_not_pod(self, item: PlanAction, pod: PodRef) -> Missing | None:
        namespace = namespace_of(item.job)
        seen = self._pods.get((namespace, pod.name))
        if seen is None or seen.ref is None:
            return Missing("gone", self._why_gone(item, pod), True)
        source = source_of(item)
        here = seen.place == source
        same = bool(pod.uid) and pod.uid == seen.ref.uid
        if _is_another(seen, pod):
            where = f"on {seen.node}" if seen.node else "pending"
            anew = self._successors.follows(seen.ref, pod)
            if anew and here and not isinstance(item, Binding):
                message = f"pod {pod.name} left, and is {where} again: uid {seen.ref.uid}"
                return Missing("back", message, False)
            message = f"pod {pod.name} {anew or 'is another one'}, {where}: uid {seen.ref.uid}"
            return Missing("elsewhere" if anew and not here else "replaced", message, not here)
        if not same and (seen.job, seen.pod_set) != (item.job, item.pod_set):
            message = f"pod {pod.name} belongs to {seen.job}/{seen.pod_set} now"
            return Missing("replaced", message, not here)
        if here and seen.terminating:
            return Missing("leaving", f"pod {pod.name} is on its way out, and not gone yet", False)
        if here:
            return None
        if seen.place is None:
            return Missing("elsewhere", f"pod {pod.name} is pending", True)
        node, devices = seen.place
        on = f" on devices {list(devices)}" if source is not None and node == source[0] else ""
        return Missing("elsewhere", f"pod {pod.name} runs on {node}{on}", True)

    def _why_gone(self, item: PlanAction, pod: PodRef) -> str:
        """Say of a pod that has no place today why, and who is there in its stead."""
        names = f"{namespace_of(item.job)}/{pod.name}", item.job
        for what, name in zip((f"pod {pod.name}", f"job {item.job}"), names, strict=True):
            if name in self._left_out and (name != item.job or self._successors.by_job):
                return f"{what} {self._left_out[name]}"
        others = self._successors.instead(item, (pod,))
        return f"pod {pod.name} is gone{f'; {others}' if others else ''}"

    def _why_nameless(self, item: Binding) -> Missing:
        """Say what became of pods without names that are to start, of a job that is there."""
        if others := self._successors.instead(item, (), besides=item.node):
            return Missing("elsewhere", others, True)
        who = f"{item.job}/{item.pod_set}"
        message = f"no pod of {who} waits: the one meant has no name, and may not be made yet"
        return Missing("unmade", message, False)

    def _take_along(self, move: Move) -> None:
        """Let the pods be where a step takes them, for the steps that follow."""
        for pod in move.pods:
            key = namespace_of(move.job), pod.name
            self._pods[key] = replace(self._pods[key], place=target_of(move))

    def is_done(self, item: PlanAction) -> bool:
        """Whether all that a step wants is so already."""
        return item.id in self.done

    def _all_done(self, item: PlanAction) -> bool:
        """Whether pods are where a step takes them, or others in their place, or gone."""
        if isinstance(item, Eviction):
            gone = all(self._has_left(item, pod) for pod in item.pods)
            return gone and self._successors.left(item)
        if _in_place(item) and sum(bool(pod.uid) for pod in item.pods) < item.count:
            return item.job in self._moved  # nothing else tells whether they were made anew
        others = [pod for pod in item.pods if not self._has_come(item, pod)]
        there = any(
            (seen := self._pods.get((namespace_of(item.job), pod.name))) is not None
            and not _is_another(seen, pod)
            for pod in others
        )
        called = item.model_copy(update=self._called_today(item))
        return not there and self._successors.claim(called, others)

    def _has_left(self, item: Eviction, pod: PodRef) -> bool:
        seen = self._pods.get((namespace_of(item.job), pod.name))
        if seen is None:
            return True
        return _is_another(seen, pod) and seen.place != source_of(item)

    def _has_come(self, item: Binding | Move, pod: PodRef) -> bool:
        seen = self._pods.get((namespace_of(item.job), pod.name))
        if seen is None or _is_another(seen, pod) or _in_place(item):
            return False
        there = seen.place == target_of(item)
        end = self._ends.get((namespace_of(item.job), pod.name))
        return there or (isinstance(item, Move) and item.stopover and seen.node == end)

    def today(self, item: PlanAction) -> tuple[PodRef, ...]:
        """Return the pods of a step in their present versions."""
        return tuple(self._today(item))

    def _today(self, item: PlanAction) -> Iterator[PodRef]:
        for pod in item.pods:
            seen = self._pods.get((namespace_of(item.job), pod.name))
            yield pod if seen is None or seen.ref is None else seen.ref


def _called_today(then: Iterable[Job], now: Iterable[Job]) -> dict[str, str]:
    """Return what the pod sets of jobs with one of them are called today, if otherwise than then.

    Lists of jobs have names for them that nobody tells the controller that makes the pods.
    """
    before = {job.full_name: job for job in then}
    return {
        job.full_name: job.pod_sets[0].name
        for job in now
        if len(job.pod_sets) == 1
        and (was := before.get(job.full_name)) is not None
        and len(was.pod_sets) == 1
        and was.pod_sets[0].name != job.pod_sets[0].name
    }


def _in_place(item: PlanAction) -> bool:
    """Whether pods are only made anew where they are, since others of their job move."""
    return isinstance(item, Move) and source_of(item) == target_of(item)


def _is_another(seen: Seen, pod: PodRef) -> bool:
    """Whether who has a pod's name is not that pod."""
    return seen.ref is not None and "" not in (pod.uid, seen.ref.uid) and pod.uid != seen.ref.uid
