"""Quotas of one kind of nodes, such as those of a GPU type: amounts that nodes have no limit of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kantopt.problem.chosen import has_label
from kantopt.problem.cluster import Amounts, Node
from kantopt.schema.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class TypedQuota:
    """What of a resource is counted apart: what pods take that may go to some nodes."""

    name: str
    resource: str
    nodes: str
    """Label of the nodes, ``KEY=VALUE`` or ``KEY``."""


def typed_quotas(snapshot: ClusterSnapshot) -> tuple[TypedQuota, ...]:
    """List them, each once."""
    found = {
        quota.full_name: TypedQuota(quota.full_name, quota.name, quota.nodes)
        for queue in snapshot.queues
        for quota in queue.resources
        if quota.nodes is not None
    }
    return tuple(found[name] for name in sorted(found))


class TypedDemand:
    """Adds to what a pod takes in all what of it counts for typed quotas.

    Pods count if any of the nodes that they may go to, or run on, is of the kind. So a queue never
    has more of it than its quota, and the count is exact for pods that ask for one kind.
    """

    def __init__(
        self, quotas: Sequence[TypedQuota], nodes: Sequence[Node], resources: Sequence[str]
    ) -> None:
        self._rows = tuple(
            (
                resources.index(quota.name),
                resources.index(quota.resource),
                frozenset(n.index for n in nodes if has_label(n.labels, quota.nodes)),
            )
            for quota in quotas
        )
        self._known: dict[frozenset[int], tuple[tuple[int, int], ...]] = {}

    def added(self, demand: Amounts, places: frozenset[int]) -> Amounts:
        """Return the demand of a pod that may be on some nodes, typed amounts included."""
        if not self._rows:
            return demand
        if places not in self._known:
            self._known[places] = tuple(
                (typed, r) for typed, r, kind in self._rows if not kind.isdisjoint(places)
            )
        amounts = list(demand)
        for typed, r in self._known[places]:
            amounts[typed] = demand[r]
        return tuple(amounts)
