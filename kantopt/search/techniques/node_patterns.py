"""Who waits? Jobs whose place matters to nobody are placed anew, by patterns of nodes.

Cutting stock in whole numbers (Gilmore and Gomory 1961) for what runs and who is evicted as they
are: of a full cluster it says at once which jobs fit together, where one after the other, and a
few nodes at a time, take long to come near.
"""

from __future__ import annotations

from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.cp.relaxed.domains import few_enough
from kantopt.cp.relaxed.patterns import fill
from kantopt.problem.derived.aftermath import leftover_question
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Metric
from kantopt.search.cascade import evicts
from kantopt.search.counts.neighbours import Neighbours
from kantopt.search.engine.desk import Desk
from kantopt.search.realise import Wanted, realise
from kantopt.verify.step import Loads, Step

NAME = "node-patterns"
FEW_PAIRS = 1_000
"""New gangs that must be close, times domains, up to which they are placed anew at once."""


def refill(desk: Desk, deadline: Deadline) -> None:
    """Better the first open tier, of who is placed, by placing what is free to go anywhere anew."""
    desk.looked_at[NAME] = desk.incumbent.values
    tier = desk.incumbent.first_open
    if tier is None or tier.metric is not Metric.UNPLACED or desk.forbidden:
        return
    placed, first = desk.incumbent.placement, not desk.before(NAME)
    # Room of victims is for those who may evict them: nobody more important is placed anew. At
    # first it still changes who they are, and what fits best beside some is in the way of others.
    most = tier.priority if evicts(desk.instance, placed) else None
    if first and most is not None:
        return
    r = scarcest(desk.instance, placed)
    # Many domains apart take long: at first the others, beside gangs that are close as they are.
    later = not first and few_enough(desk.instance)
    apart = later or _close_pairs(desk.instance) <= FEW_PAIRS
    free = frozenset[int]() if r is None else free_pods(desk.instance, most, r, apart=apart)
    if r is None or not free:
        return
    base = placed.replace({s: {} for s in free})
    question, pending_of = leftover_question(desk.instance, base)
    question = _with_room_kept(question, desk.instance, base, most)
    new_of = {old: new for new, old in pending_of.items() if old in free}
    start = question.current.replace({new: placed.podsets[old] for old, new in new_of.items()})
    rest = zip(desk.tiers, desk.incumbent.values, desk.incumbent.floors, strict=True)
    slack = {tier: value - floor for tier, value, floor in rest if tier.metric is Metric.UNPLACED}
    counts = fill(question, set(new_of.values()), r, slack, start, deadline)
    wanted = [Wanted(podsets, where, movable=False) for podsets, where in counts]
    nodes = [(node.index,) for node in question.nodes]
    filled = realise(question, nodes, wanted) if wanted else None
    if filled is not None:
        desk.judged(base.replace({old: filled.podsets[new] for old, new in new_of.items()}))


def scarcest(instance: Instance, placement: Placement) -> int | None:
    """Return the resource of which new pods and those that wait ask for most, for what there is."""
    new = [podset for podset in instance.podsets if not podset.running and not podset.devices]
    running = placement.replace({podset.index: {} for podset in new})
    loads = Loads.of(instance, running).node
    ratios: dict[int, float] = {}
    for r in range(len(instance.resources)):
        limits = [node.capacity[r] for node in instance.nodes]
        there = (max(0, x - loads[n][r]) for n, x in enumerate(limits) if x is not None)
        asked = sum(podset.count * podset.requests[r] for podset in new)
        if asked and None not in limits:
            ratios[r] = asked / max(1, sum(there))
    return max(ratios, key=lambda r: ratios[r], default=None)


def _close_pairs(instance: Instance) -> int:
    waiting = sum(not instance.running_of(j) for j in instance.close_jobs)
    return waiting * max((len(domains) for domains in instance.topology.domains), default=0)


def free_pods(
    instance: Instance, most: int | None, r: int, *, apart: bool = True
) -> frozenset[int]:
    """Pods that wait, of a priority at most, with a share of a resource, that may go anywhere.

    With domains ``apart`` those of gangs that must be close as well.
    """
    neighbours, close = Neighbours(instance), instance.close_jobs
    return frozenset(
        s
        for job in instance.jobs
        if (most is None or job.priority <= most)
        and (apart or job.index not in close)
        and job.index not in instance.required
        and not instance.running_of(job.index)
        and all(instance.podsets[s].requests[r] for s in job.podsets)
        and not any(neighbours.concern(s) or instance.podsets[s].devices for s in job.podsets)
        for s in job.podsets
    )


def _with_room_kept(
    question: Instance, instance: Instance, base: Placement, least: int | None
) -> Instance:
    """Take from nodes the room of victims of a priority at least: it is not for who comes anew."""
    kept, step = Loads(instance), Step(instance, instance.current, base)
    for s, left in enumerate(step.departures):
        gone = step.evicted(s)
        if gone and (least is None or instance.job_of(s).priority >= least):
            for spot, pods in left.items():
                kept.add(s, spot, min(gone, pods))
                gone -= min(gone, pods)
    nodes = []
    for node, load in zip(question.nodes, kept.node, strict=True):
        limits = zip(node.capacity, load, strict=True)
        capacity = tuple(None if limit is None else limit - k for limit, k in limits)
        nodes.append(replace(node, capacity=capacity))
    return replace(question, nodes=tuple(nodes))
