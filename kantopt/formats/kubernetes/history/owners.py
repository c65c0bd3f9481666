"""Who owns a pod in two dumps, and whether that is why the pod is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from kantopt.formats.kubernetes.disruption import owner_of
from kantopt.formats.kubernetes.objects import ended
from kantopt.formats.view import View
from kantopt.schema.answers.history import Became

Raw = dict[str, Any]
Verdict = tuple[Became, str]

_ENDED = frozenset(
    ("Complete", "Completed", "Failed", "Succeeded", "SuccessCriteriaMet", "FailureTarget")
)
_COUNTED: tuple[tuple[Became, str, str], ...] = (
    ("finished", "succeeded", "Succeeded"),
    ("failed", "failed", "Failed"),
)
"""What a pod became, as the status of its Job counts it, and the phase that shows it."""
_TEMPLATED = ("Deployment", "StatefulSet", "DaemonSet")
"""Kinds of owners that roll a new template out."""
_SCALED = ("ReplicaSet", "StatefulSet")
"""Kinds whose generation tells that they were scaled, and how often at most."""
_HASH = "pod-template-hash"
_REVISION = "controller-revision-hash"


def view_of(item: Raw) -> View:
    """Look at an object leniently: what has the wrong type is read as absent.

    The import has reported it already where it matters.
    """
    return View(item, "", (), [])


def key_of(pod: View) -> tuple[str, str, str]:
    """Return namespace, name and uid: what tells one pod from all others."""
    return (*pod.key, pod.at("metadata").text("uid"))


class Owners:
    """The owners of pods in two dumps."""

    def __init__(self, first: Iterable[Raw], later: Iterable[Raw]) -> None:
        first, later = list(first), list(later)
        self._first = _by_uid(first)
        self._later = _by_uid(later)
        self._names = {_name_of(view): view for view in self._later.values()}
        self._spaces = [_namespaces(objects) for objects in (first, later)]
        kinds = {view.text("kind") for view in self._later.values()}
        self._unknown = _owning(later) - kinds
        """Kinds of owners of pods that the later dump has none of: it does not tell of them."""
        self._siblings: dict[str, list[View]] = {}
        for view in self._later.values():
            owner = owner_of(view.at("metadata"))
            if owner is not None and view.text("kind") == "ReplicaSet":
                self._siblings.setdefault(owner.text("uid"), []).append(view)
        self._ends: dict[str, Counter[Became]] = {}
        ends = _ends(later)
        for pod in _ends(first):
            ends.pop(pod, None)
        self._shown = Counter(ends.values())
        """How many pods the later dump shows ended and the first does not, by owner and phase."""
        self._held = Counter(_alive(first))
        """How many pods each owner had in the first dump."""
        self._surplus: dict[str, int] = {}
        """How many of these it has no use for any more, less those that this has explained."""

    def chain(self, pod: View) -> Iterator[tuple[str, str, str]]:
        """Yield kind, name and uid of a pod's owners, the nearest first."""
        metadata, seen = pod.at("metadata"), set[str]()
        while (owner := owner_of(metadata)) is not None:
            kind, name, uid = owner.text("kind"), owner.text("name"), owner.text("uid")
            yield kind, name, uid
            above = self._later.get(uid) or self._first.get(uid)
            if uid in seen or above is None:
                template = pod.at("metadata").words("labels").get(_HASH, "")
                if above is None and kind == "ReplicaSet" and name.endswith(f"-{template}"):
                    yield "Deployment", name.removesuffix(f"-{template}"), ""
                return
            seen.add(uid)
            metadata = above.at("metadata")

    def root(self, pod: View) -> tuple[str, str, str]:
        """Return kind, name and uid of what makes a pod anew: a Deployment over its ReplicaSets."""
        nearest = ("", "", "")
        for i, (kind, name, uid) in enumerate(self.chain(pod)):
            if i == 0:
                nearest = (kind, name, uid)
            elif kind == "Deployment" and nearest[0] == "ReplicaSet":
                return kind, name, uid or f"Deployment/{name}"
        return nearest

    def why_gone(self, pod: View, others: Iterable[View]) -> Verdict | None:
        """Say what of its owners explains that a pod is gone; ``None`` if nothing does.

        Parameters
        ----------
        pod
            The pod as the first dump shows it.
        others
            Pods of the same root owner that the later dump shows and the first does not.
        """
        if (found := self._space_gone(pod.key[0])) is not None:
            return found
        chain, others = list(self.chain(pod)), list(others)
        for kind, name, uid in chain:
            found = self._ended(f"{kind} {name}", uid)
            if found is not None:
                # Deployments take away the ReplicaSets of what they have rolled out.
                return (kind == "ReplicaSet" and self._rolled(pod, chain, others)) or found
        return (
            self._rolled(pod, chain, others)
            or self._scaled(pod, chain, others)
            or next(filter(None, (self._counted(*owner) for owner in chain)), None)
        )

    def _scaled(
        self, pod: View, chain: list[tuple[str, str, str]], others: list[View]
    ) -> Verdict | None:
        """Whether an owner wants fewer pods, this one among those that it has no use for."""
        if any(other.key == pod.key for other in others):
            return None
        for i, (kind, name, uid) in enumerate(chain):
            before, after = self._wanted(self._first.get(uid)), self._wanted(self._later.get(uid))
            if before is not None and after is not None and after < before:
                if i == 0 and not self._is_surplus(pod, self._later[uid], after):
                    return None
                return "scaled down", f"{kind} {name} wants {after} pods, {before} before"
        return None

    def _is_surplus(self, pod: View, owner: View, wanted: int) -> bool:
        """Whether a pod is beyond what its owner wants; a StatefulSet wants the lowest numbers."""
        number, uid = pod.key[1].rpartition("-")[2], owner.at("metadata").text("uid")
        if owner.text("kind") == "StatefulSet" and number.isdecimal():
            first = owner.at("spec").at("ordinals").integer("start", 0, 2**31) or 0
            return int(number) >= first + wanted
        if "deletionTimestamp" in pod.at("metadata"):
            return True
        self._surplus.setdefault(uid, self._held[uid] - wanted)
        self._surplus[uid] -= 1
        return self._surplus[uid] >= 0

    def _space_gone(self, name: str) -> Verdict | None:
        """Whether the namespace of a pod has gone since, or is being deleted."""
        before, after = self._spaces
        if name in after and "deletionTimestamp" in after[name].at("metadata"):
            return "workload ended", f"namespace {name} is being deleted"
        if after and name in before and name not in after:
            return "workload ended", f"namespace {name} is gone"
        return None

    def _ended(self, label: str, uid: str) -> Verdict | None:
        view = self._later.get(uid)
        if view is None:
            was = self._first.get(uid)
            if was is None or was.text("kind") in self._unknown:
                return None
            if _name_of(was) in self._names:
                return "disrupted", f"{label} was made anew"
            return "workload ended", f"{label} is gone"
        if "deletionTimestamp" in view.at("metadata"):
            return "workload ended", f"{label} is being deleted"
        true = {
            condition.text("type")
            for condition in view.at("status").list("conditions")
            if condition.text("status") == "True"
        }
        kind = view.text("kind")
        if "replicas" not in view.at("spec"):  # what keeps so many pods going never ends
            for condition in sorted(true & _ENDED):
                return "workload ended", f"{label} is {condition}"
        if "Suspended" in true or (kind != "CronJob" and view.at("spec").flag("suspend")):
            return "suspended", f"{label} is suspended"
        return None

    def _rolled(
        self, pod: View, chain: list[tuple[str, str, str]], others: list[View]
    ) -> Verdict | None:
        """Whether another ReplicaSet of the Deployment grew, or the owner has a new template."""
        uids = {uid for _, _, uid in chain}
        for kind, name, uid in chain[1:]:
            for sibling in self._siblings.get(uid, ()) if uid else ():
                own, label = sibling.at("metadata"), sibling.at("metadata").text("name")
                if own.text("uid") in uids:
                    continue
                before = self._wanted(self._first.get(own.text("uid"))) or 0
                if (after := self._wanted(sibling) or 0) > before:
                    said = f"{kind} {name}: ReplicaSet {label} grew from {before} to {after}"
                    return "rolled out", said
        template = pod.at("metadata").words("labels").get(_HASH)
        for other in others:
            if template != other.at("metadata").words("labels").get(_HASH):
                return "rolled out", f"{chain[-1][0]} {chain[-1][1]} has pods of another template"
        # Pods that came since of the template that this one was of have been scaled, or made anew.
        same = {_template(other) for other in others} == {_template(pod)} != {""}
        for kind, name, uid in chain:
            before_view, after_view = self._first.get(uid), self._later.get(uid)
            if before_view is None or after_view is None:
                continue
            as_many = self._wanted(after_view) == self._wanted(before_view)
            generation = [_generation(view) for view in (before_view, after_view)]
            if kind in _TEMPLATED and as_many and generation[1] > generation[0] and not same:
                said = f"{kind} {name} has generation {generation[1]}, {generation[0]} before"
                return "rolled out", said
        return self._revised(pod, chain, others)

    def _revised(
        self, pod: View, chain: list[tuple[str, str, str]], others: Iterable[View]
    ) -> Verdict | None:
        """Whether a StatefulSet makes its pods anew, of a revision that this pod is not of."""
        kind, name, uid = chain[0] if chain else ("", "", "")
        owner = self._later.get(uid)
        if kind != "StatefulSet" or owner is None:
            return None
        was = pod.at("metadata").words("labels").get(_REVISION, "")
        new = owner.at("status").text("updateRevision")
        if "" in (was, new) or was == new:
            return None
        made = [o.at("metadata").words("labels").get(_REVISION) for o in others if o.key == pod.key]
        strategy = owner.at("spec").at("updateStrategy")
        kept = strategy.at("rollingUpdate").integer("partition", 0, 2**31) or 0
        number = pod.key[1].rpartition("-")[2]
        by_itself = (
            strategy.text("type") != "OnDelete" and number.isdecimal() and int(number) >= kept
        )
        if made[0] == new if made else by_itself:
            return "rolled out", f"{kind} {name} goes on with its revision {new}"
        return None

    def _counted(self, kind: str, name: str, uid: str) -> Verdict | None:
        """Whether a Job has counted more ends since than are seen and have been explained by it."""
        if kind != "Job" or uid not in self._first or uid not in self._later:
            return None
        if uid not in self._ends:
            self._ends[uid] = Counter()
            for became, field, phase in _COUNTED:
                self._ends[uid][became] = max(0, self._unseen(uid, field, phase))
        for became, count in self._ends[uid].items():
            if count > 0:
                self._ends[uid][became] -= 1
                return became, f"Job {name} has counted it as {became}"
        return None

    def _unseen(self, uid: str, field: str, phase: str) -> int:
        """How many more ends a Job has counted since than pods are seen that have ended so."""
        counts = [
            view.at("status").integer(field, 0, 2**31) or 0
            for view in (self._first[uid], self._later[uid])
        ]
        return counts[1] - counts[0] - self._shown[uid, phase]

    def with_unseen_pods(self) -> frozenset[str]:
        """Return uids of owners of which pods may have come and gone between the dumps.

        Jobs have counted them; where something was scaled more than once, some may have been made
        and taken away again.
        """
        return frozenset(
            uid
            for uid, view in self._later.items()
            if uid in self._first
            and (
                any(self._unseen(uid, field, phase) > 0 for _, field, phase in _COUNTED)
                if view.text("kind") == "Job"
                else view.text("kind") in _SCALED
                and _generation(view) > _generation(self._first[uid]) + 1
            )
        )

    @staticmethod
    def _wanted(view: View | None) -> int | None:
        if view is None:
            return None
        spec = view.at("spec")
        for field in ("replicas", "parallelism"):
            number = spec.integer(field, 0, 2**31)
            if number is not None:
                return number
        return None


