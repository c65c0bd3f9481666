"""Which pods that wait share a node? Nodes cut into patterns of GPUs, in whole numbers.

Counts of a relaxation say how many pods go to a class of nodes, not that they fit node by node.
With the patterns that nodes may have (Gilmore and Gomory 1961) they do, as far as GPUs go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
from kantopt.schema.quantity import gpu_milli
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
    slack
        Tiers, and by how much each may be less than it is.
    start
        A placement to begin with, no worse than which all is to be.

    Returns
    -------
    list
        Alike pod sets, and how many of their pods are on which nodes; nothing if none is better.
    """
    m = _Apart(question, ()) if question.close_jobs else Relaxation(question, ())
    waiting = [kind for kind in m.kinds.pods if not kind.fixed]
    anew = [kind for kind in waiting if all(s in free for s in kind.podsets)]
    for kind in waiting:
        if kind not in anew:
            m.cp.add(m.placed(kind) == 0)
    cuts = _add_patterns(m, anew)
    if cuts is None:
        return []
    exprs: list[LinearExprT] = []
    for tier, value in zip(slack, measure(question, start, list(slack)), strict=True):
        expr = expression(m, tier)
        if expr is not None and not isinstance(expr, int):
            m.cp.add_linear_constraint(expr, value - slack[tier], value)
            if slack[tier]:
                exprs.append(expr)
    hint(m, start, _as_cut(m, anew, cuts, start))  # once it is said what the rest has to keep
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
    where = _dealt(m, anew, cuts, solver)
    return [(kind.podsets, where[kind.index]) for kind in anew]


class _Apart(DomainRelaxation):
    """Domains apart, and of gangs those that must be in one: the others are counted together."""

    def _mark(self) -> Mapping[int, Hashable]:
        close = self.instance.close_jobs
        return {j: mark for j, mark in super()._mark().items() if j in close}


def _add_patterns(m: Relaxation, kinds: Iterable[PodKind]) -> list[Cut] | None:
    """Let pods of some kinds have their GPUs on nodes in one piece; ``None`` if none is to be said.

    Or too much: too many patterns, or pods that ask for several kinds of GPUs.
    """
    asking = [kind for kind in kinds if kind.one.gpu_milli]
    gpus = {r for kind in asking for r in _gpus(m, kind)}
    if len(gpus) != 1:
        return None
    (r,) = gpus
    cuts: list[Cut] = []
    left = MOST_PATTERNS
    for c in m.classes.classes:
        counts = {k.index: m.at[k.index][c.index] for k in asking if c.index in m.at[k.index]}
        by_size: dict[int, Terms] = {}
        for k, var in counts.items():
            by_size.setdefault(m.kinds.pods[k].one.requests[r], []).append((var, -1))
        sizes = tuple(sorted(by_size, reverse=True))
        alike: dict[int, list[int]] = {}
        for n in c.nodes if sizes else ():
            limit = m.instance.nodes[n].capacity[r]
            if limit is None:
                return None
            alike.setdefault(limit - m.standing.node[n][r], []).append(n)
        for free, nodes in alike.items():
            found: list[tuple[int, ...]] = []
            for pattern in _full(sizes, free):
                found.append(pattern)
                left -= 1
                if left < 0:
                    return None
            have = tuple(m.cp.new_int_var(0, len(nodes), "") for _ in found)
            m.cp.add(sum(have) <= len(nodes))
            cuts.append(Cut(c.index, tuple(nodes), sizes, tuple(found), have))
            for pattern, var in zip(found, have, strict=True):
                for size, pods in zip(sizes, pattern, strict=True):
                    if pods:
                        by_size[size].append((var, pods))
        for terms in by_size.values():
            m.cp.add(weighted(terms) >= 0)
    return cuts


def _full(sizes: Sizes, free: int) -> Iterator[tuple[int, ...]]:
    """Yield the patterns of a room to which no further pod can be added."""

    def further(i: int, left: int, pattern: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if i == len(sizes):
            if left < sizes[-1]:
                yield pattern
            return
        for pods in range(max(0, left) // sizes[i], -1, -1):
            yield from further(i + 1, left - pods * sizes[i], (*pattern, pods))

    if sizes:
        yield from further(0, free, ())


def _as_cut(
    m: Relaxation, kinds: Iterable[PodKind], cuts: Sequence[Cut], placement: Placement
) -> Iterator[tuple[int, int]]:
    """Yield index and value of what says that nodes have the patterns of a placement."""
    here: dict[int, Counter[int]] = {}
    for kind in kinds:
        size = sum(kind.one.requests[r] for r in _gpus(m, kind))
        for s in kind.podsets if size else ():
            for spot, pods in placement.podsets[s].items():
                here.setdefault(spot.node, Counter())[size] += pods
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
    m: Relaxation, kinds: Iterable[PodKind], cuts: Sequence[Cut], solver: CpSolver
) -> dict[int, Counter[int]]:
    """Return, of each kind that asks for GPUs, how many of its pods a solution has on each node."""
    rooms: dict[tuple[int, int], list[int]] = {}
    for cut in cuts:
        nodes = iter(cut.nodes)
        for pattern, var in zip(cut.patterns, cut.have, strict=True):
            for _, n in zip(range(solver.value(var)), nodes, strict=False):
                for size, pods in zip(cut.sizes, pattern, strict=True):
                    rooms.setdefault((cut.node_class, size), []).extend([n] * pods)
    found: dict[int, Counter[int]] = {}
    for kind in kinds:
        if kind.one.gpu_milli:
            here = found[kind.index] = Counter()
            size = sum(kind.one.requests[r] for r in _gpus(m, kind))
            for c, var in m.at[kind.index].items():
                room = rooms.get((c, size), [])
                for _ in range(solver.value(var)):
                    here[room.pop()] += 1
    return found


def _gpus(m: Relaxation, kind: PodKind) -> list[int]:
    """Resources that are GPUs, of those that pods of a kind ask for."""
    names = m.instance.resources
    return [r for r, k in enumerate(kind.one.requests) if k and gpu_milli(names[r], k)]
