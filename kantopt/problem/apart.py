"""Pods of which a node holds one at most: anti-affinity that is a matter of room, like a resource.

So it is where all pods of a set keep away from each other on a node: replicas of a service, mostly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from kantopt.problem.instance import Instance
from kantopt.problem.job import AntiAffinity
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule

MOST = 48
"""Sets, the largest first: each is a row of its own wherever room is counted."""


def sets_apart(instance: Instance, rules: Collection[Rule]) -> frozenset[AntiAffinity]:
    """Return the terms that say no more than that: one for each owner of the pods.

    Sets of which a node holds more now are left out: what runs may stay there. So are labels that
    some nodes do not have, for these hold any number, and all sets beyond :data:`MOST`.
    """
    if Rule.ANTI_AFFINITY not in rules:
        return frozenset()
    owners: dict[tuple[str, tuple[int, ...]], list[AntiAffinity]] = defaultdict(list)
    for term in instance.anti_affinities:
        owners[term.key, term.others].append(term)
    of_nodes = {key: _of_nodes(instance, key) for key in {key for key, _ in owners}}
    sets = [
        (key, others)
        for (key, others), terms in owners.items()
        if of_nodes[key]
        and {term.owner for term in terms} == set(others)
        and _hold(instance.current, others)
    ]
    sets.sort(key=lambda each: (-instance.pods_of(each[1]), each))
    return frozenset(term for each in sets[:MOST] for term in owners[each])


def _of_nodes(instance: Instance, key: str) -> bool:
    """Whether each node is a domain of its own."""
    domains = {instance.label_domain(n, key) for n in range(len(instance.nodes))}
    return None not in domains and len(domains) == len(instance.nodes)


def _hold(placement: Placement, podsets: Collection[int]) -> bool:
    """Whether no node has two of some pods."""
    seen: set[int] = set()
    for s in podsets:
        for spot, pods in placement.podsets[s].items():
            if pods > 1 or spot.node in seen:
                return False
            seen.add(spot.node)
    return True
