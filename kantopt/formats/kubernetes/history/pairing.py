"""Two dumps of one cluster as one question: its pods where they were, and where they are since."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

from kantopt.formats.kubernetes.history.kinds import Kinds, key_of
from kantopt.formats.kubernetes.history.pods import Dumps
from kantopt.formats.kubernetes.kueue.workloads import owners_of
from kantopt.formats.kubernetes.objects import KINDS, Objects, ended
from kantopt.formats.kubernetes.volumes.attachments import crowded
from kantopt.formats.pair import Counted, Key, Pair
from kantopt.formats.view import View
from kantopt.schema.answers.history import History

_STATIC = ("DaemonSet", "Node")
_MOUNTED = ("PersistentVolumeClaim", "PersistentVolume")
_TOLD_BY = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "JobSet", "Event")
"""Kinds that have told what became of pods: an import that does not read them needs no warning."""


class KubernetesDumps(Dumps):
    """Two dumps of Kubernetes objects, compared and put together."""

    taints_alone = True

    @cached_property
    def crowded(self) -> frozenset[tuple[str, str]]:
        """Nodes that have more volumes than they can attach, each with the resource they are."""
        if not self.after.of("CSINode"):
            return frozenset()
        return crowded(Objects(self.before.objects, ""), Objects(self.after.objects, ""))

    def pair(self, given: frozenset[Key] = frozenset(), *, settled: bool) -> Pair:
        """Put the two together, as :class:`kantopt.formats.pair.TwoDumps` has it."""
        return _Pairing(self, given, settled).pair()


class _Pairing:
    """One way to put two dumps together."""

    def __init__(self, dumps: KubernetesDumps, given: frozenset[Key], settled: bool) -> None:
        self._d = dumps
        self._asked = given
        self._settled = settled
        self._victims = _told_apart(dumps, given) if settled else {}
        self._replacing = {key for key in self._victims.values() if key is not None}
        later = dumps.later
        nominated = {key: dumps.nominated(pod) for key, pod in later.items()} if settled else {}
        self._nominated = {key: node for key, node in nominated.items() if node}
        self._cleared = frozenset(self._nominated.values())
        self._objects: list[View] = []
        self._places: dict[Key, str | None] = {}
        self._given: set[Key] = set()
        self._waiting: list[str] = []
        self._freed: list[str] = []
        self._there: set[Key] = set()
        self._placed = self._arrived = 0

    def pair(self) -> Pair:
        d = self._d
        for victim, replacement in self._victims.items():
            self._objects.append(d.first[victim])
            self._places[victim] = None if replacement is None else d.later[replacement].node
        names = {key[:2] for key in self._victims}
        for key, pod in d.later.items():
            if key in self._victims or key in self._replacing or key[:2] in names:
                continue
            self._add(key, pod)
        names_before, names_after = set(d.nodes_before), set(d.nodes)
        changed = {
            name for name in names_before & names_after if d.nodes_before[name] != d.nodes[name]
        }
        added = (names_after - names_before) | changed
        history = History(
            stayed=len(self._stayed()),
            placed=self._placed,
            arrived=self._arrived,
            gone=tuple(d.fates.values()),
            waiting=tuple(sorted(self._waiting)),
            freed=tuple(sorted(self._freed)),
            nodes_added=tuple(sorted(added)),
            nodes_removed=tuple(sorted((names_before - names_after) | changed)),
        )
        return Pair(
            data={
                "apiVersion": "v1",
                "kind": "List",
                "items": [view.raw for view in (*self._cluster(), *self._claims(), *self._owned())],
            },
            places=self._places,
            given=frozenset(self._given),
            vanished=tuple(self._vanished()),
            history=history,
            relabelled=tuple(self._relabelled()),
            crowded=d.crowded,
            admitted=frozenset(self._admitted(added)),
        )

    def _relabelled(self) -> Iterator[Counted]:
        before, after = (dump.named("Namespace") for dump in (self._d.before, self._d.after))
        moved = {name for name, was in before.items() if after.get(name, was).labels != was.labels}
        for key, pod in self._d.later.items():
            was = self._d.first.get(key)
            if was is not None:
                labels = was.labels, pod.labels
                if labels[0] != labels[1] or key[0] in moved:
                    yield Counted(key[0], labels)

    def _vanished(self) -> Iterator[Counted]:
        """Yield pods that had a node in the first dump or since, and have gone or are going.

        Where an owner may have had others that neither dump shows, its pods stand for these, and
        such as its template says.
        """
        d = self._d
        unseen = d.owners.with_unseen_pods()
        for key, pod in (d.later | d.first).items():
            dumps = [pods[key] for pods in (d.first, d.later) if key in pods]
            had_node = any(each.node for each in dumps)
            ended_before = key in d.first and ended(pod)
            if (had_node and not ended_before and self._leaves(key)) or (
                unseen and any(uid in unseen for _, _, uid in d.owners.chain(pod))
            ):
                yield Counted(key[0], (pod.labels,))
        for namespace, labels in d.owners.templates(unseen):
            yield Counted(namespace, (labels,))

    def _admitted(self, came: set[str]) -> Iterator[str]:
        """Yield nodes that came since of which all pods run: their kubelets had room for them."""
        waits = {
            pod.node
            for pod in self._d.later.values()
            if pod.at("status").text("phase") == "Pending"
        }
        yield from came - waits

    def _leaves(self, key: Key) -> bool:
        """Whether a pod has gone by the later dump, or is going."""
        return key not in self._there or self._d.later[key].terminating

    def _stayed(self) -> list[Key]:
        return [
            key
            for key, pod in self._d.first.items()
            if pod.node and not ended(pod) and key not in self._d.fates
        ]

    def _add(self, key: Key, pod: View) -> None:
        """Take a pod of the later dump over, as it was in the first.

        What is there is judged with each pod as small as it may have been when others came.
        """
        d = self._d
        was = d.first.get(key)
        if not self._settled:
            pod = d.resized.get(key, pod)
        node = pod.node
        ran = was is not None and bool(was.node)
        going = pod.terminating
        if ended(pod):
            self._objects.append(pod)
        elif node:
            if going and node in self._cleared:
                return
            if node in d.nodes:
                self._there.add(key)
            kinds = [kind for kind, _, _ in d.owners.chain(pod)][:1]
            if ran:
                self._objects.append(pod)
                return
            if node not in d.nodes:
                return
            self._placed += was is not None
            self._arrived += was is None
            if going or key in self._asked or (kinds and kinds[0] in _STATIC):
                self._given.add(key)
                self._objects.append(pod)
            else:
                self._objects.append(_waiting(pod))
                self._places[key] = node
        elif not going:
            nominated = self._nominated.get(key)
            if nominated is not None:
                self._objects.append(_waiting(pod))
                self._places[key] = nominated
            elif was is None:
                self._waiting.append(f"{key[0]}/{key[1]}")
            elif d.freed(was, pod):
                self._freed.append(f"{key[0]}/{key[1]}")
            else:
                self._objects.append(_bare(pod))

    def _cluster(self) -> list[View]:
        """All but pods and claims: as they are since; of the first also what is told of no pod."""
        found: dict[tuple[str, str, str, str], View] = {}
        for late, dump in ((False, self._d.before), (True, self._d.after)):
            for view in dump.views:
                kind, group = view.text("kind"), _group_of(view)
                if kind == "Pod" or (group, kind) == _CLAIM:
                    continue
                if (kind in _TOLD_BY and (group, kind) not in KINDS) or (
                    not late and kind in ("Node", "Workload")
                ):
                    continue
                name = (group, kind, view.at("metadata").text("namespace"), view.key[1])
                was = found.get(name)
                found[name] = _kept(view, was) if late and kind in _MOUNTED else view
                if kind == "PersistentVolumeClaim" and not self._settled:
                    found[name] = _shared(found[name])
        known = {view.uid for view in self._d.before.of("Workload")}
        came = {uid for key in self._places for uid in (key[2], self._d.roots[key][2])}
        return [
            view
            if view.text("kind") != "Workload" or came.isdisjoint(owners_of(view))
            else _unassigned(view)
            for view in found.values()
            if view.text("kind") != "Workload"
            or view.uid in known
            or "admission" in view.at("status")
        ]

    def _claims(self) -> Sequence[View]:
        """Resource claims, as they were for the pods that are judged."""
        waiting = {pod.uid for pod in self._objects if not (ended(pod) or pod.node)}
        return claims_between(
            self._d.before,
            self._d.after,
            waiting=waiting | {key[2] for key in self._replacing},
            leaving={key[2] for key in self._victims},
        )

    def _owned(self) -> Iterator[View]:
        """The pods, those of one Deployment as its own where they are of several ReplicaSets."""
        roots: dict[tuple[str, ...], set[str]] = {}
        for pod in self._objects:
            key = key_of(pod)
            chain = list(self._d.owners.chain(pod))
            if len(chain) > 1 and not ended(pod):
                roots.setdefault((key[0], *self._d.roots[key]), set()).add(chain[0][1])
        for pod in self._objects:
            kind, name, uid = self._d.roots[key_of(pod)]
            several = len(roots.get((pod.key[0], kind, name, uid), ())) > 1
            if kind == "Deployment" and several:
                owner = {"kind": kind, "name": name, "uid": uid, "controller": True}
                metadata = {**pod.at("metadata").raw, "ownerReferences": [owner]}
                pod = pod.replaced(metadata=metadata)
            yield pod


def _told_apart(dumps: Dumps, given: frozenset[Key]) -> dict[Key, Key | None]:
    """Victims but those whose name another pod bears since that does not stand for them."""
    bound = {key[:2]: key for key, pod in dumps.later.items() if pod.node and not ended(pod)}
    return {
        victim: other
        for victim, other in dumps.victims(given).items()
        if bound.get(victim[:2], victim) in (victim, other)
    }


def _kept(claim: View, was: View | None) -> View:
    """A claim or volume that is to go since: pods came to it before, and so it is still there."""
    if (was is not None and was.terminating) or not claim.terminating:
        return claim
    return claim.replaced(metadata=_without(claim.at("metadata"), "deletionTimestamp"))


def _shared(claim: View) -> View:
    """A bound claim as kube-scheduler sees it, to which it is no matter who else uses it where."""
    spec = claim.at("spec")
    if spec.raw.get("accessModes") != ["ReadWriteOnce"] or not spec.raw.get("volumeName"):
        return claim
    return claim.replaced(spec={**spec.raw, "accessModes": ["ReadWriteMany"]})


def _bare(pod: View) -> View:
    """A pod that waits, without the node that the scheduler has in mind for it."""
    return pod.replaced(status=_without(pod.at("status"), "nominatedNodeName"))


def _unassigned(workload: View) -> View:
    """A Workload of which pods came since, without where Kueue has sent them: that is judged."""
    status = workload.at("status")
    admission = status.at("admission")
    given = [_without(item, "topologyAssignment") for item in admission.list("podSetAssignments")]
    if not given:
        return workload
    admission = admission.replaced(podSetAssignments=given)
    return workload.replaced(status={**status.raw, "admission": admission.raw})


def _waiting(pod: View) -> View:
    """A pod as it was before it had a node: no gate holds it back, its claims are there."""
    claims = {k: v for k, v in pod.at("status").raw.items() if k == "resourceClaimStatuses"}
    return pod.replaced(
        spec=_without(pod.at("spec"), "nodeName", "schedulingGates"),
        status={"phase": "Pending", **claims},
    )


def _without(view: View, *fields: str) -> dict[str, Any]:
    return {key: value for key, value in view.raw.items() if key not in fields}


_CLAIM = ("resource.k8s.io", "ResourceClaim")


def claims_between(
    before: Kinds, after: Kinds, *, waiting: Collection[str], leaving: Collection[str]
) -> Sequence[View]:
    """Return the claims as they are since, but for those of pods that are judged.

    Claims that only pods hold which are put back to where they waited are not allocated yet:
    else nothing but the devices that they got would stand open to them. Pods that ran at first
    and do no more hold their claims still. Other claims that are gone hold nothing.

    Parameters
    ----------
    before, after
        Both dumps.
    waiting
        Uids of pods that wait, or are not there yet, as the two dumps are put together.
    leaving
        Uids of pods that run there as they did at first, and did not stay.
    """
    first, later = _claims(before), _claims(after)
    found = []
    for key in {**first, **later}:
        was, now = first.get(key), later.get(key)
        if was is not None and not _users(was).isdisjoint(leaving):
            found.append(was)
        elif now is not None:
            users, now = _users(now), _kept(now, was)
            if not users or not users <= set(waiting):
                found.append(now)
            elif was is not None and "allocation" in was.at("status"):
                found.append(was)
            else:
                found.append(now.replaced(status={}))
    return found


def _group_of(view: View) -> str:
    return view.text("apiVersion").rpartition("/")[0]


def _claims(dump: Kinds) -> dict[tuple[str, str], View]:
    return {claim.key: claim for claim in dump.of(_CLAIM[1]) if _group_of(claim) == _CLAIM[0]}


def _users(claim: View) -> set[str]:
    return {user.text("uid") for user in claim.at("status").list("reservedFor")}
