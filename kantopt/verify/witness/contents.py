"""A bound from what nodes could hold, at prices of the pods of each kind and of what is limited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.slots.program import Kind, program_of
from kantopt.verify.slots.rooms import rooms_of
from kantopt.verify.witness.multipliers import check_multipliers

ARRIVALS = "arrivals"
"""The row that no pod arrives twice."""


def kept(kind: Kind) -> str:
    """Name the row that pods of a kind which nothing may evict stay placed."""
    return f"{kind.name} kept"


def bound_by_contents(
    instance: Instance,
    tiers: Sequence[Tier],
    i: int,
    locks: Mapping[Tier, int],
    denominator: int,
    values: Mapping[str, int],
) -> int:
    """Return the bound on tier ``i`` that follows from multipliers, by the names of their rows.

    Raises
    ------
    ValueError
        If the tier is no sum over what nodes hold, a name is no row, or a number is out of range.
    """
    program = program_of(instance, tiers, [locks.get(tier) for tier in tiers], i)
    rooms = None if program is None else rooms_of(program)
    if program is None or rooms is None:
        raise ValueError(f"{tiers[i].name} is no sum over what nodes hold, or one of too many")
    from kantopt.verify.slots.bound import Links, Weights
    from kantopt.verify.slots.pricing import Pricing

    names = {name for kind in program.kinds for name in (kind.name, kept(kind))}
    check_multipliers(values, names.union(program.names[1:], (ARRIVALS,)))
    weights = Weights(
        [values.get(kind.name, 0) - values.get(kept(kind), 0) for kind in program.kinds],
        [denominator, *(values.get(name, 0) for name in program.names[1:])],
        values.get(ARRIVALS, 0),
    )
    pricing = Pricing(program, rooms)
    links = Links(pricing)
    costs = pricing.best(links.prices(weights)).costs
    return max(0, program.value(-(-links.total(costs.tolist(), weights) // denominator)))
