"""Are the pods and nodes that a plan names still the ones that it means?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kantopt.planning.actions import nodes_of, unknown_in
from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.schema.actions import PlanAction, in_waves
from kantopt.schema.jobs import PodRef
from kantopt.schema.plan import Binding, Eviction, Move, Plan


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a step cannot be taken any more: what it names is not there."""

    word: str
    """``gone``, ``replaced`` or ``elsewhere``."""
    message: str
    moot: bool
    """Its pods are not where it would take them from: nobody has to wait for that any more."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A pod as today's cluster has it."""

    ref: PodRef
    job: str
    pod_set: str
    node: str | None
    """``None`` while it is pending."""
    devices: tuple[int, ...]


class StillThere:
    """Looks at one step after the other, in the order of the plan.

    Pods that an earlier step takes somewhere count as being there.
    """

    def __init__(self, question: Question, plan: Plan) -> None:
        self._nodes = {node.name: node for node in question.snapshot.nodes}
        self._meant = {node.name: node.uid for node in plan.nodes}
        self._pods: dict[tuple[str, str], _Seen] = {}
        self._ends: dict[tuple[str, str], str] = {}
        """Nodes where the plan's moves take pods in the end."""
        for move in _in_order(plan):
            for pod in move.pods:
                self._ends[move.job.partition("/")[0], pod.name] = move.to_node
        for job in question.jobs:
            for podset in job.pod_sets:
                places = [(p.node, tuple(sorted(p.devices)), p.pods) for p in podset.assignments]
                for node, devices, pods in ((None, (), podset.pods), *places):
                    for pod in pods:
                        seen = _Seen(pod, job.full_name, podset.name, node, devices)
                        self._pods[job.namespace, pod.name] = seen
        self._came_back = frozenset(self._restarted(plan))
        """Moves whose pods have restarted where they should: under another name, as new pods do."""

    def _restarted(self, plan: Plan) -> Iterator[str]:
        names = {
            (job.namespace, pod.name)
            for job in plan.jobs
            for podset in job.pod_sets
            for pod in podset.refs
        }
        new = Counter(
            (seen.job, seen.pod_set, seen.node)
            for (namespace, name), seen in self._pods.items()
            if (namespace, name) not in names
        )
        for move in _in_order(plan):
            namespace = move.job.partition("/")[0]
            here = (move.job, move.pod_set, move.to_node)
            gone = all((namespace, pod.name) not in self._pods for pod in move.pods)
            came = new[here] >= move.count
            if move.mode == "restart" and len(move.pods) == move.count and gone and came:
                new[here] -= move.count
                yield move.id

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
        unknown = next(unknown_in(instance, item, "", ""), None)
        if unknown is not None:
            path = unknown.path.removeprefix(".")
            message = f"{path} {unknown.found} is not {unknown.expected}"
            return Missing("gone", message, False)
        if isinstance(item, Move):
            self._take_along(item)
        return None

    def _why_not_pod(self, item: PlanAction, pod: PodRef) -> Missing | None:
        namespace = item.job.partition("/")[0]
        seen = self._pods.get((namespace, pod.name))
        if seen is None:
            return Missing("gone", f"pod {pod.name} is gone", True)
        place: str | None = None
        devices: tuple[int, ...] = ()
        if isinstance(item, Eviction):
            place, devices = item.node, item.devices
        elif isinstance(item, Move):
            place, devices = item.from_node, item.from_devices
        here = (seen.node, seen.devices) == (place, tuple(sorted(devices)))
        if pod.uid and seen.ref.uid and pod.uid != seen.ref.uid:
            where = f"on {seen.node}" if seen.node else "pending"
            message = f"pod {pod.name} is another one, {where}: uid {seen.ref.uid}"
            return Missing("replaced", message, not here)
        if (seen.job, seen.pod_set) != (item.job, item.pod_set):
            message = f"pod {pod.name} belongs to {seen.job}/{seen.pod_set} now"
            return Missing("replaced", message, not here)
        if here:
            return None
        if seen.node is None:
            return Missing("elsewhere", f"pod {pod.name} is pending", True)
        on = f" on devices {list(seen.devices)}" if seen.node == place else ""
        return Missing("elsewhere", f"pod {pod.name} runs on {seen.node}{on}", True)

    def _take_along(self, move: Move) -> None:
        """Let the pods be where a step takes them, for the steps that follow."""
        namespace = move.job.partition("/")[0]
        for pod in move.pods:
            seen = self._pods[namespace, pod.name]
            devices = tuple(sorted(move.to_devices))
            self._pods[namespace, pod.name] = _Seen(
                seen.ref, seen.job, seen.pod_set, move.to_node, devices
            )

    def is_done(self, item: PlanAction) -> bool:
        """Whether all that a step wants is so already."""
        if not item.pods or len(item.pods) < item.count:
            return False
        if item.id in self._came_back:
            return True
        namespace = item.job.partition("/")[0]
        found = [self._pods.get((namespace, pod.name)) for pod in item.pods]
        if isinstance(item, Eviction):
            return not any(found)
        target = item.node if isinstance(item, Binding) else item.to_node
        devices = item.devices if isinstance(item, Binding) else item.to_devices
        for seen, pod in zip(found, item.pods, strict=True):
            if seen is None or (pod.uid and seen.ref.uid != pod.uid):
                return False
            there = (seen.node, seen.devices) == (target, tuple(sorted(devices)))
            end = self._ends.get((namespace, pod.name))
            beyond = isinstance(item, Move) and item.stopover and seen.node == end
            if not (there or beyond):
                return False
        return True

    def today(self, item: PlanAction) -> tuple[PodRef, ...]:
        """Return the pods of a step in their present versions."""
        return tuple(self._today(item))

    def _today(self, item: PlanAction) -> Iterator[PodRef]:
        namespace = item.job.partition("/")[0]
        for pod in item.pods:
            seen = self._pods.get((namespace, pod.name))
            yield pod if seen is None else seen.ref


def _in_order(plan: Plan) -> Iterator[Move]:
    return (action for _, action in in_waves(plan) if isinstance(action, Move))
