"""The counts of a relaxation: where it starts from, and what comes of it, for others to aim at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpSolver

from kantopt.cp.relaxed.kinds import PodKind
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.solver import complete_hint, hint_values
from kantopt.problem.placement import Placement


@dataclass(frozen=True, slots=True)
class Aim:
    """Pods of each kind in each class of nodes, as a relaxation has them.

    ``kinds`` holds pod sets, whether they may move, and the counts by class.
    """

    classes: tuple[tuple[int, ...], ...]
    kinds: tuple[tuple[tuple[int, ...], bool, Mapping[int, int]], ...]


def hint(m: Relaxation, placement: Placement, more: Iterable[tuple[int, int]] = ()) -> None:
    """Start from a placement: all variables get the values that it has, ``more`` those given."""
    values = list(more)
    for k, kind in enumerate(m.kinds.pods):
        here = Counter[int]()
        for s in kind.podsets:
            for spot, pods in placement.podsets[s].items():
                here[m.classes.class_of[spot.node]] += pods
        values += [(var.index, here[c]) for c, var in m.at[k].items()]
        if kind.movable:
            stay, lost = _left_of(m, kind, placement)
            for several, number in (
                (m.stay[k], stay),
                (m.lost[k], lost),
                (m.arrived[k], here - stay),
            ):
                values += [(var.index, number[c]) for c, var in several.items()]
    hint_values(m.cp, dict(values).items())
    complete_hint(m.cp, 1.0)


def _left_of(
    m: Relaxation, kind: PodKind, placement: Placement
) -> tuple[Counter[int], Counter[int]]:
    """Pods of a kind that stay where they are in each class, and those that it loses."""
    stay, lost = Counter[int](), Counter[int]()
    for s in kind.podsets:
        podset, spots = m.instance.podsets[s], placement.podsets[s]
        evicted = podset.count - placement.placed(s)
        for spot, pods in podset.current.items():
            c = m.classes.class_of[spot.node]
            kept = min(pods, spots.get(spot, 0))
            gone = min(evicted, pods - kept)
            evicted -= gone
            stay[c] += kept
            lost[c] += gone
    return stay, lost


def aim_of(m: Relaxation, solver: CpSolver) -> Aim:
    """Return what a solution has of all kinds of which pods may be elsewhere."""
    kinds = tuple(
        (kind.podsets, kind.movable, {c: solver.value(n) for c, n in m.at[k].items()})
        for k, kind in enumerate(m.kinds.pods)
        if not kind.fixed
    )
    return Aim(tuple(c.nodes for c in m.classes.classes), kinds)
