"""Who owns a pod in two dumps, and whether that is why the pod is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kantopt.formats.kubernetes.disruption import owner_of
from kantopt.formats.kubernetes.history.kinds import Kinds
from kantopt.formats.kubernetes.objects import ended
from kantopt.formats.view import View
from kantopt.schema.answers.history import Became

Verdict = tuple[Became, str]

_ENDED = frozenset(
    ("Complete", "Completed", "Failed", "Succeeded", "SuccessCriteriaMet", "FailureTarget")
)
_COUNTED: tuple[tuple[str, str, Became, str], ...] = (
    ("succeeded", "Succeeded", "finished", "finished"),
    ("failed", "Failed", "unknown", "failed, as it does those that are deleted"),
)
"""What the status of a Job counts, the phase that shows it, what the pod became, and in words."""
_TEMPLATED = ("Deployment", "StatefulSet", "DaemonSet")
"""Kinds of owners that roll a new template out."""
_SCALED = ("ReplicaSet", "StatefulSet")
"""Kinds whose generation tells that they were scaled, and how often at most."""
_HASH = "pod-template-hash"
_REVISION = "controller-revision-hash"


class Owners:
    """The owners of pods in two dumps."""

    def __init__(self, first: Kinds, later: Kinds) -> None:
        self._first = _by_uid(first)
        self._later = _by_uid(later)
        self._names = {_name_of(view) for view in self._later.values()}
        self._spaces = [dump.named("Namespace") for dump in (first, later)]
        owners = (owner for view in self._later.values() if (owner := owner_of(view)) is not None)
        above = {kind for pod in later.of("Pod") for kind, _, _ in self.chain(pod)}
        above |= {owner.text("kind") for owner in owners}
        self._unknown = above - {view.text("kind") for view in self._later.values()}
        """Kinds of owners that the later dump has none of though something is owned by such."""
        self._siblings: dict[str, list[View]] = {}
        for view in self._later.values():
            owner = owner_of(view)
            if owner is not None and view.text("kind") == "ReplicaSet":
                self._siblings.setdefault(owner.text("uid"), []).append(view)
        self._ends: dict[str, Counter[str]] = {}
        before = {pod.uid for pod, _ in _owned(first) if ended(pod)}
        ends = {pod.uid: (pod, owner) for pod, owner in _owned(later) if ended(pod)}
        self._shown = Counter(
            (owner.text("uid"), pod.at("status").text("phase"))
            for uid, (pod, owner) in ends.items()
            if uid not in before
        )
        """How many pods the later dump shows ended and the first does not, by owner and phase."""
        self._held = Counter(
            owner.text("uid") for pod, owner in _owned(first) if not (ended(pod) or pod.terminating)
        )
        """How many pods each owner had in the first dump."""
        self._heard_of = set(_heard_of(first, later))
        """Namespaces and names of owners of pods of which only events tell."""
        self._surplus: dict[str, int] = {}
        """How many of these it has no use for any more, less those that this has explained."""

    def chain(self, pod: View) -> Iterator[tuple[str, str, str]]:
        """Yield kind, name and uid of a pod's owners, the nearest first."""
        view, seen = pod, set[str]()
        while (owner := owner_of(view)) is not None:
            kind, name, uid = owner.text("kind"), owner.text("name"), owner.text("uid")
            yield kind, name, uid
            above = self._later.get(uid) or self._first.get(uid)
            if uid in seen or above is None:
                template = pod.labels.get(_HASH, "")
                if above is None and kind == "ReplicaSet" and name.endswith(f"-{template}"):
                    yield "Deployment", name.removesuffix(f"-{template}"), ""
                return
            seen.add(uid)
            view = above

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
                fewer = f"{kind} {name} wants {after} pods, {before} before"
                above = chain[i + 1 : i + 2]
                if any(self._wants_as_many(owner) for _, _, owner in above):
                    return "rolled out", f"{fewer}, and {above[0][0]} {above[0][1]} no fewer"
                return "scaled down", fewer
        return None

    def _wants_as_many(self, uid: str) -> bool:
        before, after = self._wanted(self._first.get(uid)), self._wanted(self._later.get(uid))
        return before is not None and after is not None and after >= before

    def _is_surplus(self, pod: View, owner: View, wanted: int) -> bool:
        """Whether a pod is beyond what its owner wants; a StatefulSet wants the lowest numbers."""
        number, uid = pod.key[1].rpartition("-")[2], owner.uid
        if owner.text("kind") == "StatefulSet" and number.isdecimal():
            first = owner.at("spec").at("ordinals").integer("start", 0, 2**31) or 0
            return int(number) >= first + wanted
        if pod.terminating:
            return True
        self._surplus.setdefault(uid, self._held[uid] - wanted)
        self._surplus[uid] -= 1
        return self._surplus[uid] >= 0

    def _space_gone(self, name: str) -> Verdict | None:
        """Whether the namespace of a pod has gone since, or is being deleted."""
        before, after = self._spaces
        if name in after and after[name].terminating:
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
        if view.terminating:
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
        template = pod.labels.get(_HASH)
        for other in others:
            if template != other.labels.get(_HASH):
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
        was = pod.labels.get(_REVISION, "")
        new = owner.at("status").text("updateRevision")
        if "" in (was, new) or was == new:
            return None
        made = [o.labels.get(_REVISION) for o in others if o.key == pod.key]
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
            for field, phase, _, _ in _COUNTED:
                self._ends[uid][field] = max(0, self._unseen(uid, field, phase))
        for field, _, became, words in _COUNTED:
            if self._ends[uid][field] > 0:
                self._ends[uid][field] -= 1
                return became, f"Job {name} has counted it as {words}"
        return None

    def _unseen(self, uid: str, field: str, phase: str) -> int:
        """How many more ends a Job has counted since than pods are seen that have ended so."""
        before, after = (
            view.at("status").integer(field, 0, 2**31) or 0 if view is not None else 0
            for view in (self._first.get(uid), self._later[uid])
        )
        return after - before - self._shown[uid, phase]

    def with_unseen_pods(self) -> frozenset[str]:
        """Return uids of owners of which pods may have come and gone between the dumps.

        Jobs have counted them, or an event tells of one; where something was scaled more than once,
        or was made since and scaled, some may have been made and taken away again.
        """
        return frozenset(uid for uid, view in self._later.items() if self._had_others(uid, view))

    def _had_others(self, uid: str, view: View) -> bool:
        if view.text("kind") not in (*_SCALED, "Job"):
            return False
        if view.key in self._heard_of:
            return True
        if view.text("kind") == "Job":
            return any(self._unseen(uid, field, phase) > 0 for field, phase, _, _ in _COUNTED)
        before = _generation(self._first[uid]) if uid in self._first else 0
        return _generation(view) > before + 1

    def templates(self, uids: Iterable[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield namespace and labels of the pods that some owners make, as far as it is told."""
        for view in map(self._later.__getitem__, uids):
            labels = view.at("spec").at("template").labels
            if labels:
                yield view.key[0], labels

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
    labels = pod.labels
    return labels.get(_HASH) or labels.get(_REVISION, "")


def _generation(view: View) -> int:
    return view.at("metadata").integer("generation", 0, 2**62) or 0


def _by_uid(dump: Kinds) -> dict[str, View]:
    owning = (view for view in dump.views if view.text("kind") not in ("Pod", "Node", "Event"))
    return {view.uid: view for view in owning if view.uid}


def _owned(dump: Kinds) -> Iterator[tuple[View, View]]:
    """Yield the pods that somebody owns, each with its owner."""
    for pod in dump.of("Pod"):
        if (owner := owner_of(pod)) is not None:
            yield pod, owner


def _heard_of(first: Kinds, later: Kinds) -> Iterator[tuple[str, str]]:
    """Yield whose pods came and went between two dumps, as their names in new events tell."""
    seen = {pod.uid for dump in (first, later) for pod in dump.of("Pod")}
    told = {event.uid for event in first.of("Event")}
    for event in later.of("Event"):
        about = event.at("regarding" if "regarding" in event else "involvedObject")
        uid = about.text("uid")
        if about.text("kind") == "Pod" and event.uid not in told and uid and uid not in seen:
            yield about.text("namespace"), about.text("name").rpartition("-")[0]


def _name_of(view: View) -> tuple[str, str, str]:
    return view.text("kind"), *view.key
