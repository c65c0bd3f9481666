"""What pods would rather: nodes by labels and taints, company or distance, an even spread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kantopt.problem.affinities import PodLabels, Selections, Spreads
from kantopt.problem.cluster import Node
from kantopt.problem.job import Even, PodSet, Wish
from kantopt.schema import jobs as docs
from kantopt.schema.eligibility import affinity_matches, unwelcome

WHOLE = 100
"""Most that a pod loses for labels, for taints, for company, and what one too many counts."""


@dataclass(frozen=True, slots=True)
class Rather:
    """Which nodes the pods of a pod set would rather have, beside the best that admits them.

    Preferred node affinity counts in hundredths of the sum of its weights; taints that would rather
    keep pods away in hundredths of the most of them on any node that admits the pods.
    """

    podset: docs.PodSet
    total: int
    """Sum of all weights."""
    best: int
    """Most weight of a node that admits the pods."""
    most: int
    """Most taints of such a node that would rather keep them away."""

    def lost_on(self, node: Node) -> int:
        """Return what a pod loses on a node; one that does not admit it may be better than best."""
        lost = 0
        if self.total:
            lost += WHOLE * max(0, self.best - _won(self.podset, node)) // self.total
        if against := unwelcome(self.podset.tolerations, node):
            lost += WHOLE * against // max(self.most, against)
        return lost

    @property
    def tells(self) -> bool:
        """Whether it makes a difference which of the nodes that admit them they have."""
        return bool(self.best or self.most)

    def losses(self, nodes: Iterable[Node]) -> Mapping[int, int]:
        """Return what a pod loses on each of some nodes, where it loses anything."""
        return {node.index: lost for node in nodes if (lost := self.lost_on(node))}


def rather_of(podset: docs.PodSet, admit: Sequence[Node]) -> Rather:
    """Return what its pods would rather, with the nodes that admit them."""
    terms, tolerations = podset.preferred_node_affinity, podset.tolerations
    return Rather(
        podset,
        sum(term.weight for term in terms),
        max((_won(podset, node) for node in (admit if terms else ())), default=0),
        max((unwelcome(tolerations, node) for node in admit), default=0),
    )


def _won(podset: docs.PodSet, node: Node) -> int:
    """Sum of the weights of the terms that a node meets."""
    terms = podset.preferred_node_affinity
    return sum(term.weight for term in terms if affinity_matches((term.preference,), node))


def build_wishes(labels: Sequence[PodLabels]) -> tuple[Wish, ...]:
    """Return whom pods would rather be near or away from, with what a pod loses otherwise."""
    selections = Selections(labels)
    found = []
    for item in labels:
        near, away = item.document.preferred_pod_affinity, item.document.preferred_pod_anti_affinity
        total = sum(term.weight for term in (*near, *away))
        for i, term in enumerate((*near, *away)):
            others = selections.select(term.label_selector, term.namespaces or (item.namespace,))
            weight, apart = WHOLE * term.weight // total, i >= len(near)
            if weight and (others or not apart):
                found.append(Wish(item.podset, term.topology_key, others, weight, apart))
    return tuple(found)


def build_evens(
    labels: Sequence[PodLabels], podsets: Sequence[PodSet], nodes: Sequence[Node]
) -> tuple[Even, ...]:
    """Return over what pods would rather be spread; alike constraints of several pod sets once."""
    spreads = Spreads(labels, podsets, nodes)
    found: dict[Even, None] = {}
    for item in labels:
        for spread in spreads.of(item, item.document.preferred_topology_spread):
            if spread.counted:
                even = Even(
                    spread.key, spread.max_skew, spread.min_domains, spread.counted, spread.over
                )
                found[even] = None
    return tuple(found)