def _template(pod: View) -> str:
    labels = pod.at("metadata").words("labels")
    return labels.get(_HASH) or labels.get(_REVISION, "")


def _generation(view: View) -> int:
    return view.at("metadata").integer("generation", 0, 2**62) or 0


def _by_uid(objects: Iterable[Raw]) -> dict[str, View]:
    found = {}
    for item in objects:
        if isinstance(item, dict) and item.get("kind") not in ("Pod", "Node", "Event"):
            view = view_of(item)
            uid = view.at("metadata").text("uid")
            if uid:
                found[uid] = view
    return found


def _ends(objects: Iterable[Raw]) -> dict[str, tuple[str, str]]:
    """Owner and phase of the pods, by uid, that have ended."""
    views = (view_of(item) for item in objects if item.get("kind") == "Pod")
    found = {}
    for view in views:
        metadata, owner = view.at("metadata"), owner_of(view.at("metadata"))
        if owner is not None and ended(view):
            found[metadata.text("uid")] = owner.text("uid"), view.at("status").text("phase")
    return found


def _name_of(view: View) -> tuple[str, str, str]:
    return view.text("kind"), *view.key


def _alive(objects: Iterable[Raw]) -> Iterator[str]:
    """Yield the uid of the owner of each pod that has not ended and is not terminating."""
    for view in (view_of(item) for item in objects if item.get("kind") == "Pod"):
        metadata, owner = view.at("metadata"), owner_of(view.at("metadata"))
        if owner is not None and not ended(view) and "deletionTimestamp" not in metadata:
            yield owner.text("uid")


def _namespaces(objects: Iterable[Raw]) -> dict[str, View]:
    views = (view_of(item) for item in objects if item.get("kind") == "Namespace")
    return {view.at("metadata").text("name"): view for view in views}


def _owning(objects: Iterable[Raw]) -> set[str]:
    """Kinds of what makes the pods among some objects."""
    views = (view_of(item) for item in objects if item.get("kind") == "Pod")
    owners = (owner_of(view.at("metadata")) for view in views)
    return {owner.text("kind") for owner in owners if owner is not None}
