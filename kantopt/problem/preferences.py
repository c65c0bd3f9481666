"""What pods would rather: nodes by labels and taints, company or distance, an even spread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kantopt.problem.affinities import PodLabels, Selections, Spreads
from kantopt.problem.cluster import Node
from kantopt.problem.job import Even, PodSet, Wish
from kantopt.schema import jobs as docs
from kantopt.schema.eligibility import affinity_matches, unwelcome

WHOLE = 100
"""Most that a pod loses for labels, for taints, for company, and what one too many counts."""


def losses_of(
    podset: docs.PodSet, nodes: Sequence[Node], allowed: Iterable[int]
) -> Mapping[int, int]:
    """Return what a pod loses on each node beside the best it could have, where it loses anything.

    Of the weights of its preferred node affinity, in hundredths of their sum; and of the taints
    that would rather keep it away, in hundredths of the most of them on any node.
    """
    candidates = sorted(allowed)
    terms = podset.preferred_node_affinity
    total = sum(term.weight for term in terms)
    won = {
        n: sum(term.weight for term in terms if affinity_matches((term.preference,), nodes[n]))
        for n in (candidates if terms else ())
    }
    against = {n: unwelcome(podset.tolerations, nodes[n]) for n in candidates}
    best, most = max(won.values(), default=0), max(against.values(), default=0)
    found = {}
    for n in candidates:
        loss = WHOLE * (best - won[n]) // total if total else 0
        loss += WHOLE * against[n] // most if most else 0
        if loss:
            found[n] = loss
    return found


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
