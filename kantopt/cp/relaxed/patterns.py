"""Which pods that wait share a node? Nodes cut into patterns of a resource, in whole numbers.

Counts of a relaxation say how many pods go to a class of nodes, not that they fit node by node.
With the patterns that nodes may have (Gilmore and Gomory 1961) they do, as far as it goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from ortools.sat.python.cp_model import CpSolver, IntVar, LinearExprT

from kantopt.clock import Deadline
from kantopt.cp.relaxed.domains import DomainRelaxation
from kantopt.cp.relaxed.hints import hint
from kantopt.cp.relaxed.kinds import PodKind
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.relaxed.tiers import expression
from kantopt.cp.solver import SOLVED, hint_solution, solver_of
from kantopt.cp.variables import Terms, weighted
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics import measure

MOST_PATTERNS = 4_000
"""Most patterns of all classes together."""
WORK = 1.0
"""Deterministic time for each tier, where work is counted."""

Sizes = tuple[int, ...]
"""What pods ask for of a resource, the largest first."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Nodes of a class with as much free, and how many of them have each pattern."""

    node_class: int
    nodes: tuple[int, ...]
    sizes: Sizes
    patterns: tuple[tuple[int, ...], ...]
    """Pods of each size."""
    have: tuple[IntVar, ...]


def fill(
    question: Instance,
    free: Collection[int],
    r: int,
    slack: Mapping[Tier, int],
    start: Placement,
    deadline: Deadline,
) -> list[tuple[tuple[int, ...], Counter[int]]]:
    """Place as much as patterns of nodes allow, tier by tier.

    Parameters
    ----------
    question
        What runs stays in it.
    free
        Pod sets that are placed; others that wait are not.
    r
        A resource that they all ask for.
    slack
        Tiers, and by how much each may be less than it is.
    start
        A placement to begin with, no worse than which all is to be.

    Returns
    -------
    list
        Alike pod sets, and how many of their pods are on which nodes; nothing if none is better.
    """
    # The nodes of a class are told apart by what is free of them: more classes would be in the way.
    waiting_close = any(s in free for j in question.close_jobs for s in question.jobs[j].podsets)
    m = (_Apart if waiting_close else Relaxation)(question, (), coarse=True)
    waiting = [kind for kind in m.kinds.pods if not kind.fixed]
    anew = [kind for kind in waiting if all(s in free for s in kind.podsets)]
    for kind in waiting:
        if kind not in anew:
            m.cp.add(m.placed(kind) == 0)
    cuts = _add_patterns(m, anew, r)
    if cuts is None:
        return []
    exprs: list[LinearExprT] = []
    for tier, value in zip(slack, measure(question, start, list(slack)), strict=True):
        expr = expression(m, tier)
        if expr is not None and not isinstance(expr, int):
            m.cp.add_linear_constraint(expr, value - slack[tier], value)
            if slack[tier]:
                exprs.append(expr)
    hint(m, start, _as_cut(anew, r, cuts, start))  # once it is said what the rest has to keep
    solver = None
    for left, expr in zip(range(len(exprs), 0, -1), exprs, strict=True):
        m.cp.minimize(expr)
        if solver is not None:
            hint_solution(m.cp, solver)
        if deadline.deterministic:
            trial = solver_of(work=WORK)
        else:  # one worker alone has no neighbourhoods
            trial = solver_of(deadline.remaining() / left, workers=2)
        if trial.solve(m.cp) not in SOLVED:
            break
        solver = trial
        m.cp.add(expr <= round(solver.objective_value))
    if solver is None:
        return []
    return _dealt(m, anew, r, cuts, solver)


class _Apart(DomainRelaxation):
    """Domains apart, and of gangs those that must be in one: the others are counted together."""

    def _mark(self) -> Mapping[int, Hashable]:
        close = self.instance.close_jobs
        return {j: mark for j, mark in super()._mark().items() if j in close}


def _add_patterns(m: Relaxation, kinds: Iterable[PodKind], r: int) -> list[Cut] | None:
    """Let pods of some kinds have their share on nodes in one piece.

    ``None`` if there are too many patterns, or a node has no limit.
    """
    cuts: list[Cut] = []
    left = MOST_PATTERNS
    for c in m.classes.classes:
        shares: dict[int, Terms] = {}
        for kind in kinds:
            if c.index in m.at[kind.index]:
                shares.setdefault(kind.one.requests[r], []).append((m.at[kind.index][c.index], -1))
        sizes = tuple(sorted(shares, reverse=True))
        alike: dict[int, list[int]] = {}
        for n in c.nodes if sizes else ():
            limit = m.instance.nodes[n].capacity[r]
            if limit is None:
                return None
            alike.setdefault(max(0, limit - m.standing.node[n][r]), []).append(n)
        for free, nodes in alike.items():
            found = tuple(islice(_full(sizes, free), left + 1))
            left -= len(found)
            if left < 0:
                return None
            have = tuple(m.cp.new_int_var(0, len(nodes), "") for _ in found)
            m.cp.add(sum(have) <= len(nodes))
            cuts.append(Cut(c.index, tuple(nodes), sizes, found, have))
            for pattern, var in zip(found, have, strict=True):
                for size, pods in zip(sizes, pattern, strict=True):
                    if pods:
                        shares[size].append((var, pods))
        for terms in shares.values():
            m.cp.add(weighted(terms) >= 0)
    return cuts


def _full(sizes: Sizes, free: int, pattern: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield the patterns of a room to which no further pod can be added."""
    if len(pattern) == len(sizes):
        if free < sizes[-1]:
            yield pattern
        return
    size = sizes[len(pattern)]
    for pods in range(free // size, -1, -1):
        yield from _full(sizes, free - pods * size, (*pattern, pods))


def _as_cut(
    kinds: Iterable[PodKind], r: int, cuts: Sequence[Cut], placement: Placement
) -> Iterator[tuple[int, int]]:
    """Yield index and value of what says that nodes have the patterns of a placement."""
    here: dict[int, Counter[int]] = {}
    for kind in kinds:
        for s in kind.podsets:
            for spot, pods in placement.podsets[s].items():
                here.setdefault(spot.node, Counter())[kind.one.requests[r]] += pods
    for cut in cuts:
        used = Counter[int]()
        for n in cut.nodes:
            held = here.get(n, Counter[int]())
            fits = (
                i
                for i, pattern in enumerate(cut.patterns)
                if all(held[z] <= pods for z, pods in zip(cut.sizes, pattern, strict=True))
            )
            used[next(fits, 0)] += 1
        yield from ((var.index, used[i]) for i, var in enumerate(cut.have))


def _dealt(
    m: Relaxation, kinds: Iterable[PodKind], r: int, cuts: Sequence[Cut], solver: CpSolver
) -> list[tuple[tuple[int, ...], Counter[int]]]:
    """Return the pod sets of each kind, and how many of its pods a solution has on each node."""
    rooms: dict[tuple[int, int], list[int]] = {}
    for cut in cuts:
        nodes = iter(cut.nodes)
        for pattern, var in zip(cut.patterns, cut.have, strict=True):
            for n in islice(nodes, solver.value(var)):
                for size, pods in zip(cut.sizes, pattern, strict=True):
                    rooms.setdefault((cut.node_class, size), []).extend([n] * pods)
    found = []
    for kind in kinds:
        here = Counter[int]()
        for c, var in m.at[kind.index].items():
            room = rooms.get((c, kind.one.requests[r]), [])
            here.update(room.pop() for _ in range(solver.value(var)))
        found.append((kind.podsets, here))
    return found
