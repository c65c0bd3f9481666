"""Volumes that are there already, for claims that wait for their first pod: static provisioning.

kube-scheduler gives a claim the smallest volume of its class that is large enough and may be used
on the node. Claims that accept the same volumes are one kind. A node can serve its pods if it has,
for each set of kinds, as many volumes as are asked for (:mod:`kantopt.formats.kubernetes.hall`).
Volumes that several nodes can use are counted only where there are enough for all that wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

from kantopt.formats.kubernetes.hall import Kinds, binding_sets
from kantopt.formats.kubernetes.nodes import read_selector, read_term
from kantopt.formats.kubernetes.volumes.stock import Stock
from kantopt.formats.kubernetes.volumes.waiting_claims import (
    Terms,
    UnexplainedError,
    WaitingClaim,
    class_of,
)
from kantopt.formats.view import Exact, Key, View
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.quantity import FREE
from kantopt.schema.selection import selector_matches
from kantopt.schema.snapshot import Node

Volumes = frozenset[str]
"""Names of volumes."""


class FreeVolumes:
    """Which claims could have which volumes, and what of that is a matter of amounts."""

    def __init__(
        self,
        waiting: Mapping[Key, WaitingClaim],
        volumes: Mapping[str, View],
        nodes: Sequence[Node],
        only: Iterable[str],
        stock: Stock,
    ) -> None:
        self._volumes = volumes
        self._nodes = nodes
        self._labelled: dict[tuple[str, str], list[Node]] = {}
        for node in nodes:
            for label in node.labels.items():
                self._labelled.setdefault(label, []).append(node)
        self._unread: set[Key] = set()
        self._suits: dict[Key, Volumes] = {}
        shelf = _Shelf(volumes if waiting else {})
        for key, claim in waiting.items():
            try:
                self._suits[key] = shelf.suitable(claim)
            except UnexplainedError:
                self._unread.add(key)
        self._waiting = waiting
        self._at_odds = self._find_at_odds()
        self._names: dict[Key, list[str]] = {}
        self._stock = stock
        for name in sorted(set(only)):
            self._count(name)

    def suits(self, key: Key) -> bool:
        """Whether there is any volume for a claim.

        Raises
        ------
        UnexplainedError
            If that cannot be told.
        """
        if key in self._unread or key not in self._suits:
            raise UnexplainedError
        return bool(self._suits[key])

    def counts(self, key: Key) -> None:
        """Make sure that what a pod asks of its node says where its claim gets a volume.

        Raises
        ------
        UnexplainedError
            If volumes of several nodes are too few for all, several pods use the claim, or its pod
            has others that it may take a volume from.
        """
        if key not in self._names or key in self._at_odds:
            raise UnexplainedError

    def alone(self, key: Key) -> list[Terms]:
        """Return where the volumes of a claim can be used that suit no other claim; if anywhere.

        Raises
        ------
        UnexplainedError
            If they suit other claims that wait, or several pods use the claim.
        """
        mine = self._suits[key]
        rivals = any(mine & other for k, other in self._suits.items() if k != key)
        if rivals or len(self._waiting[key].users) > 1:
            raise UnexplainedError
        lists = [affinity_of(self._volumes[name]) for name in sorted(mine)]
        if any(terms is None for terms in lists):
            return []
        return [tuple(term for terms in lists for term in terms or ())]

    def _find_at_odds(self) -> set[Key]:
        """Return claims of pods with several of which one may take what another needs.

        kube-scheduler serves the smaller claim first, with the smallest volume that suits it. No
        other choice does better where whatever suits it alone is smaller than what suits both.
        """
        claims: dict[Key, list[Key]] = {}
        for key in self._suits:
            for user in self._waiting[key].users:
                claims.setdefault(user, []).append(key)
        known: dict[tuple[Volumes, Volumes], bool] = {}
        found: set[Key] = set()
        for keys in claims.values():
            for first, second in permutations(keys, 2):
                if (self._waiting[first].size or 0) <= (self._waiting[second].size or 0):
                    pair = self._suits[first], self._suits[second]
                    if pair not in known:
                        known[pair] = self._takes_away(*pair)
                    found.update(keys if known[pair] else ())
        return found

    def _takes_away(self, first: Volumes, second: Volumes) -> bool:
        """Whether a claim may take a volume that the next needs, though another suits it."""
        alone = [_size(self._volumes[name]) for name in first - second]
        both = [_size(self._volumes[name]) for name in first & second]
        return bool(alone and both) and max(alone) >= min(both)

    def _count(self, name: str) -> None:
        """Have pods of a class ask for volumes, and nodes offer them."""
        kinds: dict[Volumes, list[Key]] = {}
        for key, suits in sorted(self._suits.items()):
            if suits and self._waiting[key].storage_class == name:
                kinds.setdefault(suits, []).append(key)
        if any(self._waiting[key].storage_class == name for key in self._unread):
            return  # it may take any volume
        members = list(kinds)
        demand = [sum(self._waiting[key].volumes for key in keys) for keys in kinds.values()]
        groups = {
            volume: frozenset(k for k, suits in enumerate(members) if volume in suits)
            for volume in sorted(frozenset().union(*members))
        }
        sets, unread = binding_sets(set(groups.values()))
        areas: dict[frozenset[str], list[Kinds]] = {}
        for volume, group in groups.items():
            areas.setdefault(self._nodes_of(volume), []).append(group)
        offers: dict[Kinds, Counter[str]] = {}
        for chosen in sets:
            wanted = sum(demand[k] for k in chosen)
            offers[chosen] = Counter()
            for nodes, found in areas.items():
                count = sum(bool(group & chosen) for group in found)
                if len(nodes) > 1 and 0 < count < wanted:
                    unread |= chosen
                offers[chosen].update(dict.fromkeys(nodes, count))
        for i, chosen in enumerate(sets):
            resource = f"{FREE}{name}{f'#{i}' if i else ''}"
            keys = [key for k in chosen - unread for key in kinds[members[k]]]
            for key in keys:
                self._ask(key, resource)
            for node, count in offers[chosen].items():
                self._stock.offers[node][resource] = count

    def _ask(self, key: Key, resource: str) -> None:
        claim = self._waiting[key]
        if len(claim.users) == 1:
            self._names.setdefault(key, []).append(resource)
            self._stock.asks[claim.users[0]][resource] += claim.volumes

    def _nodes_of(self, name: str) -> frozenset[str]:
        """Return the nodes that can use a volume."""
        terms = affinity_of(self._volumes[name])
        if terms is None:
            return frozenset(node.name for node in self._nodes)
        return frozenset(
            node.name
            for term in terms
            for node in self._near(term)
            if affinity_matches((term,), node)
        )

    def _near(self, term: NodeSelectorTerm) -> Iterable[Node]:
        """Return nodes among which those are that match a term."""
        for item in term.match_expressions:
            if item.operator == "In":
                return [
                    node
                    for value in item.values
                    for node in self._labelled.get((item.key, value), ())
                ]
        return self._nodes


def affinity_of(volume: View) -> Terms | None:
    """Return the terms of a volume's node affinity; ``None`` if it may be on any node.

    kube-scheduler asks it of labels without a node: of what terms say about the node's name
    (``matchFields``) it knows nothing, and a term that says nothing else holds everywhere.
    """
    affinity = volume.at("spec", "nodeAffinity")
    if "required" not in affinity:
        return None
    terms = [read_term(term) for term in affinity.at("required").list("nodeSelectorTerms")]
    if any(term.match_fields and not term.match_expressions for term in terms):
        return None
    return tuple(NodeSelectorTerm(match_expressions=term.match_expressions) for term in terms)


class _Shelf:
    """Volumes by class, free or meant for a claim."""

    def __init__(self, volumes: Mapping[str, View]) -> None:
        self._free: dict[str, list[View]] = {}
        self._meant: dict[Key, list[View]] = {}
        for volume in volumes.values():
            if volume.terminating:
                continue
            if "claimRef" in volume.at("spec"):
                reference = volume.at("spec", "claimRef")
                key = reference.text("namespace"), reference.text("name")
                self._meant.setdefault(key, []).append(volume)
            elif volume.at("status").text("phase") == "Available":
                self._free.setdefault(class_of(volume), []).append(volume)
        self._known: dict[str, Volumes] = {}

    def suitable(self, claim: WaitingClaim) -> Volumes:
        """Return the volumes of its class that a claim could have, whatever the node.

        One that is meant for it goes before all others.
        """
        for volume in self._meant.get(claim.key, ()):
            mine = class_of(volume) == claim.storage_class and _meant(volume, claim.view)
            if mine and _holds(volume, claim):
                return frozenset([volume.at("metadata").text("name")])
        asked = repr((claim.storage_class, claim.view.at("spec").raw))
        if asked not in self._known:
            self._known[asked] = frozenset(
                volume.at("metadata").text("name")
                for volume in self._free.get(claim.storage_class, ())
                if _holds(volume, claim) and _serves(volume, claim)
            )
        return self._known[asked]


def _holds(volume: View, claim: WaitingClaim) -> bool:
    """Whether a volume is large enough for a claim, and of its sort.

    Raises
    ------
    UnexplainedError
        If it depends on the version.
    """
    own, asked = volume.at("spec"), claim.view.at("spec")
    if _size(volume) < (claim.size or 0):
        return False
    if own.text("volumeMode", "Filesystem") != asked.text("volumeMode", "Filesystem"):
        return False
    attributes = "volumeAttributesClassName"
    if own.text(attributes) != asked.text(attributes):
        raise UnexplainedError
    return True


def _size(volume: View) -> Exact:
    return volume.at("spec").exact_amounts("capacity").get("storage", 0)


def _serves(volume: View, claim: WaitingClaim) -> bool:
    """Whether a volume that is meant for nobody has the labels and access modes of a claim."""
    asked = claim.view.at("spec")
    labels = volume.labels
    modes = set(volume.at("spec").strings("accessModes"))
    return modes.issuperset(asked.strings("accessModes")) and selector_matches(
        read_selector(asked.at("selector")), labels
    )


def _meant(volume: View, claim: View) -> bool:
    """Whether the claim that a volume is meant for, by its name, is this one and no earlier one."""
    uid = volume.at("spec", "claimRef").text("uid")
    return uid in ("", claim.uid)
