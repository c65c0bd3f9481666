"""What becomes of each action of a plan: done and enforced, only watched, or left to advice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from kantopt.errors import UsageError
from kantopt.render.kube.gates import OURS, check_named, keeps
from kantopt.render.steps import Actions, not_to_evict
from kantopt.render.targets import Asked
from kantopt.schema.answers.actions import PlanAction, namespace_of, nodes_of
from kantopt.schema.answers.plan import Binding, Eviction, Move, NodeRef, Plan
from kantopt.schema.hints import first_of, plural
from kantopt.schema.jobs import PodRef

_Action = TypeVar("_Action", bound=PlanAction)
_WORDS: dict[type[PlanAction], str] = {Eviction: "evictions", Move: "moves", Binding: "bindings"}
"""As headers count them, in pods."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,252}")
_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,316}")
_REMADE = {
    "": "nobody is known who makes its pods anew",
    "DaemonSet": "a DaemonSet makes its pods anew on the node they left",
    "Node": "the kubelet starts it again where it was",
}
_JOB_SET = "jobset.sigs.k8s.io/jobset-name"
_HOLD = (
    f"nobody says where such pods run but their scheduler; make them with the gate {OURS} and plan "
    "with --gated (docs/with-kubernetes.md)"
)


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of an action, of all its pods alike."""

    does: Literal["do", "watch", "advise"]
    """do: by requests that hold only for what the plan means; watch: others do it, and it can be
    seen whether they did; advise: neither."""
    why: str = ""
    """Why it is not done."""
    remedy: str = ""
    """What would let it be done, if anybody can."""


def controller(pod: PodRef) -> str:
    """Return the kind of the controller that a script expects a pod to have; empty: none."""
    return pod.owner_kind if pod.owner_uid else ""


def is_safe(text: str) -> bool:
    """Whether text can be a name, a uid or a version in Kubernetes; nothing else gets far."""
    return _SAFE.fullmatch(text) is not None


class Fates:
    """Decides about each action of a plan.

    Parameters
    ----------
    plan
        The plan.
    asked
        Gates that were named, and whether evictions are wanted of which nobody knows what follows.

    Raises
    ------
    UsageError
        If a gate is named that holds nothing back.
    """

    def __init__(self, plan: Plan, asked: Asked) -> None:
        check_named(plan, asked.gate)
        self._plan = plan
        self._asked = asked
        self._nodes = {node.name: node for node in plan.nodes}
        self._known = Actions(plan)
        self._together = {job.full_name for job in plan.jobs if job.disruption_mode == "all"}
        self._actions = list(self._known)
        self._fates = {item.id: self._alone(item) for _, item in self._actions}
        self._settle()

    def __getitem__(self, identity: str) -> Fate:
        return self._fates[identity]

    def of(self, kind: type[_Action], *does: str) -> Iterator[_Action]:
        """Yield the actions of a kind that have one of some fates."""
        for _, item in self._actions:
            if isinstance(item, kind) and self._of(item) in does:
                yield item

    def count(self, kind: type[PlanAction], *does: str) -> int:
        """Count the pods of actions of a kind that have one of some fates."""
        items: Iterator[PlanAction] = self.of(kind, *does)
        return sum(item.count for item in items)

    def notes(self) -> Iterator[str]:
        """Say of each kind of action how much is not enforced, why, and what would help."""
        for kind, word in _WORDS.items():
            left = [
                self._fates[item.id]
                for _, item in self._actions
                if isinstance(item, kind) and self._fates[item.id].does != "do"
            ]
            if not left:
                continue
            done, watched, advised = (self.count(kind, d) for d in ("do", "watch", "advise"))
            counts = [f"{advised} left to you"] if advised else []
            counts += [f"{watched} left to you and waited for"] if watched else []
            first = next((fate for fate in left if fate.remedy), left[0])
            remedy = f"; {first.remedy}" if first.remedy else ""
            yield (
                f"kubectl: {done} of {done + watched + advised} {word} are enforced, "
                f"{', '.join(counts)}: {first.why}{remedy}"
            )

    def check_not_in_vain(self) -> None:
        """Refuse a plan that evicts for pods that nobody can be made to place.

        Raises
        ------
        UsageError
            If there are evictions that are left out for that reason.
        """
        vain = [
            item
            for _, item in self._actions
            if isinstance(item, Eviction)
            and self._fates[item.id].does == "advise"
            and item.for_job is not None
        ]
        if not vain or self._asked.evict_anyway:
            return
        why = {str(item.for_job): self._fates[item.id].why for item in reversed(vain)}
        jobs_of: dict[str, list[str]] = {}
        for job in sorted(why):
            jobs_of.setdefault(why[job], []).append(job)
        said = [f"{first_of(jobs)}: {why}" for why, jobs in jobs_of.items()]
        pods = sum(item.count for item in vain)
        raise UsageError(
            f"--to kubectl: found {plural(pods, 'pod')} to evict for jobs that it cannot "
            f"bind ({first_of(said, joined='; ')}), expected --evict-anyway, --gate, or another "
            "target"
        )

    def _alone(self, item: PlanAction) -> Fate:
        """Decide by what the action itself says."""
        if isinstance(item, Move) and item.mode == "live":
            return Fate("advise", "a live migration is no call of the Kubernetes API")
        if len(item.pods) < item.count:
            return Fate("advise", "the plan has no names for its pods")
        if why := self._unknown(item):
            return Fate("advise", why)
        if isinstance(item, Binding):
            return self._binding(item)
        if isinstance(item, Move):
            return self._restart(item)
        kept = not_to_evict(item, self._known)
        return Fate("advise", kept) if kept else Fate("do")

    def _unknown(self, item: PlanAction) -> str:
        """Say what is not known that keeps a script from acting on the wrong thing."""
        names = [namespace_of(item.job), *nodes_of(item)]
        for pod in item.pods:
            if not pod.uid:
                return f"the plan has no uid of {pod.name}"
            names += [pod.name, pod.uid, pod.owner_uid or "none"]
        if not all(map(is_safe, names)):
            return "it has a name that nothing in Kubernetes can have"
        gates = [gate for pod in item.pods for gate in pod.scheduling_gates]
        if not all(_PATH.fullmatch(text) for text in (item.id, *gates)):
            return "it has an id, or a gate, that nothing can have"
        return ""

    def _target(self, name: str) -> str:
        node = self._nodes.get(name, NodeRef(name=name))
        if not (is_safe(node.uid) and is_safe(node.hostname)):
            return f"the plan does not know uid and hostname label of node {name}"
        return ""

    def _binding(self, item: Binding) -> Fate:
        watch: Literal["watch", "advise"] = "watch" if self._asked.evict_anyway else "advise"
        if why := self._target(item.node):
            return Fate("advise", why)
        ungated = [pod.name for pod in item.pods if not pod.scheduling_gates]
        if ungated:
            return Fate(watch, f"no scheduling gate holds back {ungated[0]}", _HOLD)
        for pod in item.pods:
            if kept := keeps(pod.scheduling_gates, self._asked.gate):
                return Fate("advise", f"{pod.name} keeps the gate {kept[0]} unless --gate names it")
        return Fate("do")

    def _restart(self, item: Move) -> Fate:
        if not self._asked.evict_anyway:
            why = "nothing makes its pods come back where they should"
            return Fate("advise", why, "--evict-anyway restarts them all the same")
        for pod in item.pods:
            if item.job in self._together and self._is_of_unit(item.job, pod):
                return Fate("advise", "its group is made anew as a whole, with other owners")
            why = _REMADE.get(controller(pod), "")
            if why:
                return Fate("advise", why)
        return Fate("advise", why) if (why := self._target(item.to_node)) else Fate("do")

    def _is_of_unit(self, job: str, pod: PodRef) -> bool:
        """Whether the owner of a pod is made anew too: of a LeaderWorkerSet, or a JobSet."""
        of_set = any(_JOB_SET in podset.labels for podset in self._known.jobs[job].pod_sets)
        return pod.owner_kind == "StatefulSet" or (pod.owner_kind == "Job" and of_set)

    def _settle(self) -> None:
        """Leave out what waits for what is left out, gangs in part, and evictions in vain."""
        changed = True
        while changed:
            changed = False
            for item, why in [*self._held_up(), *self._in_part(), *self._vain()]:
                if self._fates[item.id].does != "advise":
                    self._fates[item.id] = Fate("advise", why)
                    changed = True

    def _held_up(self) -> Iterator[tuple[PlanAction, str]]:
        left = {w: item for w, item in reversed(self._actions) if self._of(item) == "advise"}
        reached: dict[int, PlanAction] = {}
        for wave in self._plan.waves:
            causes = [left.get(before) or reached.get(before) for before in wave.after]
            cause = next((item for item in causes if item is not None), None)
            if cause is not None:
                reached[wave.id] = cause
        for wave_id, item in self._actions:
            if wave_id in reached:
                yield item, f"it waits for {reached[wave_id].id}, which is not done"

    def _in_part(self) -> Iterator[tuple[Binding, str]]:
        """Bindings of gangs of which others are not done: a part may be worth nothing."""
        gangs = {
            job.full_name
            for job in self._plan.jobs
            if not all(podset.min_count == 0 for podset in job.pod_sets)
        }
        left = {item.job: item for _, item in self._bindings() if self._of(item) == "advise"}
        for _, item in self._bindings():
            if item.job in gangs and item.job in left:
                yield item, f"of its gang {left[item.job].id} is not done"

    def _vain(self) -> Iterator[tuple[Eviction, str]]:
        if self._asked.evict_anyway:
            return
        unbound = {item.job: item for _, item in self._bindings() if self._of(item) == "advise"}
        for _, item in self._actions:
            if isinstance(item, Eviction) and item.for_job in unbound:
                yield item, self._fates[unbound[item.for_job].id].why

    def _bindings(self) -> Iterator[tuple[int, Binding]]:
        for wave, item in self._actions:
            if isinstance(item, Binding) and not item.leftover:
                yield wave, item

    def _of(self, item: PlanAction) -> str:
        return self._fates[item.id].does


def pods_known(plan: Plan) -> Iterator[PodRef]:
    """Yield every pod that a plan knows by name."""
    for job in plan.jobs:
        for podset in job.pod_sets:
            yield from podset.refs
