"""The fast path to goals: empty nodes and domains, then single moves by gain."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.search.displacement import Emptying
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.preemption.kept_room import room_of_the_gone
from kantopt.search.relocation.relocate import Relocation
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.search.tidy.drain import Drain
from kantopt.search.tidy.gains import GAINED, Gains
from kantopt.search.tidy.slots import Slots
from kantopt.search.tidy.vacate import EMPTIED, Vacation
from kantopt.shares import DRAIN, FIT, GAIN, VACATE, VACATE_PLAIN
from kantopt.verify.in_use import groups_of
from kantopt.verify.metrics import bound_of, measure
from kantopt.verify.rules import is_legal

Found = Callable[[Placement], bool]
"""Takes a placement; says whether it is legal."""
RESTARTS, RESTARTS_EJECTING = 200, 12
"""Orders of groups to try at most, the first without chance, and of those where others make way."""
CHANGED, NOISE = 1 / 8, (-0.5, 1.0)
"""Share of the nodes by which an order differs from the best, and by how much more, or less, the
moves there count in it."""
CLEARED = 12
"""Domains that are tried as the last that is emptied."""
MOST_CELLS = 60_000_000
"""Pods times nodes of all orders together, but for the first."""


def tidy(
    instance: Instance,
    start: Placement,
    tiers: Sequence[Tier],
    deadline: Deadline,
    seed: int,
    found: Found,
) -> None:
    """Move pods so that tiers fall which others than counts of pods decide.

    Parameters
    ----------
    start
        A legal placement.
    deadline
        When to stop; in a deterministic run the work depends on the size alone.
    found
        Told each placement that was made, to be judged; says whether it is legal.
    """
    if not any(podset.running for podset in instance.podsets):
        return
    emptied = tuple(tier for tier in tiers if tier.metric in EMPTIED)
    first = next((i for i, tier in enumerate(tiers) if tier.metric in GAINED), None)
    if any(tier.metric is Metric.UNPLACED and tier.target is not None for tier in tiers):
        _fit(instance, start, deadline.share(FIT), found)
    if any(tier.metric is Metric.UNDRAINED for tier in tiers):
        _drain(instance, start, deadline.share(DRAIN), found)
    if any(tier.metric is Metric.DOMAINS_IN_USE for tier in emptied):
        _clear(instance, emptied, deadline, found)
    if emptied:
        _vacate(instance, start, emptied, deadline.share(VACATE), seed, found)
    if first is not None:
        _gain(instance, start, tiers[first], deadline.share(GAIN), found)


def _drain(instance: Instance, start: Placement, deadline: Deadline, found: Found) -> None:
    drain = Drain(State(instance, start))
    drain.restart(deadline.cuts, found)
    begin = drain.state.mark()
    _legal_part(drain.state, begin, drain.run(deadline.cuts), found)
    placement = Emptying(instance).emptied(instance.drained) if drain.left else None
    if placement is not None and is_legal(instance, placement):
        found(placement)


def _legal_part(state: State, begin: int, marks: list[int], found: Found) -> bool:
    """Take moves back, the latest half of them each time, until what is left is legal.

    Supposes that what is illegal stays so with more moves. ``begin`` is before the first of them,
    and ``marks`` where each ends. Returns whether none had to be taken back.
    """
    moves = len(marks)
    while not found(state.placement()) and marks:
        del marks[len(marks) // 2 :]
        state.undo(marks[-1] if marks else begin)
    return len(marks) == moves


def _fit(instance: Instance, start: Placement, deadline: Deadline, found: Found) -> None:
    """Make room for jobs that are not placed, the most important and largest first."""
    state = State(instance, start)
    placer = Placer(Scores(state, Strategy.BEST_FIT, deadline.cuts))
    relocation = Relocation(placer)
    relocation.look_everywhere()
    kept = room_of_the_gone(state)
    waiting = [
        job
        for job in instance.jobs
        if any(state.placed[s] < instance.podsets[s].count for s in instance.pending_of(job.index))
    ]
    waiting.sort(key=lambda job: (-job.priority, -job.count, job.index))
    for job in waiting:
        if deadline.cuts():
            return
        mark, j = state.mark(), job.index
        with kept.held(j):
            placed = placer.place(j) or relocation.make_room(j)
        if not (placed and kept.holds()):
            state.undo(mark)  # some of its pods may have found a place
        elif not found(state.placement()):
            state.undo(mark)
            return  # what is illegal of this may be of others as well


def _gain(
    instance: Instance, start: Placement, tier: Tier, deadline: Deadline, found: Found
) -> None:
    """Lower a sum over nodes: by moves that make a slot together, then by single ones.

    At last by those that make a slot where others leave first, which takes longer to find.
    """
    if not (instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES)):
        return  # what is free would not be counted
    state, bound = State(instance, start), bound_of(tier, instance, {})

    def wanted() -> int:
        return measure(instance, state.placement(), (tier,))[0] - bound

    slots = Slots(state, tier) if Slots.applies(tier) else None
    if slots is not None:
        slots.run(deadline.cuts, wanted())
        _legal_part(state, 0, slots.marks, found)
    begin = state.mark()
    gains = Gains(state, tier, deadline.cuts)
    gains.run(deadline.cuts, wanted())
    if state.mark() > begin:
        _legal_part(state, begin, list(range(begin + 2, state.mark() + 1, 2)), found)
    if slots is not None:
        begin = state.mark()
        slots.run(deadline.cuts, wanted(), eject=True)
        _legal_part(state, begin, slots.marks, found)


def _clear(instance: Instance, tiers: tuple[Tier, ...], deadline: Deadline, found: Found) -> None:
    """Empty domains where others make way as far as need be, those first that have least there."""
    emptying = Emptying(instance)
    for tier in tiers:
        if tier.metric is not Metric.DOMAINS_IN_USE:
            continue
        domains = dict[int, list[int]]()
        for n, group in enumerate(groups_of(instance, tier)):
            if group is not None:
                domains.setdefault(group, []).append(n)
        tolls = {group: int(emptying.toll[nodes].sum()) for group, nodes in domains.items()}
        empty = [group for group, nodes in domains.items() if emptying.used.isdisjoint(nodes)]
        unused = [n for group in empty for n in domains[group]]
        order = [g for g in domains if g not in empty and emptying.stuck.isdisjoint(domains[g])]
        order.sort(key=lambda group: (tolls[group], group))
        in_use = measure(instance, instance.current, (tier,))[0]
        most = in_use if tier.target is not None else 1
        for k in range(max(0, min(CLEARED, len(order) - most + 1))) if most else ():
            if deadline.cuts():
                return
            chosen = (*order[: most - 1], order[most - 1 + k])
            placement = emptying.emptied((n for g in chosen for n in domains[g]), unused)
            if placement is not None and is_legal(instance, placement):
                found(placement)


def _vacate(
    instance: Instance,
    start: Placement,
    tiers: tuple[Tier, ...],
    deadline: Deadline,
    seed: int,
    found: Found,
) -> None:
    """Empty nodes in one order after the other, each the best so far but for a few nodes.

    None goes on where the bounds are met. Those where others make way take much longer, and mostly
    more moves: they come last.
    """
    rng, state, nodes = random.Random(seed), State(instance, start), range(len(instance.nodes))
    least = [tier.most(bound_of(tier, instance, {})) for tier in tiers]
    goals = (replace(tier, target=most) for tier, most in zip(tiers, least, strict=True))
    vacation = Vacation(state, tuple(goals))
    pods = sum(podset.count for podset in instance.podsets if podset.running)
    orders = max(1, MOST_CELLS // (1 + pods * len(nodes)))
    best: tuple[tuple[int, ...], int] | None = None
    best_noise = [0.0] * len(nodes)
    plain = deadline.share(VACATE_PLAIN)

    def over() -> bool:
        """Whether there is no time, or an order has more moves than one that met the bounds."""
        if best is not None and not any(best[0]):
            return deadline.cuts() or state.pace.moves > best[1]
        return deadline.cuts() or (not eject and plain.cuts())

    for eject, restarts in ((False, RESTARTS), (True, RESTARTS_EJECTING)):
        for i in range(min(orders, restarts)):
            noise = list(best_noise)
            for n in rng.sample(nodes, math.ceil(len(nodes) * CHANGED)) if i else ():
                noise[n] = rng.uniform(*NOISE)
            made = (vacation.run(over, noise, eject=eject), state.pace.moves)
            better = best is None or made <= best
            if better and _legal_part(state, 0, vacation.marks, found):
                best, best_noise = made, noise
            state.undo(0)
            if over():
                break
