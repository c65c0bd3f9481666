"""The most that one node can gain at given prices: exact, by branch and bound in integers.

A change of a node lets some of its pods leave, which costs, and others arrive in the room that
there is then, which is worth their prices. First what leaves is enumerated, then what arrives; what
cannot gain more than the best so far is not looked at. Where there is too much to look at, what was
left out counts with what it could gain at most: the answer may be too high, never too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

MOST_STEPS = 20_000
"""Most steps for one node."""
MOST_CASES = 4096
"""Most choices of pods that leave one node: beyond, pods are taken to leave in part."""

Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Arriving:
    """Pods of a group that may arrive: what one is worth and asks for, and how many could."""

    price: int
    ask: Vector
    most: int


@dataclass(frozen=True, slots=True)
class Leaving:
    """Pods that may leave: what each costs and gives up, and how many there are."""

    cost: int
    ask: Vector
    count: int


@dataclass(frozen=True, slots=True)
class Change:
    """What no change of a node gains more than, and one that comes near: pods by kind."""

    gain: int
    outs: tuple[int, ...] = ()
    ins: tuple[int, ...] = ()


class Worth:
    """What pods in some room are worth at most, by several proportions of the resources.

    In each proportion a pod takes a weighted sum of what it asks for. Pods are worth no more than
    the best ratio of price and weighted sum among those that could still come, times the room.

    Parameters
    ----------
    pods
        Pods that may arrive, in the order in which they are tried.
    proportions
        Weights of the resources; each pod has a positive sum in each.
    """

    def __init__(self, pods: Sequence[Arriving], proportions: Sequence[Vector]) -> None:
        self._proportions = proportions
        self.taken = [self.sums(pod.ask) for pod in pods]
        """Weighted sums of each pod."""
        self.best: list[list[tuple[int, int]]] = []
        """Per proportion and first pod, the best ratio from there on."""
        for d in range(len(proportions)):
            best, suffix = (0, 1), [(0, 1)]
            for pod, taken in zip(reversed(pods), reversed(self.taken), strict=True):
                if pod.price * best[1] > best[0] * taken[d]:
                    best = pod.price, taken[d]
                suffix.append(best)
            self.best.append(suffix[::-1])

    def sums(self, amounts: Vector) -> Vector:
        """Return the weighted sums of amounts, one per proportion."""
        return tuple(
            sum(w * a for w, a in zip(weights, amounts, strict=True) if a)
            for weights in self._proportions
        )

    def most(self, room: Vector, leaving: Sequence[Leaving] = ()) -> int:
        """Return a number that no pods which fit in a room are worth more than.

        Pods may add to the room by leaving, in part even, each for its cost.
        """
        given = [self.sums(pods.ask) for pods in leaving]
        bounds = []
        for d, offered in enumerate(self.sums(room)):
            price, taken = self.best[d][0]
            bound = price * offered
            for pods, sums in zip(leaving, given, strict=True):
                bound += pods.count * max(0, price * sums[d] - pods.cost * taken)
            bounds.append(bound // taken)
        return min(bounds)


def proportions_of(pods: Sequence[Arriving], room: Vector) -> list[Vector]:
    """Return weights of the resources worth trying: each that some pod asks most of, and mixtures.

    ``room`` is the largest that there is of each: all of one weighs as much as all of another.
    """
    scale = max(1, *room)
    unit = [scale // max(1, amount) for amount in room]
    heavy: dict[int, None] = {}
    for pod in pods:
        shares = [u * a for u, a in zip(unit, pod.ask, strict=True)]
        heavy[shares.index(max(shares))] = None
    mixtures = [{r: 1} for r in heavy] + [dict.fromkeys(heavy, 1)]
    for r in heavy:
        mixtures += [{r: share, q: 8 - share} for q in heavy if q > r for share in range(1, 8)]
    found = []
    for mixture in mixtures:
        weights = tuple(mixture.get(r, 0) * each for r, each in enumerate(unit))
        if all(sum(w * a for w, a in zip(weights, pod.ask, strict=True)) for pod in pods):
            found.append(weights)
    return found or [tuple(unit)]


def best_change(
    free: Vector, leaving: Sequence[Leaving], arriving: Sequence[Arriving], worth: Worth
) -> Change:
    """Return what no change of a node gains more than; at least 0, for it may stay as it is.

    With it the best change that was found; its pods are counted in the order of those given.

    Parameters
    ----------
    free
        What is free of each resource; less than 0 where it is overcommitted.
    leaving
        Pods that may leave.
    arriving
        Pods that may arrive, in the order of ``worth``; each asks for something.
    worth
        Bounds on what those are worth.
    """
    if prod(pods.count + 1 for pods in leaving) > MOST_CASES:
        return Change(worth.most(tuple(max(0, r) for r in free), leaving))
    search, outs = _Search(arriving, worth), (0,) * len(leaving)
    for bound, room, spent, left in _cases(free, leaving, worth):
        if bound <= search.best:
            break
        before = search.best
        search.fill(0, room, worth.sums(room), -spent)
        if search.best > before:
            outs = left
        if search.steps > MOST_STEPS:
            return Change(bound, outs, search.chosen)  # no case that is left gains more
    return Change(search.best, outs, search.chosen)


def _cases(
    free: Vector, leaving: Sequence[Leaving], worth: Worth
) -> list[tuple[int, Vector, int, Vector]]:
    """What may leave: bound on the gain, room then, cost and pods; the most promising first."""
    cases: list[tuple[Vector, int, Vector]] = [(free, 0, ())]
    for pods in leaving:
        more = []
        for room, spent, outs in cases:
            for k in range(pods.count + 1):
                left = tuple(r + k * a for r, a in zip(room, pods.ask, strict=True))
                more.append((left, spent + k * pods.cost, (*outs, k)))
        cases = more
    found = []
    for room, spent, outs in cases:
        usable = tuple(max(0, r) for r in room)
        bound = worth.most(usable) - spent
        if bound > 0:
            found.append((bound, usable, spent, outs))
    found.sort(key=lambda case: -case[0])
    return found


class _Search:
    """Depth first over what arrives, the best so far in ``best``."""

    def __init__(self, arriving: Sequence[Arriving], worth: Worth) -> None:
        self._pods = arriving
        self._worth = worth
        self._order = list(range(len(worth.best)))
        """Proportions, the one that was of use last first."""
        self.best = 0
        self.steps = 0
        self.chosen: Vector = (0,) * len(arriving)
        self._taken = [0] * len(arriving)

    def fill(self, first: int, room: Vector, sums: Vector, gain: int) -> None:
        """Try pods from ``first`` on in a room of some weighted sums, on top of a gain so far."""
        if gain > self.best:
            self.best, self.chosen = gain, tuple(self._taken)
        for i in range(first, len(self._pods)):
            pod = self._pods[i]
            fits = pod.most
            for r, a in zip(room, pod.ask, strict=True):
                if a and r < fits * a:
                    fits = r // a
            if not fits:
                continue
            if self._hopeless(i, sums, gain) or self.steps > MOST_STEPS:
                return
            self.steps += 1
            taken = self._worth.taken[i]
            for k in range(fits, 0, -1):
                left = tuple(r - k * a for r, a in zip(room, pod.ask, strict=True))
                after = tuple(s - k * t for s, t in zip(sums, taken, strict=True))
                self._taken[i] = k
                self.fill(i + 1, left, after, gain + k * pod.price)
            self._taken[i] = 0

    def _hopeless(self, i: int, sums: Vector, gain: int) -> bool:
        """Whether pods from ``i`` on cannot bring the gain above the best so far."""
        enough = self.best - gain + 1
        for place, d in enumerate(self._order):
            price, taken = self._worth.best[d][i]
            if price * sums[d] < enough * taken:
                if place:
                    self._order[0], self._order[place] = d, self._order[0]
                return True
        return False
