"""Nodes set apart for some jobs: which nodes, whose, and who is barred from them."""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.problem.chosen import has_label, is_named
from kantopt.problem.cluster import Node
from kantopt.schema.zone import Zone


def zone_nodes(zone: Zone | None, nodes: Iterable[Node]) -> frozenset[int]:
    """Return the nodes of a zone; none without a zone."""
    if zone is None:
        return frozenset()
    return frozenset(node.index for node in nodes if has_label(node.labels, zone.nodes))


def belongs(zone: Zone | None, job: str) -> bool:
    """Whether a job, named ``NAMESPACE/NAME``, is one of those that a zone is for."""
    return zone is not None and is_named(job, zone.jobs)
