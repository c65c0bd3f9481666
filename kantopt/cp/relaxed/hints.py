"""Where a relaxation starts from: the counts of a placement, or a solution found before."""

from __future__ import annotations

from ortools.sat.python import cp_model

from kantopt.cp.relaxed.model import Relaxation
from kantopt.problem.placement import Placement

SOLVED = (cp_model.OPTIMAL, cp_model.FEASIBLE)


def hint(m: Relaxation, placement: Placement) -> None:
    """Start from a placement: all variables get the values that it has."""
    cp = m.cp
    cp.clear_hints()  # type: ignore[no-untyped-call]
    for k, kind in enumerate(m.kinds.pods):
        here: dict[int, int] = {}
        for s in kind.podsets:
            for spot, pods in placement.podsets[s].items():
                c = m.classes.class_of[spot.node]
                here[c] = here.get(c, 0) + pods
        for c, var in m.at[k].items():
            cp.add_hint(var, here.get(c, 0))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.fix_variables_to_their_hinted_value = True
    solver.parameters.max_deterministic_time = 1.0
    if solver.solve(cp) in SOLVED:
        hint_solution(cp, solver)


def hint_solution(cp: cp_model.CpModel, solver: cp_model.CpSolver) -> None:
    """Start from a solution that was found before."""
    cp.clear_hints()  # type: ignore[no-untyped-call]
    for index, value in enumerate(solver.response_proto.solution):
        cp.add_hint(cp.get_int_var_from_proto_index(index), value)
