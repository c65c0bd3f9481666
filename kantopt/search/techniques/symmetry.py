"""Symmetry reduction: the question with as many nodes of each kind as a plan can use.

Once no plan that is as good disturbs anybody, only those that wait have a choice; see
:mod:`kantopt.search.orbits` for the nodes that they can do without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.problem.derived.focus import limited
from kantopt.problem.derived.parts import Part
from kantopt.problem.freedom import freedom_of
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.engine.known import Bound
from kantopt.search.orbits import representatives
from kantopt.search.parts.division import changing_part, summed
from kantopt.verify.metrics import measure

WORTH = 0.75
"""Most of the nodes that may be left for the reduced question to be asked."""

Search = Callable[[Desk], bool]


def undisturbed(desk: Desk) -> int | None:
    """Return from which tier on no plan disturbs anybody that is as good in those above.

    ``None`` if there is no such tier, or those above are not closed.
    """
    freedom, values = freedom_of(desk.instance), desk.incumbent.values
    moves, evictions = any(freedom.moves), any(freedom.evictions)
    costs = all(
        podset.disruption_cost and desk.instance.job_of(podset.index).disruption_cost
        for podset in desk.instance.podsets
        if freedom.evictions[podset.index]
    )
    for i, tier in enumerate(desk.tiers):
        if not (moves or evictions):
            return i
        if desk.incumbent.floor(i) < values[i]:
            return None
        if values[i] == 0 and not tier.target and tier.priority is None:
            both = tier.metric is Metric.DISRUPTION_COST and costs
            moves = moves and not (both or tier.metric is Metric.MOVES)
            counted = tier.metric is Metric.EVICTIONS and (tier.counts_pods or costs)
            evictions = evictions and not (both or counted)
    return None


def reduced(desk: Desk, until: Deadline, sooner: Deadline, searched: Search) -> None:
    """Search the question without disturbance in all the time there is, unless it is no smaller.

    Its plans are plans of the whole, and what is proved of them holds of all that are as good in
    the tiers that say that nobody is disturbed. From the first tier on that is no sum over nodes
    and jobs the whole is to be searched: where there is one, this ends ``sooner``.
    """
    desk.looked_at["symmetry"] = desk.incumbent.values
    begin = undisturbed(desk)
    tiers = desk.tiers[: summed(desk.instance, desk.tiers)]
    if begin is None or begin >= len(tiers):
        return
    part = _part(desk, tiers)
    if begin == 0 and len(part.share.nodes) > WORTH * len(desk.instance.nodes):
        return  # else it is smaller by all that pods could do which run
    start = part.cut(desk.incumbent.placement)
    values = measure(part.instance, start, tiers)
    constant = [v - of for v, of in zip(desk.incumbent.values, values, strict=False)]

    def found(placement: Placement) -> None:
        podsets = list(desk.instance.current.podsets)
        part.lift(placement, podsets)
        desk.judged(Placement(tuple(podsets)))

    def bound(fact: Bound) -> None:
        value = fact.bound + constant[fact.tier]
        locks = tuple(v + c for v, c in zip(fact.locks, constant, strict=False))
        if fact.tier >= begin and value > desk.incumbent.known.bound(fact.tier, locks).bound:
            # Formulas that speak of some nodes say nothing of all before these are found to do.
            proof = "relaxation-search" if fact.source == "arithmetic" else fact.source
            desk.proved(fact.tier, value, locks, proof)

    def news() -> Placement | None:
        better = desk.refresh() and part.holds(desk.incumbent.placement)
        return part.cut(desk.incumbent.placement) if better else None

    line = Line(
        found,
        bound,
        desk.note,
        news,
        desk.begin,
        desk.leave_out,
        lambda told: desk.asked(told.parameters),
    )
    whole, work = len(tiers) == len(desk.tiers), desk.budget.work
    budget = replace(
        desk.budget,
        deadline=until if whole else sooner,
        work=work if work is None or whole else work / 2,
    )
    without = desk.tally.without | {"symmetry"}
    inner = Desk(part.instance, tiers, start, (), budget, line, without)
    for i in range(len(tiers)):
        bound(replace(inner.incumbent.known.bound(i, values), locks=values[:i]))
    if not desk.done():
        searched(inner)
        # Where work is counted it has had all that there is, or half.
        desk.budget = replace(
            desk.budget, work=None if work is None else 0.0 if whole else work / 2
        )


def _part(desk: Desk, tiers: tuple[Tier, ...]) -> Part:
    """Return the part of the question on the nodes that a plan may need, with nobody disturbed."""
    instance = limited(desk.instance, evictions=0, moves=0)
    placement = desk.incumbent.placement
    used = {
        spot.node
        for podset in instance.podsets
        if not podset.running
        for spot in placement.podsets[podset.index]
    }
    nodes = representatives(instance, tiers, used)
    sets: dict[int, frozenset[int]] = {}

    def within(podset: PodSet) -> PodSet:
        allowed = sets.setdefault(id(podset.allowed), podset.allowed & nodes)
        return replace(podset, allowed=allowed)

    instance = replace(instance, podsets=tuple(map(within, instance.podsets)))
    return changing_part(instance, tiers)
