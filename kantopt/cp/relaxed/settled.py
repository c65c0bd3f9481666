"""What all plans have in common that are as good as the best one: who goes, stays and is placed.

Once the tiers above are locked there is often one choice left of which gangs are placed and which
go, though many of where. Looked for in the merged relaxation, which is small: where it leaves no
choice, no legal plan has one. With that said in advance the domain relaxation is far smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import LinearExprT

from kantopt.clock import Deadline
from kantopt.cp.relaxed.domains import GangRelaxation
from kantopt.cp.relaxed.hints import SOLVED, hint
from kantopt.cp.relaxed.kinds import PodKind
from kantopt.cp.variables import Terms, weighted
from kantopt.problem.placement import Placement

WORK = 1.0
"""Deterministic seconds for each question whether anything could be otherwise."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Numbers that are the same in all plans no worse than the locks; kinds by index.

    Jobs that lose all their pods, jobs that are placed, and single pods that are evicted.
    """

    victims: Mapping[int, int]
    satisfied: Mapping[int, int]
    evicted: Mapping[int, int]

    def apply(self, m: GangRelaxation) -> None:
        """Add them to another relaxation of the question, in which jobs are told apart as well."""
        for j, number in self.victims.items():
            m.cp.add(m.victims[j] == number)
        for j, number in self.satisfied.items():
            m.cp.add(m.satisfied[j] == number)
        for k, number in self.evicted.items():
            m.cp.add(m.evicted(m.kinds.pods[k]) == number)

    def stays(self, m: GangRelaxation, j: int, pods: PodKind) -> bool:
        """Whether the pods of a kind of jobs are still where they are, whatever happens."""
        return pods.one.running and not pods.movable and self._spared(m, j, pods)

    def keeps(self, m: GangRelaxation, j: int) -> bool:
        """Whether a kind of jobs loses no pods."""
        return all(self._spared(m, j, pods) for pods in m.kinds.jobs[j].pods)

    def _spared(self, m: GangRelaxation, j: int, pods: PodKind) -> bool:
        if not pods.evictable:
            return True
        lost = self.victims.get(j) if j in m.victims else self.evicted.get(pods.index)
        return lost == 0


@dataclass(frozen=True, slots=True)
class _Number:
    """A number that may or may not be settled, and its range."""

    what: str
    index: int
    expr: LinearExprT
    most: int


def settle(m: GangRelaxation, placement: Placement, deadline: Deadline) -> Settled:
    """Return what cannot be otherwise in a relaxation whose tiers are locked.

    Of all numbers that are at an end of their range as many as possible are asked to differ from
    it at once; those that do are dropped, until none can.

    Parameters
    ----------
    m
        The relaxation, which is spent afterwards.
    placement
        A placement that is no worse than the locks.
    """
    hint(m, placement)
    numbers = list(_numbers(m))
    solver = _solver(deadline)
    if solver.solve(m.cp) not in SOLVED:
        return Settled({}, {}, {})
    left = {i: solver.value(number.expr) for i, number in enumerate(numbers)}
    left = {i: value for i, value in left.items() if value in (0, numbers[i].most)}
    while left and not deadline.over():
        differs: Terms = [(numbers[i].expr, -1 if value else 1) for i, value in left.items()]
        m.cp.maximize(weighted(differs) + sum(left.values()))
        solver = _solver(deadline)
        status = solver.solve(m.cp)
        if status not in SOLVED:
            break
        others = {i for i, value in left.items() if solver.value(numbers[i].expr) != value}
        if not others and status == cp_model.OPTIMAL:
            return Settled(
                *(
                    {numbers[i].index: v for i, v in left.items() if numbers[i].what == what}
                    for what in ("victims", "satisfied", "evicted")
                )
            )
        if not others:
            break
        left = {i: value for i, value in left.items() if i not in others}
    return Settled({}, {}, {})


def _numbers(m: GangRelaxation) -> list[_Number]:
    found = []
    for j, kind in enumerate(m.kinds.jobs):
        if j in m.victims:
            found.append(_Number("victims", j, m.victims[j], len(kind.jobs)))
        else:
            found += [
                _Number("evicted", pods.index, m.evicted(pods), pods.count)
                for pods in kind.pods
                if pods.evictable
            ]
        if any(not pods.one.running for pods in kind.pods):
            found.append(_Number("satisfied", j, m.satisfied[j], len(kind.jobs)))
    return found


def _solver(deadline: Deadline) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = WORK
    solver.parameters.max_time_in_seconds = max(0.01, deadline.remaining())
    return solver
