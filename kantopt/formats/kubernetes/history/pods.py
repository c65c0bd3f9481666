"""What two dumps of one cluster say of its pods: where each was, and what became of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from kantopt.formats.kubernetes.history.fates import GONE, Events, became, disrupted_at, made_at
from kantopt.formats.kubernetes.history.kinds import Kinds, key_of
from kantopt.formats.kubernetes.history.owners import Owners
from kantopt.formats.kubernetes.history.resized import at_its_smallest
from kantopt.formats.kubernetes.namespaces import NO_NAMESPACES
from kantopt.formats.kubernetes.nodes import read_node
from kantopt.formats.kubernetes.nominated import has_room, requests_of, room_of, take
from kantopt.formats.kubernetes.objects import ended
from kantopt.formats.kubernetes.pods import read_pod
from kantopt.formats.kubernetes.volumes.waiting_claims import claims_used
from kantopt.formats.notes import Notes
from kantopt.formats.pair import Key
from kantopt.formats.view import View
from kantopt.schema.answers.history import Fate


class Dumps:
    """Two dumps, compared."""

    def __init__(self, first: Sequence[Any], later: Sequence[Any]) -> None:
        self.before, self.after = Kinds(first), Kinds(later)
        self.first, self.later = (
            {key_of(pod): pod for pod in dump.of("Pod")} for dump in (self.before, self.after)
        )
        self._names = {key[:2] for key in self.first}
        sizes = (
            (key, pod, at_its_smallest(pod, self.first.get(key))) for key, pod in self.later.items()
        )
        self.resized = {key: least for key, pod, least in sizes if least is not pod}
        """Pods that were resized in place, each as small as it may have been."""
        self.nodes_before, self.nodes = _nodes(self.before), _nodes(self.after)
        self._places = self.after.named("Node")
        self._bound = _bound(self.before), _bound(self.after)
        self.owners = Owners(self.before, self.after)
        self._events = Events((self.before, self.after))
        self._events_before = Events((self.before,))
        self._classes = _classes((self.before, self.after))
        self.roots = {key: self.owners.root(pod) for key, pod in self._all().items()}
        self._new: dict[tuple[str, ...], list[Key]] = {}
        for key, pod in self.later.items():
            if key not in self.first and not ended(pod):
                self._new.setdefault((key[0], *self.roots[key]), []).append(key)
        self.fates = self._fates()

    def earlier(self) -> str:
        """Say what shows that the later dump is the earlier one; nothing if it is not.

        No pod loses its node while it lives, and versions of objects only rise.
        """
        for key, pod in self.first.items():
            node, now = pod.node, self.later.get(key)
            if key[2] and node and now is not None and not now.node:
                return f"pod {key[0]}/{key[1]} has no node in it, and node {node} in the first"
        versions = [
            (int(was), int(now))
            for key, pod in self.first.items()
            if key[2] and key in self.later
            for was, now in [[_version(view) for view in (pod, self.later[key])]]
            if was.isdecimal() and now.isdecimal()
        ]
        if any(was > now for was, now in versions) and all(was >= now for was, now in versions):
            return "pods have higher resource versions in the first, and none has a lower one"
        return ""

    @property
    def passing(self) -> frozenset[tuple[str, str, str]]:
        """Taints, by node, key and effect, that were not there from the first dump to the later.

        Put on or taken off since, or at another time: between the two the node may have been open.
        Of a node that came since those are meant that were put on it after it had got a pod.
        """
        first, later = (_taints(dump) for dump in (self.before, self.after))
        same = {name for name, uid in self.nodes.items() if self.nodes_before.get(name) == uid}
        got: dict[str, str] = {}
        """When each node got its first pod, as far as this is told."""
        for pod in self.later.values():
            node, moment = pod.node, _scheduled(pod)
            if moment:
                got[node] = min(moment, got.get(node, moment))
        return frozenset(
            taint[:3]
            for taint in first ^ later
            if taint[0] in same or (taint in later and taint[3][1] >= got.get(taint[0], "~"))
        )

    @property
    def settled_differs(self) -> bool:
        """Whether what is decided and what is there already are two things.

        So they are where pods were resized: better plans get no room that these may have taken.
        """
        decided = self.resized or self.victims()
        return bool(decided) or any(self.nominated(pod) for pod in self.later.values())

    def _all(self) -> dict[Key, View]:
        return {**self.first, **self.later}

    def _fates(self) -> dict[Key, Fate]:
        lost = {
            name: "was made anew" if name in self.nodes else GONE
            for name, uid in self.nodes_before.items()
            if self.nodes.get(name) != uid
        }
        fates = {}
        named: set[Key] = set()
        """Pods that stand for one that is gone."""
        for key, pod in self.first.items():
            node = pod.node
            if not node or ended(pod):
                continue
            root = self.roots[key]
            others = self._new.get((key[0], *root), []) if root[0] else []
            anew = next(self._standing_for(key, others, named), None)
            said = became(
                pod,
                self.later.get(key),
                lost=lost,
                owners=self.owners,
                events=self._events,
                others=[self.later[other] for other in others],
                anew="" if anew is None else anew[1],
            )
            if said is not None:
                if anew is not None and said[0] == "disrupted":
                    named.add(anew)
                name = f"{key[0]}/{key[1]}"
                fates[key] = Fate(
                    pod=name,
                    uid=key[2],
                    node=node,
                    became=said[0],
                    evidence=said[1],
                    unduly=self._unduly(pod) if said[0] == "preempted" else "",
                )
        return fates

    def _unduly(self, victim: View) -> str:
        """Say why the pod that an event names as the preemptor of another may not evict it.

        Not of pods of a PodGroup, which has a priority of its own, nor where others than
        kube-scheduler's own rules may have decided: other schedulers, elastic quotas.
        """
        who = self._events.preemptors.get(victim.uid)
        if who is None:
            return ""
        named = [pod for key, pod in self._all().items() if who in (key[2], f"{key[0]}/{key[1]}")]
        numbers = [pod.at("spec").integer("priority") for pod in (*named, victim)]
        others = any(
            "schedulingGroup" in spec or spec.text("schedulerName") not in ("", "default-scheduler")
            for spec in (pod.at("spec") for pod in (*named, victim))
        )
        elastic = any(dump.of("ElasticQuota") for dump in (self.before, self.after))
        if len(named) != 1 or None in numbers or others or elastic:
            return ""
        its, own = (number or 0 for number in numbers)
        name = "/".join(named[0].key)
        if self._policy(named[0]) == "Never":
            return f"for {name}, which is to preempt nobody"
        return f"for {name} of priority {its}, its own is {own}" if its <= own else ""

    def _standing_for(
        self, gone: Key, others: Iterable[Key], named: Collection[Key]
    ) -> Iterator[Key]:
        """Yield who of its owner's new pods may be a pod made anew, under its own name first.

        Under the name of another pod that other one was made anew, as those of StatefulSets are.
        """
        alike = [other for other in others if other[:2] == gone[:2]]
        yield from alike or (o for o in others if o not in named and o[:2] not in self._names)

    def victims(self, unjudged: frozenset[Key] = frozenset()) -> dict[Key, Key | None]:
        """Return the preempted pods that a more important pod may have made way for itself by.

        It came to their node since, or is to come there. Each is given with a pod that stands for
        it elsewhere since, if there is one. Who was terminating already, or preempted by an event,
        is none of them: that was decided before the first dump.

        Parameters
        ----------
        unjudged
            Pods that count neither as preempted nor as those who did it.
        """
        since: dict[str, list[View]] = {}
        for key, pod in self.later.items():
            was = self.first.get(key)
            bound = pod.node
            node = bound or self.nominated(pod)
            came = was is None or not was.node
            if node and came and not ended(pod) and key not in unjudged:
                since.setdefault(node, []).append(pod)
        victims: dict[Key, Key | None] = {}
        taken: set[Key] = set()
        for key, fate in self.fates.items():
            least = self._priority(self.first[key])
            if (
                fate.became == "preempted"
                and key not in unjudged
                and not self._decided_before(key)
                and any(
                    self._priority(pod) > least
                    and self._policy(pod) != "Never"
                    and self._may_have_preempted(pod, key)
                    for pod in since.get(fate.node, ())
                )
            ):
                victims[key] = found = self._replacement(key, taken)
                if found is not None:
                    taken.add(found)
        return victims

    def _decided_before(self, victim: Key) -> bool:
        """Whether the first dump shows that a pod was to go."""
        pod = self.first[victim]
        said = self._events_before.of(pod)
        return pod.terminating or (said is not None and said[0] == "preempted")

    def _may_have_preempted(self, pod: View, victim: Key) -> bool:
        """Whether a pod is the one that an event names, or was made before that happened."""
        who = self._events.preemptors.get(victim[2])
        if who is not None:
            return who in (pod.uid, "/".join(pod.key))
        told = self.later.get(victim)
        marked = "" if told is None else disrupted_at(told)
        moment = marked or self._events.moment(self.first[victim])
        return not moment or made_at(pod) <= moment

    def _replacement(self, victim: Key, taken: set[Key]) -> Key | None:
        """Return a pod that came since, has a node and is of the victim's owner and template."""
        owner = next(self.owners.chain(self.first[victim]), None)
        if owner is None:
            return None
        for key in self._new.get((victim[0], *self.roots[victim]), ()):
            pod = self.later[key]
            same = next(self.owners.chain(pod), None) == owner
            going = pod.terminating
            there = pod.node in self.nodes
            if same and there and not going and key not in taken:
                return key
        return None

    def nominated(self, pod: View) -> str:
        """Return the node whose room a pending pod waits for; empty if there is none.

        Somebody is leaving there, or has left room enough: then its scheduler has only to come back
        to it.
        """
        node = _wish(pod)
        waits = not (pod.node or ended(pod) or pod.terminating)
        if not waits or node not in self.nodes:
            return ""
        others = [
            other
            for other in self.later.values()
            if node == (other.node or _wish(other))
            and not ended(other)
            and key_of(other) != key_of(pod)
        ]
        leaving = any(other.terminating for other in others if other.node)
        return node if leaving or _is_free_for(pod, self._places[node], others) else ""

    def freed(self, was: View, now: View) -> bool:
        """Whether a pod that waits was held by a gate in the first dump, or by an unbound claim."""
        gates = [[*pod.at("spec").list("schedulingGates")] for pod in (was, now)]
        claims = [(now.key[0], name) for name in claims_used(now)]
        return bool(gates[0] and not gates[1]) or any(
            not self._bound[0].get(claim) and self._bound[1].get(claim) for claim in claims
        )

    def _priority(self, pod: View) -> int:
        spec = pod.at("spec")
        number = spec.integer("priority")
        if number is not None:
            return number
        return self._classes.get(spec.text("priorityClassName"), (0, ""))[0]

    def _policy(self, pod: View) -> str:
        spec = pod.at("spec")
        own = spec.text("preemptionPolicy")
        return own or self._classes.get(spec.text("priorityClassName"), (0, ""))[1]


