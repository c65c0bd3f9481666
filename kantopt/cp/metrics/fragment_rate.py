"""M13 fragment rate: free slots of one size that are missing."""

from __future__ import annotations

from math import gcd

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.metrics.fragment_rate import slots_offered

Piece = tuple[int, int | None]
"""A node, or a node and one of its devices."""


def fragment_rate_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Slots that the free amount, or all that is offered, would make, less those that it makes."""
    r, size = tier.resource, tier.size
    if r is None:
        return 0
    free: list[tuple[Piece, LinearExprT, int]] = []
    nodes = counted(m.instance, tier)
    for n in sorted(nodes):
        node = m.instance.nodes[n]
        limit = node.capacity[r]
        if tier.device_class is not None:
            for d in node.devices_of(tier.device_class):
                free.append(((n, d), m.device_free(n, d, r), node.devices[d].capacity[r]))
        elif limit is not None:
            free.append(((n, None), m.free(n, r, limit), limit))
    made: Terms = []  # taken off
    takers = _takers(m, r, on_devices=tier.device_class is not None)
    for i, (piece, left, limit) in enumerate(free):
        slots = m.cp.new_int_var(0, limit // size, f"slots[{i}]")
        m.cp.add(size * slots <= left)
        _add_rounded(m, slots, size, _standing_free(m, piece, r, limit), takers.get(piece, []))
        made.append((slots, -1))
    if tier.of_capacity:
        return slots_offered(tier, m.instance) + weighted(made)
    ideal = m.cp.new_int_var(0, sum(limit for _, _, limit in free) // size, "ideal_slots")
    m.cp.add(size * ideal >= _total_free(m, tier, r, free) - (size - 1))
    return weighted([(ideal, 1), *made])


def _total_free(
    m: Variables, tier: Tier, r: int, free: list[tuple[Piece, LinearExprT, int]]
) -> LinearExprT:
    """All that is free: of pieces that cannot be overfull, what is offered less what is placed.

    So many pods of each pod set, wherever they are: where none can be evicted or bound the sum is
    a constant, which the solver does not see in a sum over pieces.
    """
    limited = {Rule.CAPACITY, Rule.DEVICES} <= m.rules
    limits = all(node.capacity[r] is not None for node in m.instance.nodes)
    everywhere = len(counted(m.instance, tier)) == len(m.instance.nodes)
    fits = everywhere and all(_standing_free(m, piece, r, limit) >= 0 for piece, _, limit in free)
    if not (limited and fits and (limits or tier.device_class is not None)):
        return weighted([(left, 1) for _, left, _ in free])
    placed: Terms = []
    for podset in m.instance.podsets:
        amount = podset.requests[r]
        if tier.device_class is not None:
            amount = sum(
                need.count * need.request[r]
                for need in podset.devices
                if need.device_class == tier.device_class
            )
        if amount:
            placed.append((m.total(podset.index), amount))
    return sum(limit for _, _, limit in free) - weighted(placed)


def _takers(
    m: Variables, r: int, *, on_devices: bool
) -> dict[Piece, list[tuple[LinearExprT, int]]]:
    """Pods that change what is free of each piece: how many, and what each gives or takes.

    Pods that leave have a positive amount, pods that arrive a negative one.
    """
    found: dict[Piece, list[tuple[LinearExprT, int]]] = {}

    def add(piece: Piece, pods: LinearExprT, amount: int) -> None:
        if amount:
            found.setdefault(piece, []).append((pods, amount))

    for podset in m.instance.podsets:
        s = podset.index
        for spot, var in m.stay[s].items():
            leave = podset.current[spot] - var
            if on_devices:
                for d in spot.devices:
                    add((spot.node, d), leave, m.device_request(s, spot.node, d)[r])
            else:
                add((spot.node, None), leave, podset.requests[r])
        if on_devices:
            for (n, d), var in m.use[s].items():
                add((n, d), var, -m.device_request(s, n, d)[r])
        else:
            for n, var in m.arrive[s].items():
                add((n, None), var, -podset.requests[r])
    return found


def _standing_free(m: Variables, piece: Piece, r: int, limit: int) -> int:
    n, d = piece
    taken = m.standing.node[n][r] if d is None else m.standing.device[n][d][r]
    return limit - taken


def _add_rounded(
    m: Variables, slots: IntVar, size: int, free: int, takers: list[tuple[LinearExprT, int]]
) -> None:
    """Add the mixed-integer rounding of ``size * slots <= free + what leaves - what arrives``.

    Implied, but it tells the relaxation what it cannot see: a piece with half a slot free has one
    as soon as a pod of half a slot leaves, and half of that pod is not half of a slot. With
    ``f = free mod size`` and amounts ``a = q * size + rest``, each counts as ``q`` slots and
    ``max(0, rest - f) / (size - f)`` more (Nemhauser and Wolsey 1990); multiplied out here. It
    holds where the piece is never overfull.
    """
    unit = gcd(size, *(amount for _, amount in takers))
    whole, rest = divmod(free // unit, size // unit)
    limited = {Rule.CAPACITY, Rule.DEVICES} <= m.rules
    if not takers or not rest or free < 0 or not limited:
        return
    over = size // unit - rest
    terms: Terms = [(slots, over)]
    for pods, amount in takers:
        slots_taken, more = divmod(-amount // unit, size // unit)
        terms.append((pods, over * slots_taken + max(0, more - rest)))
    m.cp.add(weighted(terms) <= over * whole)
