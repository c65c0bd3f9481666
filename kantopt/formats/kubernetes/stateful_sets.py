"""StatefulSets: in which order they make their pods anew, and behind whom some would wait."""

from __future__ import annotations

from kantopt.formats.kubernetes.disruption import owner_of
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod, health_of
from kantopt.formats.view import View

_Key = tuple[str, str, str]
"""Namespace, name and uid of a set."""


class StatefulSets:
    """Tells of StatefulSets what their objects say, else what their pods and defaults do."""

    def __init__(self, objects: Objects) -> None:
        self._sets = {view.uid: view for view in objects.of("apps", "StatefulSet")}
        there: dict[_Key, dict[int, bool]] = {}
        for pod in objects.pods():
            owner = owner_of(pod)
            if owner is None or owner.text("kind") != "StatefulSet":
                continue
            ordinal = _ordinal(pod.at("metadata").name(), owner.text("name"))
            if ordinal is not None:
                key = (pod.key[0], owner.text("name"), owner.text("uid"))
                placed = bool(pod.node) and not pod.terminating
                there.setdefault(key, {})[ordinal] = placed and health_of(pod) == "ready"
        self._reached = {key: self._next(key, ready) for key, ready in there.items()}

    def ordered(self, uid: str) -> bool:
        """Whether a set makes its pods one at a time, each once those before it are ready."""
        owner = self._sets.get(uid)
        return owner is None or owner.at("spec").text("podManagementPolicy") != "Parallel"

    def is_behind(self, pod: Pod) -> bool:
        """Whether a pod would not be made anew, for one of a lower ordinal is not ready."""
        key = (pod.namespace, pod.owner_name, pod.owner_uid)
        reached = self._reached.get(key) if pod.ref.owner_kind == "StatefulSet" else None
        ordinal = _ordinal(pod.ref.name, pod.owner_name)
        if reached is None or ordinal is None or not self.ordered(pod.owner_uid):
            return False
        return ordinal > reached

    def _next(self, key: _Key, ready: dict[int, bool]) -> int:
        """Return the first ordinal of a set whose pod is not ready, or not there."""
        owner = self._sets.get(key[2])
        # Where the set is not in the input nobody knows at which ordinal it begins.
        found = min(ready) if owner is None else _first(owner)
        while ready.get(found):
            found += 1
        return found


def _first(owner: View) -> int:
    return owner.at("spec", "ordinals").integer("start", 0) or 0


def _ordinal(name: str, owner: str) -> int | None:
    """Return the number behind the name of its set; ``None``: it is named otherwise."""
    prefix, _, number = name.rpartition("-")
    return int(number) if prefix == owner and number.isdecimal() and len(number) < 10 else None