def _taints(dump: Kinds) -> set[tuple[str, str, str, tuple[str, str]]]:
    """Taints by node, key and effect, with value and the moment at which they were put on."""
    return {
        (
            node.key[1],
            taint.text("key"),
            taint.text("effect"),
            (taint.text("value"), taint.text("timeAdded")),
        )
        for node in dump.of("Node")
        for taint in node.at("spec").list("taints")
    }


def _scheduled(pod: View) -> str:
    """When a pod got its node; nothing if it is not told."""
    condition = pod.condition("PodScheduled")
    return "" if condition is None else condition.text("lastTransitionTime")


def _wish(pod: View) -> str:
    return pod.at("status").text("nominatedNodeName")


def _bound(dump: Kinds) -> dict[tuple[str, str], bool]:
    """Claims for volumes, and whether they have one."""
    claims = dump.of("PersistentVolumeClaim")
    return {claim.key: bool(claim.at("spec").text("volumeName")) for claim in claims}


def _version(view: View) -> str:
    return view.at("metadata").text("resourceVersion")


def _nodes(dump: Kinds) -> dict[str, str]:
    """Uids of the nodes by name."""
    return {name: node.uid for name, node in dump.named("Node").items()}


def _classes(dumps: Iterable[Kinds]) -> dict[str, tuple[int, str]]:
    """Priority and policy of each class; the global default under the empty name."""
    found: dict[str, tuple[int, str]] = {}
    for view in (view for dump in dumps for view in dump.of("PriorityClass")):
        value = view.integer("value") or 0, view.text("preemptionPolicy")
        found[view.key[1]] = value
        if view.flag("globalDefault"):
            found[""] = value
    return found


def _is_free_for(pod: View, node: View, others: Iterable[View]) -> bool:
    """Whether a node admits a pod and has room for it beside others: as far as requests tell.

    Others are those who have the node or are to have it.
    """
    notes = Notes()
    place, beside = read_node(node, notes), [read_pod(o, NO_NAMESPACES, notes) for o in others]
    room = room_of(place)
    for each in beside:
        take(room, requests_of(each))
    ports = (port for each in beside for port in each.shape["host_ports"])
    return has_room(read_pod(pod, NO_NAMESPACES, notes), place, room, ports)
