"""Column generation for one tier: prices from a linear program, patterns from the prices.

Whatever the prices, the Lagrangian bound at them holds (Geoffrion 1974); the linear program over
the patterns known so far only proposes good ones. Prices are integers, so that the bound is
computed without rounding. Between rounds prices keep close to the best so far (Wentges 1997),
below a highest price, and no pod is worth less than one that asks for less in every resource and
may arrive wherever it may: restrictions of the prices, which cost no validity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kantopt.cp.masters.patterns import PatternLp
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.chains.scope import scope_of
from kantopt.search.columns.multipliers import DUST
from kantopt.search.columns.patterns import Pattern, patterns_of
from kantopt.search.columns.pricing import LIMITS, Pricing
from kantopt.search.columns.program import Program, program_of
from kantopt.search.shapes import Ints

MOST_CELLS = 4_000_000
"""Groups times nodes up to which a round takes seconds at most."""
MOST_GROUPS = 3_000
SCALE = 1 << 20
"""Units of a price in one unit of the objective."""
INERTIA = 0.7
"""How much prices keep of the best so far."""
BOX = 2.5
"""Highest price of the largest pod at first, to be doubled where that is in the way."""
MOST_BOX = 4096.0
NEAR, NEAR_SHARE = 0.5, 0.02
"""Difference of bound and linear program at which highest prices in the way are doubled."""
NOTHING = 1e-6
FILL = 0.05
"""Least price of the largest pod while patterns are collected for a choice."""
NEIGHBOURS = 8
"""Most pods per group to stand in for it."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Proof:
    """What a bound follows from, in units of ``1 / SCALE``: prices per group, and per lock."""

    prices: tuple[int, ...]
    locks: tuple[int, ...]


