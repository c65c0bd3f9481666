"""The smallest model found on which CP-SAT's presolve aborts the process, with OR-Tools alone.

    python tests/cp/presolve_aborts.py            # F... Check failed: ..., SIGABRT with 9.15
    python tests/cp/presolve_aborts.py plain      # without presolve: OPTIMAL -40

One thread, no hint, no time limit; seeds make no difference. Without symmetries
(``symmetry_level`` 0) or without probing (``cp_model_probing_level`` 0) presolve comes through.
"""

from __future__ import annotations

import sys

from ortools.sat.python import cp_model


def model() -> cp_model.CpModel:
    """Nine variables, ten linear constraints; the least objective is -40."""
    cp = cp_model.CpModel()
    a, b, c, d = (cp.new_int_var(0, 2, name) for name in "abcd")
    p, q, s, x, y = (cp.new_bool_var(name) for name in "pqsxy")
    cp.add(d >= a - 1)
    cp.add(c >= b + d)
    cp.add(3 * a + s <= 4)
    cp.add(4 * b + q <= 8)
    cp.add(p + q >= 1)
    cp.add(s + a + b <= 2)
    cp.add(s + a + b >= 2)
    cp.add(2 * x >= a + p)
    cp.add(2 * y >= b + 2 * q)
    cp.add(s + x + y <= 2)
    cp.minimize(c - 20 * s - 20 * a)
    return cp


def main() -> None:
    """Solve the model, if the solver lives through it."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if "plain" in sys.argv[1:]:
        solver.parameters.cp_model_presolve = False
        solver.parameters.symmetry_level = 0
    status = solver.solve(model())
    print(solver.status_name(status), round(solver.objective_value))


if __name__ == "__main__":
    main()
