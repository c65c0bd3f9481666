"""Where pods are few for each node: can one pod more be placed? Tried node by node."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from kantopt.clock import Deadline
from kantopt.cp.assignment import assign
from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.bins.contents import SpentError, Work
from kantopt.search.bins.packing import Filled
from kantopt.search.bins.question import Question, question
from kantopt.search.engine.desk import Desk
from kantopt.search.filled.placing import place_alone
from kantopt.search.state import State
from kantopt.shares import COVERING_CHOICE
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check

QUICK = 1_500_000
"""Work that takes about a tenth of a second."""
MORE = 6
"""Times the work of the last time."""
SHARES = (0.1, 0.03, 0.01)
"""Of a node, what the contents that are chosen from may leave free at most."""
MOST_NODES = 32
"""Nodes of which contents are chosen at a time."""
LISTED = 20_000_000
"""Work for listing them."""


def bins(desk: Desk, deadline: Deadline) -> None:
    """Raise the bounds of tiers of unplaced pods, or place what they say may be placed.

    What is asked of the nodes leaves much aside: who may be where, what may be evicted. So what
    cannot be done cannot be done by any plan, and what can be done is a proposal.
    """
    work = QUICK * MORE ** desk.before("bin-completion")
    for i, asked in _open(desk):
        _close(desk, i, asked, work, deadline)


def choose(desk: Desk, deadline: Deadline) -> None:
    """Place more of the first open tiers by choosing among contents that are nearly full.

    Of many nodes some at a time, others each time: those of a few are chosen well within a
    second.
    """
    rng = random.Random(desk.budget.seed + desk.before("covering"))
    for i, asked in _open(desk):
        nodes = [n for each in asked.nodes for n in each]
        parts = -(-len(nodes) // MOST_NODES)
        vain = 0
        while vain < parts * len(SHARES) and not deadline.over():
            desk.refresh()
            if desk.incumbent.floor(i) >= desk.incumbent.values[i]:
                break
            some = set(rng.sample(nodes, min(len(nodes), MOST_NODES)))
            share = SHARES[vain if parts == 1 else 0]
            vain = 0 if _choose_of(desk, asked, some, share, deadline) else vain + 1


def _choose_of(
    desk: Desk, asked: Question, some: set[int], share: float, deadline: Deadline
) -> bool:
    """Place more by other contents of some nodes, those of the others as they are."""
    contents = asked.contents(desk.incumbent.placement)
    zeros = np.zeros_like(asked.counts)
    here = sum((contents[n] for n in some), zeros)
    left = asked.counts - sum(contents.values(), zeros)
    weight = np.asarray(asked.weights) * here
    least = [int(weight[tier.start : tier.stop].sum()) for tier in asked.tiers]
    least[-1] += 1
    part = asked.part(some, here + left)
    seconds = min(COVERING_CHOICE, deadline.remaining())
    try:
        filled = part.choose(least, share, seconds, Work(LISTED, deadline.cuts))
    except SpentError:
        return False
    others = [
        Filled(c, tuple(contents[n].tolist()))
        for c, nodes in enumerate(asked.nodes)
        for n in nodes
        if n not in some
    ]
    return filled is not None and _offer(desk, asked, [*others, *filled])


def _open(desk: Desk) -> Iterator[tuple[int, Question]]:
    """Yield tiers of unplaced pods that are not proved, and what they ask."""
    if desk.incumbent.missing or desk.forbidden:
        return
    for i, tier in enumerate(desk.tiers):
        desk.refresh()  # what has been placed elsewhere is not to be looked for
        if tier.counts_unplaced and desk.incumbent.floor(i) < desk.incumbent.values[i]:
            above = (other for other in desk.tiers[:i] if other.counts_unplaced)
            asked = question(desk.instance, [*above, tier])
            if asked is not None:
                yield i, asked


def _most(tiers: Sequence[Tier], values: Sequence[int]) -> list[int]:
    """Return what some tiers may leave unplaced, of those that count that."""
    pairs = zip(tiers, values, strict=False)
    return [tier.most(value) for tier, value in pairs if tier.counts_unplaced]


def _close(desk: Desk, i: int, asked: Question, work: int, deadline: Deadline) -> None:
    """Try to leave out no more than the bound, then more and more; when that takes too long, less.

    The less is left out, the less may stay free of nodes, and the sooner it is told: bounds come
    first, then plans that leave out one less than the best.
    """
    tier, values = desk.tiers[i], desk.incumbent.values
    held = _most(desk.tiers, values[:i])
    bound = desk.incumbent.known.bound(i, values).bound

    def fill(value: int, share: int, *, evict: bool = True) -> list[Filled] | None:
        spending = Work(work // share, deadline.cuts)
        return asked.fill([*held, tier.most(value)], spending, evict=evict)

    def better(value: int, filled: list[Filled]) -> bool:
        if _offer(desk, asked, filled):
            return True
        staying = fill(value, 2, evict=False)  # where an eviction takes more than want of room
        return staying is not None and _offer(desk, asked, staying)

    with suppress(SpentError):
        while bound < desk.incumbent.values[i]:
            filled = fill(bound, 1)
            if filled is not None:
                better(bound, filled)
                return
            # What is left out is a whole number of pods: the next sum that there could be.
            bound = asked.next_weight(tier.most(bound)) - tier.most(0)
            desk.proved(i, min(bound, desk.incumbent.values[i]), values[:i], "relaxation-search")
    with suppress(SpentError):
        while bound < desk.incumbent.values[i] - 1:
            filled = fill(desk.incumbent.values[i] - 1, 2)
            if filled is None:
                desk.proved(i, desk.incumbent.values[i], values[:i], "relaxation-search")
            if filled is None or not better(desk.incumbent.values[i] - 1, filled):
                return


def _offer(desk: Desk, asked: Question, filled: list[Filled]) -> bool:
    """Offer a placement with such contents of nodes; say whether it is better and legal."""
    placement = placed(desk.instance, asked, filled)
    if placement is None or measure(desk.instance, placement, desk.tiers) >= desk.incumbent.values:
        return False
    if check(desk.instance, placement):
        return False
    desk.found(placement)
    return True


def placed(instance: Instance, asked: Question, filled: Sequence[Filled]) -> Placement | None:
    """Return a placement in which nodes have the given contents; ``None`` if pods refuse a node.

    Each content goes to a node on which many pods of its kinds run already. Pods that the question
    does not count stay if there is room, or go where there is some; whether the rules allow it all
    is for others to judge.
    """
    state = State(instance, instance.nowhere)
    contents = _on_nodes(instance, asked, filled)
    for k, podsets in enumerate(asked.podsets):
        room = {n: pods[k] for n, pods in contents.items() if pods[k]}
        if not _place_kind(state, podsets, room):
            return None
    counted = {s for podsets in asked.podsets for s in podsets}
    others = [podset for podset in instance.podsets if podset.index not in counted]
    may = freedom_of(instance)
    for podset in others:
        for spot, pods in podset.current.items():
            for _ in range(pods):
                if state.has_room(podset.index, spot):
                    state.add(podset.index, spot, 1)
    for podset in others:
        for _ in range(podset.count - sum(state.spots[podset.index].values())):
            if not (may.arrives(podset.index) and place_alone(state, podset.index)):
                break
    return state.placement()


def _on_nodes(
    instance: Instance, asked: Question, filled: Sequence[Filled]
) -> dict[int, tuple[int, ...]]:
    """Contents by node, so that as many pods as possible stay."""
    runs = asked.contents(instance.current)
    found: dict[int, tuple[int, ...]] = {}
    for c, nodes in enumerate(asked.nodes):
        contents = [content.pods for content in filled if content.node_class == c]
        contents += [(0,) * len(asked.podsets)] * (len(nodes) - len(contents))
        table = np.array(contents)
        stay = [np.minimum(runs[n], table).sum(axis=1).tolist() for n in nodes]
        found |= {n: contents[j] for n, j in zip(nodes, assign(stay), strict=True)}
    return found


def _place_kind(state: State, podsets: Sequence[int], room: dict[int, int]) -> bool:
    """Place pods of one kind, those that run first, at home as far as there is room for them."""
    instance, may = state.instance, freedom_of(state.instance)
    away: list[int] = []
    for s in podsets:
        podset = instance.podsets[s]
        home = 0
        for spot, pods in sorted(podset.current.items()):
            stay = min(pods, room.get(spot.node, 0))
            if stay:
                state.add(s, spot, stay)
                room[spot.node] -= stay
                home += stay
        if may.arrives(s):
            away += [s] * (podset.count - home)
    for n, pods in sorted(room.items()):
        for _ in range(pods):
            able = [s for s in away if n in instance.podsets[s].allowed]
            if not able:
                return False
            away.remove(able[0])
            state.add(able[0], Spot(n), 1)
    return True