class Generation:
    """Patterns for a program, and the best bound on its objective so far.

    Attributes
    ----------
    bound
        No plan that keeps the locks has less than this in the program's tier.
    patterns
        Those known, in the order of their discovery.
    proof
        Prices and multipliers of the best bound.
    """

    def __init__(self, program: Program, known: Iterable[Pattern]) -> None:
        self.program = program
        self.pricing = Pricing(program)
        self.patterns: dict[Pattern, None] = {}
        groups = len(program.groups)
        self._ins: Ints = np.zeros((64, groups), dtype=np.int64)
        self._outs: Ints = np.zeros((64, groups), dtype=np.int64)
        self._at: Ints = np.zeros(64, dtype=np.int64)
        room = np.maximum(1, program.room.max(axis=1, keepdims=True))
        self._dust = (program.ask < DUST * room).all(axis=0)
        largest = np.maximum(1, program.ask.max(axis=1, initial=1, keepdims=True))
        self._size: Floats = (program.ask / largest).max(axis=0)
        self._box = BOX
        self._lp = PatternLp(
            program.home.shape[1], program.numbers(), (self._box * self._size).tolist()
        )
        for given, taken in _exchanges(program):
            self._lp.exchange([(given, 1)], [(taken, 1)])
        for pattern in known:
            self.add(pattern)
        self.rounds = 0
        self._best = -(1 << 62)
        self.proof = Proof((), ())
        self._centre: Floats = np.zeros(groups + len(program.locks))
        self._centre[:groups] = 0.8 * self._size * (self._size > 0.6)
        self._centre[groups:] = [float(any(lock.out)) for lock in program.locks]
        self._last = self._centre

    @property
    def bound(self) -> int:
        """Least integer that the best Lagrangian bound allows; 0 before the first round."""
        return max(0, -(-self._best // SCALE))

    def add(self, pattern: Pattern) -> bool:
        """Add a pattern; say whether it is a new one."""
        if pattern in self.patterns:
            return False
        k = len(self.patterns)
        if k == len(self._at):
            self._ins, self._outs = (np.vstack([x, 0 * x]) for x in (self._ins, self._outs))
            self._at = np.append(self._at, 0 * self._at)
        self.patterns[pattern] = None
        self._at[k] = pattern.node
        for g, pods in pattern.ins:
            self._ins[k, g] = pods
        for g, pods in pattern.outs:
            self._outs[k, g] = pods
        self._lp.add(pattern.node, pattern.outs, pattern.ins)
        return True

    def converge(self, target: int, over: Callable[[], bool], raised: Callable[[], None]) -> None:
        """Raise the bound until it is ``target``, or as high as prices can make it, or time is up.

        ``raised`` is told each time.
        """
        while not over():
            self.rounds += 1
            point = self._lp.solve()
            self._last = np.array(point.prices + point.locks)
            smooth = INERTIA * self._centre + (1 - INERTIA) * self._last
            before = self.bound
            news = self._price(smooth) or self._price(self._last)
            if self.bound > before:
                raised()
            if self.bound >= target:
                return
            if point.short <= NOTHING and self.bound >= point.value - NOTHING:
                return  # rounded up, it is the linear program's already
            gap = point.value - self._best / SCALE
            near = not news or gap < max(NEAR, NEAR_SHARE * point.value)
            if near and self._box < MOST_BOX and point.short > NOTHING:
                self._box *= 2
                self._lp.box((self._box * self._size).tolist())
            elif not news:
                if self._exact or self.pricing.limit == LIMITS[-1]:
                    return
                self.pricing.limit = LIMITS[-1]

    def collect(self, slack: float, each: int) -> int:
        """Add patterns that gain nearly as much as the best known; return how many are new.

        Pods that are worth nothing to the linear program are worth a little, so that patterns
        have them: in whole numbers they may be in want.
        """
        proposal = self._last.copy()
        groups = len(self.program.groups)
        proposal[:groups] = np.maximum(proposal[:groups], FILL * self._size)
        prices, leave, _ = self._units(proposal)
        floor = self._gains(prices, leave) - int(slack * SCALE)
        found = self.pricing.best(prices, leave, floor, each).patterns
        return sum(self.add(pattern) for pattern in found)

    def _units(self, proposal: Floats) -> tuple[Ints, Ints, Ints]:
        """Prices, costs of leaving, and multipliers of the locks, in units of the scale."""
        program = self.program
        units = np.rint(proposal * SCALE).astype(np.int64)
        prices, locks = units[: len(program.groups)], units[len(program.groups) :]
        prices[self._dust] = 0
        leave = prices + SCALE * np.array(program.objective.out)
        for multiplier, lock in zip(locks, program.locks, strict=True):
            leave = leave + multiplier * np.array(lock.out)
        return prices, leave, locks

    def _gains(self, prices: Ints, leave: Ints) -> Ints:
        """Most that a known pattern of each node gains, at least 0."""
        k = len(self.patterns)
        gains = self._ins[:k] @ prices - self._outs[:k] @ leave
        most = np.zeros(self.program.home.shape[1], dtype=np.int64)
        np.maximum.at(most, self._at[:k], gains)
        return most

    def _price(self, proposal: Floats) -> int:
        """Look for profitable patterns, keep the bound; return how many patterns are new."""
        prices, leave, locks = self._units(proposal)
        priced = self.pricing.best(prices, leave, self._gains(prices, leave))
        self._exact = priced.exact
        value = lagrangian(self.program, prices, locks.tolist(), priced.most)
        if value > self._best:
            self._best, self._centre = value, proposal
            self.proof = Proof(tuple(prices.tolist()), tuple(locks.tolist()))
        return sum(self.add(pattern) for pattern in priced.patterns)


def lagrangian(program: Program, prices: Ints, locks: list[int], most: Ints) -> int:
    """Return a lower bound on the program's objective, in units of ``1 / SCALE``.

    What groups need to have placed and the locks are not demanded, but paid for.

    Parameters
    ----------
    prices
        Per group, of each pod placed beyond those that run, less what patterns bring; (G,).
    locks
        Per lock, of each unit beyond its limit.
    most
        Per node, what no pattern's gain at these prices exceeds; (N,).
    """

    def total(name: str) -> Ints:
        rows: list[Ints] = [SCALE * np.array(getattr(program.objective, name))]
        rows += [
            k * np.array(getattr(lock, name)) for k, lock in zip(locks, program.locks, strict=True)
        ]
        return np.asarray(np.sum(rows, axis=0), dtype=np.int64)

    evicted, missing = total("evicted"), total("missing")
    costs = []
    # Linear on either side of the number that runs: the least is at an end or there.
    for placed in (
        program.low,
        np.clip(program.running, program.low, program.count),
        program.count,
    ):
        gone = np.maximum(0, program.running - placed)
        wanted = placed - program.running
        costs.append(evicted * gone + missing * (program.count - placed) + prices * wanted)
    allowed = sum(k * lock.limit for k, lock in zip(locks, program.locks, strict=True))
    return int(np.min(costs, axis=0).sum()) - allowed - int(most.sum())


def _exchanges(program: Program) -> list[tuple[int, int]]:
    """Pairs of groups: the first may arrive wherever the second does, and asks for no more."""
    ask, groups = program.ask, np.arange(len(program.groups))
    less = np.ones((len(groups), len(groups)), dtype=np.bool_)
    for row in ask:
        less &= row[:, None] <= row
    less &= ~(less.T & (groups[:, None] >= groups))
    shut = (~program.welcome).astype(np.float32)
    less &= (shut @ program.welcome.astype(np.float32).T) == 0
    step = less.astype(np.float32)
    less &= (step @ step) == 0  # what others lie between follows from them
    size = (ask / np.maximum(1, ask.max(axis=1, initial=1, keepdims=True))).sum(axis=0)
    pairs = []
    for g in groups.tolist():
        near = np.flatnonzero(less[g])
        near = near[np.argsort(size[near], kind="stable")][:NEIGHBOURS]
        pairs += [(g, i) for i in near.tolist()]
    return pairs


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of pods, by pod set, and multipliers of tiers, by index, in ``1 / scale``."""

    scale: int
    pods: dict[int, int]
    tiers: dict[int, int]


def prices_of(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    start: Placement,
    t: int,
    over: Callable[[], bool],
) -> Prices | None:
    """Look for prices that bound tier ``t`` from below; whether they do is for others to say.

    Parameters
    ----------
    start
        A placement with these values: patterns to begin with.
    t
        A tier of disruption.
    over
        Asked between rounds whether to stop.
    """
    scope = scope_of(instance, start)
    groups = sum(any(group.request) for group in scope.groups)
    if not groups or groups * len(instance.nodes) > MOST_CELLS or groups > MOST_GROUPS:
        return None
    program = program_of(scope, tiers, values, t)
    if not any(program.objective.out):
        return None
    counts = [group.start for group in scope.groups]
    generation = Generation(program, patterns_of(program, counts))
    generation.converge(values[t], over, lambda: None)
    proof = generation.proof
    pods = {
        s: price
        for g, price in zip(program.groups, proof.prices, strict=False)
        if price
        for s in scope.groups[g].podsets
    }
    locks = zip(program.locked, proof.locks, strict=False)
    return Prices(SCALE, pods, {i: k for i, k in locks if k})
