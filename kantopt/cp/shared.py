"""What a cohort shares, as it counts for a queue to which pods come (R7)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Variables, weighted


def counted_for(
    m: Variables, key: Hashable, r: int, parts: Mapping[int, LinearExprT], q: int, own: LinearExprT
) -> LinearExprT:
    """What queues share, less what one leaves unused of what it never lends.

    Where others use too much it has to leave that. ``parts`` are what each uses beyond what it
    never lends, ``own`` is that of the queue, below 0 where it is within. They are added up in one
    variable of a key: there may be thousands of them.
    """

    def make() -> IntVar:
        most = 2 * sum(podset.count * podset.demand[r] for podset in m.instance.podsets)
        total = m.cp.new_int_var(0, most, str(key))
        m.cp.add(total == weighted([(part, 1) for part in parts.values()]))
        return total

    return weighted([(m.once(("shared", key), make), 1), (parts[q], -1), (own, 1)])
