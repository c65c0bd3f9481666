"""What all plans have in common that are as good as the best one: who goes, stays and is placed.

Once the tiers above are locked there is often one choice left of which gangs are placed and which
go, though many of where. Looked for in the merged relaxation, which is small: where it leaves no
choice, no legal plan has one. With that said in advance the domain relaxation is far smaller.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb, prod

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import CpModel, IntVar, LinearExprT

from kantopt.clock import Deadline
from kantopt.cp.relaxed.domains import GangRelaxation
from kantopt.cp.relaxed.hints import hint
from kantopt.cp.relaxed.kinds import PodKind
from kantopt.cp.solver import SOLVED, solver_of
from kantopt.cp.variables import weighted
from kantopt.problem.placement import Placement

WORK = 1.0
"""Deterministic seconds for each question whether anything could be otherwise."""
MOST_WAYS = 50
"""Most ways in which some of the gangs that are alike go, where each is looked at."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Numbers that are the same in all plans no worse than the locks; kinds by index.

    Jobs that lose all their pods, jobs that are placed, and single pods that are evicted. Where it
    is settled how many of some gangs are placed between which a relaxation sees no difference, it
    is also said which: any plan is as good with two of them exchanged there, and so is a bound.
    """

    victims: Mapping[int, int]
    satisfied: Mapping[int, int]
    evicted: Mapping[int, int]
    gone: tuple[tuple[tuple[int, ...], int], ...] = ()
    """Kinds of jobs of which as many go as a whole, one or another."""

    def apply(self, m: GangRelaxation, cp: CpModel) -> None:
        """Add them to another relaxation of the question, in which jobs are told apart as well.

        ``cp`` is the model of the relaxation or a copy of it.
        """
        for j, number in self.victims.items():
            cp.add(m.victims[j] == number)
        for several, number in self.gone:
            cp.add(weighted([(m.victims[j], 1) for j in several]) == number)
        for j, number in self.satisfied.items():
            cp.add(m.satisfied[j] == number)
        for k, number in self.evicted.items():
            cp.add(m.evicted(m.kinds.pods[k]) == number)

    def ways(self) -> list[Settled]:
        """Return all ways in which it may be which of the gangs that are alike go as a whole.

        One of them is that of each plan no worse than the locks. If there are too many, it stays
        open in the only one.
        """
        left = []
        for several, number in self.gone:
            unknown = [j for j in several if j not in self.victims]
            going = number - sum(self.victims.get(j, 0) for j in several)
            if unknown and 0 <= going <= len(unknown):
                left.append((unknown, going))
        if prod(comb(len(unknown), going) for unknown, going in left) > MOST_WAYS:
            return [self]
        found = []
        for chosen in product(*(combinations(unknown, going) for unknown, going in left)):
            victims = dict(self.victims)
            for (unknown, _), those in zip(left, chosen, strict=True):
                victims |= {j: int(j in those) for j in unknown}
            found.append(replace(self, victims=victims))
        return found

    def stays(self, m: GangRelaxation, j: int, pods: PodKind) -> bool:
        """Whether the pods of a kind of jobs are still where they are, whatever happens."""
        return pods.one.running and not pods.movable and self._spared(m, j, pods)

    def goes(self, m: GangRelaxation, j: int, pods: PodKind) -> bool:
        """Whether all pods of a kind of jobs are certainly evicted."""
        if not pods.evictable:
            return False
        if j in m.victims:
            return self.victims.get(j) == len(m.kinds.jobs[j].jobs)
        return self.evicted.get(pods.index) == pods.count

    def keeps(self, m: GangRelaxation, j: int) -> bool:
        """Whether a kind of jobs loses no pods."""
        return all(self._spared(m, j, pods) for pods in m.kinds.jobs[j].pods)

    def most_lost(self, m: GangRelaxation, j: int, pods: PodKind) -> int:
        """Return how many pods of a kind of jobs are evicted at most."""
        if not pods.evictable:
            return 0
        if j in m.victims:
            lost = self.victims.get(j)
            return pods.count if lost is None else min(pods.count, lost * pods.one.count)
        return self.evicted.get(pods.index, pods.count)

    def _spared(self, m: GangRelaxation, j: int, pods: PodKind) -> bool:
        if not pods.evictable:
            return True
        lost = self.victims.get(j) if j in m.victims else self.evicted.get(pods.index)
        return lost == 0


@dataclass(frozen=True, slots=True)
class _Number:
    """A number of one kind, or over several that are alike, and its range."""

    what: str
    kinds: tuple[int, ...]
    expr: LinearExprT
    most: int


def settle(m: GangRelaxation, placement: Placement, deadline: Deadline) -> Settled:
    """Return what cannot be otherwise in a relaxation whose tiers are locked.

    Of all numbers as many as possible are asked to differ at once from what they are in one
    solution; those that do are dropped, until none can.

    Parameters
    ----------
    m
        The relaxation, which is spent afterwards.
    placement
        A placement that is no worse than the locks.
    """
    hint(m, placement)
    numbers = list(_numbers(m))
    solver = solver_of(deadline.remaining(), WORK)
    if solver.solve(m.cp) not in SOLVED:
        return Settled({}, {}, {})
    left = {i: solver.value(number.expr) for i, number in enumerate(numbers)}
    differ = {i: _differs(m, numbers[i], value) for i, value in left.items()}
    while left and not deadline.over():
        m.cp.maximize(weighted([(flag, 1) for i in left for flag in differ[i]]))
        solver = solver_of(deadline.remaining(), WORK)
        status = solver.solve(m.cp)
        if status not in SOLVED:
            break
        others = {i for i, value in left.items() if solver.value(numbers[i].expr) != value}
        if not others and status == cp_model.OPTIMAL:
            return _settled(m, placement, [(numbers[i], value) for i, value in left.items()])
        if not others:
            break
        left = {i: value for i, value in left.items() if i not in others}
    return Settled({}, {}, {})


def _differs(m: GangRelaxation, number: _Number, value: int) -> list[IntVar]:
    """Booleans that are true only where a number is less, or more."""
    flags = []
    if value > 0:
        flags.append(m.cp.new_bool_var("less"))
        m.cp.add(number.expr <= value - 1).only_enforce_if(flags[-1])
    if value < number.most:
        flags.append(m.cp.new_bool_var("more"))
        m.cp.add(number.expr >= value + 1).only_enforce_if(flags[-1])
    return flags


def _settled(
    m: GangRelaxation, placement: Placement, numbers: Sequence[tuple[_Number, int]]
) -> Settled:
    found: dict[str, dict[int, int]] = {"victims": {}, "satisfied": {}, "evicted": {}}
    gone = []
    for number, value in numbers:
        if len(number.kinds) == 1:
            found[number.what][number.kinds[0]] = value
        elif number.what == "victims":
            gone.append((number.kinds, value))
        else:
            first = sorted(number.kinds, key=lambda j: not _runs(m, placement, j))
            for place, j in enumerate(first):
                found["satisfied"][j] = int(place < value)
    return Settled(found["victims"], found["satisfied"], found["evicted"], tuple(gone))


def _runs(m: GangRelaxation, placement: Placement, j: int) -> bool:
    return any(placement.placed(s) for pods in m.kinds.jobs[j].pods for s in pods.podsets)


def _numbers(m: GangRelaxation) -> Iterator[_Number]:
    waiting: dict[Hashable, list[int]] = {}
    running: dict[Hashable, list[int]] = {}
    for j, kind in enumerate(m.kinds.jobs):
        single = len(kind.jobs) == 1
        if j in m.victims:
            yield _Number("victims", (j,), m.victims[j], len(kind.jobs))
            if single:
                running.setdefault(m.kinds.alike(kind.one), []).append(j)
        else:
            for pods in kind.pods:
                if pods.evictable:
                    yield _Number("evicted", (pods.index,), m.evicted(pods), pods.count)
        if single and not any(pods.one.running for pods in kind.pods):
            waiting.setdefault(m.kinds.alike(kind.one), []).append(j)
        elif any(not pods.one.running for pods in kind.pods):
            yield _Number("satisfied", (j,), m.satisfied[j], len(kind.jobs))
    for several in waiting.values():
        placed = weighted([(m.satisfied[j], 1) for j in several])
        yield _Number("satisfied", tuple(several), placed, len(several))
    for several in running.values():
        if len(several) > 1:
            lost = weighted([(m.victims[j], 1) for j in several])
            yield _Number("victims", tuple(several), lost, len(several))
