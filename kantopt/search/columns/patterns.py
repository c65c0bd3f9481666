"""Patterns of change: what one node loses and what it gains, and what they make together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kantopt.search.columns.program import Program


@dataclass(frozen=True, slots=True)
class Pattern:
    """A change of one node: program groups with pods that leave, and with pods that arrive."""

    node: int
    outs: tuple[tuple[int, int], ...]
    ins: tuple[tuple[int, int], ...]


def patterns_of(program: Program, counts: Sequence[dict[int, int]]) -> list[Pattern]:
    """Return what makes the snapshot's pods those counted, on nodes where pods arrive.

    ``counts`` are pods by node of each of the scope's groups. Where pods only leave, they might
    as well stay for all that is asked of patterns.
    """
    changes: dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
    for i, g in enumerate(program.groups):
        home = program.scope.groups[g].home
        for n in sorted({*home, *counts[g]}):
            more = counts[g].get(n, 0) - home.get(n, 0)
            if more:
                outs, ins = changes.setdefault(n, ([], []))
                (ins if more > 0 else outs).append((i, abs(more)))
    return [Pattern(n, tuple(outs), tuple(ins)) for n, (outs, ins) in changes.items() if ins]


def counts_after(program: Program, chosen: Iterable[Pattern]) -> list[dict[int, int]]:
    """Return the pods of each of the scope's groups by node once some patterns are carried out.

    Arrivals beyond what there is of a group are left out. Groups outside the program are where
    the scope's start has them.
    """
    inside = set(program.groups)
    counts = [
        dict(group.home if g in inside else group.start)
        for g, group in enumerate(program.scope.groups)
    ]
    arriving = []
    for pattern in chosen:
        for i, pods in pattern.outs:
            spots = counts[program.groups[i]]
            spots[pattern.node] -= pods
            if not spots[pattern.node]:
                del spots[pattern.node]
        arriving += [(program.groups[i], pattern.node, pods) for i, pods in pattern.ins]
    for g, n, pods in arriving:
        fits = min(pods, program.scope.groups[g].most - sum(counts[g].values()))
        if fits > 0:
            counts[g][n] = counts[g].get(n, 0) + fits
    return counts
