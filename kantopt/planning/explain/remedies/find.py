"""All remedies for a job, found one kind after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kantopt.planning.explain.remedies.others import (
    as_planned,
    lift_limits,
    raise_priority,
    wait_for_ends,
)
from kantopt.planning.explain.remedies.supply import add_nodes, raise_quota
from kantopt.planning.explain.remedies.wishes import (
    admit_nodes,
    fewer_pods,
    relax_topology,
    smaller_requests,
)
from kantopt.planning.explain.remedies.workshop import Ranked, Workshop
from kantopt.schema.explanation import Remedy

_LOOKS: tuple[Callable[[Workshop], Iterator[Ranked]], ...] = (
    as_planned,
    raise_quota,
    lift_limits,
    relax_topology,
    admit_nodes,
    smaller_requests,
    fewer_pods,
    add_nodes,
    wait_for_ends,
    raise_priority,
)


def find_remedies(workshop: Workshop) -> Iterator[tuple[Remedy, ...]]:
    """Yield the remedies found so far, the smallest disruption first, more each time."""
    found: list[Ranked] = []
    for look in _LOOKS:
        for ranked in look(workshop):
            found.append(ranked)
            found.sort(key=lambda item: item.key)
            yield tuple(item.remedy for item in found)
            if workshop.deadline.over():
                return
        if workshop.deadline.over():
            return
