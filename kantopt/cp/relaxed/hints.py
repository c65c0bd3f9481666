"""Where a relaxation starts from: the counts of a placement."""

from __future__ import annotations

from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.solver import complete_hint, hint_values
from kantopt.problem.placement import Placement


def hint(m: Relaxation, placement: Placement) -> None:
    """Start from a placement: all variables get the values that it has."""
    values: list[tuple[int, int]] = []
    for k, kind in enumerate(m.kinds.pods):
        here: dict[int, int] = {}
        for s in kind.podsets:
            for spot, pods in placement.podsets[s].items():
                c = m.classes.class_of[spot.node]
                here[c] = here.get(c, 0) + pods
        values += [(var.index, here.get(c, 0)) for c, var in m.at[k].items()]
    hint_values(m.cp, values)
    complete_hint(m.cp, 1.0)
