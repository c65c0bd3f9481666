"""M13 fragment rate: free slots of one size that are missing."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier


def fragment_rate_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Slots that the free amount would make in one piece, less those that it makes."""
    r, size = tier.resource, tier.size
    if r is None:
        return 0
    free: list[tuple[LinearExprT, int]] = []
    for node in m.instance.nodes:
        if tier.device_class is None:
            limit = node.capacity[r]
            if limit is not None:
                free.append((m.free(node.index, r, limit), limit))
        else:
            free += [
                (m.device_free(node.index, d, r), node.devices[d].capacity[r])
                for d in node.devices_of(tier.device_class)
            ]
    total = sum(limit for _, limit in free)
    ideal = m.cp.new_int_var(0, total // size, "ideal_slots")
    m.cp.add(size * ideal >= weighted([(left, 1) for left, _ in free]) - (size - 1))
    terms: Terms = [(ideal, 1)]
    for i, (left, limit) in enumerate(free):
        slots = m.cp.new_int_var(0, limit // size, f"slots[{i}]")
        m.cp.add(size * slots <= left)
        terms.append((slots, -1))
    return weighted(terms)
