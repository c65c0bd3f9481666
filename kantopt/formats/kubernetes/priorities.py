"""Priorities of pods and groups; what counts is the number, not the name of its class."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.formats.kubernetes.demands import Gang
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import POLICIES, Pod
from kantopt.schema.hints import perhaps
from kantopt.schema.snapshot import PriorityClass

_SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}

_ALLOWED = "yunikorn.apache.org/allow-preemption"


class Priorities:
    """Priority classes of the cluster."""

    def __init__(self, objects: Objects) -> None:
        self.classes = tuple(
            PriorityClass(
                name=view.at("metadata").name() or "?",
                value=view.integer("value") or 0,
                preemption_policy=view.choice(  # type: ignore[arg-type]
                    "preemptionPolicy", POLICIES[1:], "PreemptLowerPriority"
                ),
                global_default=view.flag("globalDefault"),
            )
            for view in objects.of("scheduling.k8s.io", "PriorityClass")
        )
        self._spared = {
            view.at("metadata").name()
            for view in objects.of("scheduling.k8s.io", "PriorityClass")
            if view.annotations.get(_ALLOWED) == "false"
        }
        self._values = _SYSTEM | {item.name: item.value for item in self.classes}
        self._default = next((item.value for item in self.classes if item.global_default), 0)

    def value(self, name: str) -> int | None:
        """Priority of a class; ``None`` if it is not known."""
        return self._values.get(name)

    def meant(self, name: str) -> str:
        """Return what was meant by a name that is no class's, in brackets, if one is near."""
        return perhaps(name, [item.name for item in self.classes])

    def known(self, name: str) -> str:
        """Return the name of a class if it is among the cluster's, else nothing."""
        return name if any(item.name == name for item in self.classes) else ""

    def of(self, pod: Pod) -> int:
        """Priority of a pod: its own number, else its class's, else the default."""
        if pod.priority is not None:
            return pod.priority
        value = self.value(pod.priority_class)
        return self._default if value is None else value

    def apart(self, gang: Gang, pods: Sequence[Pod]) -> int | None:
        """Priority of pods where their group has another number and theirs are known."""
        found = max(map(self.of, pods))
        known = gang.priority is not None and all(map(self._tells, pods))
        return found if known and found != gang.priority else None

    def _tells(self, pod: Pod) -> bool:
        """Whether the priority of a pod is known: its own number, or a class of the input's."""
        if pod.priority is not None:
            return True
        return pod.priority_class in self._values if pod.priority_class else bool(self.classes)

    def preempts_nobody(self, pod: Pod) -> bool:
        """Whether the policy of a pod is Never: its own, else its class's, else the default's."""
        if pod.preemption_policy is not None:
            return pod.preemption_policy == "Never"
        return any(
            item.preemption_policy == "Never"
            for item in self.classes
            if (item.name == pod.priority_class if pod.priority_class else item.global_default)
        )

    def spares(self, pod: Pod) -> bool:
        """Whether YuniKorn takes room from a pod last of all, as it or its class asks."""
        told = pod.annotations.get(_ALLOWED, "")
        return told == "false" or (told != "true" and pod.priority_class in self._spared)

    def own(self, gang: Gang) -> int | None:
        """Priority that a group has for itself, if it has one."""
        return self.value(gang.priority_class) if gang.priority is None else gang.priority

    def of_all(self, gang: Gang, pods: Sequence[Pod]) -> int:
        """Priority of a group of pods: its own beats theirs, of which the highest counts."""
        own = self.own(gang)
        return max(map(self.of, pods)) if own is None else own
