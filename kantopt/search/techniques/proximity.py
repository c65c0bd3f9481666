"""Proximity search: the objectives held, the distance to the last plan minimised.

M. Fischetti, M. Monaci: Proximity search for 0-1 mixed-integer convex programming. J. Heuristics 20
(2014). There what is held must get better; here the distance is an objective, so that a solve of
the whole question is a proof of it.
"""

from __future__ import annotations

import random

from kantopt.clock import Deadline
from kantopt.cp.around import Around
from kantopt.cp.descent import descend
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import NEVER, Effort
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import changes_tier
from kantopt.problem.wanted import by_node, wanted_of
from kantopt.search.engine.desk import Desk
from kantopt.shares import NEARER_THERE

MOST_NODES = 96
"""Most nodes of one solve; a question that has no more is solved as a whole as well."""
_MORE_WORK = 2.0
"""Where work is counted: what a solve may have beside the search, in parts of what that has.

That much takes about an eighth of the time limit."""


def nearest(desk: Desk, deadline: Deadline) -> None:
    """Come as near to the last plan as the objectives above allow.

    First what is on the nodes where the plans differ is solved, then a small question as a whole,
    which proves it.
    """
    i = changes_tier(desk.tiers)
    if i is None or desk.incumbent.missing:
        return
    rng = random.Random(desk.budget.seed + desk.before("proximity"))
    nodes = differing(desk.instance, desk.incumbent.placement)
    if len(nodes) > MOST_NODES:
        nodes = set(rng.sample(sorted(nodes), MOST_NODES))
    everywhere = {node.index for node in desk.instance.nodes}
    _solve(desk, i, nodes, deadline.remaining() * NEARER_THERE)
    if len(everywhere) <= MOST_NODES and not desk.done():
        values, seconds = desk.incumbent.values, deadline.remaining()
        if values[i] > desk.incumbent.floor(i) and _solve(desk, i, everywhere, seconds):
            desk.proved(i, desk.incumbent.values[i], values[:i], "cp-sat")
    desk.looked_at["proximity"] = desk.incumbent.values


def _solve(desk: Desk, i: int, nodes: set[int], seconds: float) -> bool:
    """Minimise one tier over what can be on some nodes, all others held; say whether that is it."""
    now, values = desk.incumbent.placement, desk.incumbent.values
    model = PlacementModel(desk.instance, around=Around(now, frozenset(nodes)))
    floors = (*values[:i], desk.incumbent.floor(i), *values[i + 1 :])
    work, seed = desk.budget.work, desk.budget.seed
    effort = Effort(seconds, seed)
    if work is not None:
        effort = Effort(NEVER, seed, work * _MORE_WORK)
    tried = descend(model, desk.tiers, now, values, floors, effort, linearization=2)
    if tried.found is not None:
        desk.found(tried.found)
    return tried.closed


def differing(instance: Instance, now: Placement) -> set[int]:
    """Nodes where pods are, run or are wanted that are not all where the last plan wants them."""
    found: set[int] = set()
    for podset, spots in zip(instance.podsets, now.podsets, strict=True):
        wanted, placed = wanted_of(podset), by_node(spots)
        if wanted != placed:
            found.update(wanted, placed, by_node(podset.current))
    return found
