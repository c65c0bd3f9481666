"""What counts to aim at ask of those who run: no more than the places of new pods do."""

from __future__ import annotations

from ortools.sat.python.cp_model import CpSolver

from kantopt.cp.relaxed.domains import DomainRelaxation
from kantopt.cp.relaxed.harm import calmed
from kantopt.cp.solver import SOLVED
from kantopt.cp.variables import weighted
from kantopt.problem.tiers import tiers_of
from tests.verify.world import job, node, pods, question


def test_who_runs_goes_back_where_new_pods_let_it() -> None:
    """A gang has rack a for itself: one pod has to leave that, and six are shuffled beside it."""
    names = [f"{rack}{n}" for rack in "abcd" for n in range(2)]
    nodes = [node(name, cpu=8, gpu=2, rack=f"z/{name[0]}") for name in names]
    stand = ["a0", "b0", "b1", "c0", "c1", "d0", "d1"]
    ones = [job(f"p{on}", pods(cpu=0, gpu=1, on=[on]), movable=True) for on in stand]
    gang = job("w", pods(count=2, cpu=0, gpu=2), topologyRequest={"preferred": "rack"})
    instance = question(nodes, [*ones, gang], objectives=["unplaced", "domains_crossed", "moves"])
    m = DomainRelaxation(instance, tiers_of(instance))
    (waits,) = (kind for kind in m.kinds.pods if not kind.one.running)
    j = next(j for j, kind in enumerate(m.kinds.jobs) if waits in kind.pods)
    crossed, moved = m.spread(j, 1, (0,), 1), weighted([(var, 1) for var in m.moved.values()])
    assert crossed is not None

    cp, solver = m.cp.clone(), CpSolver()
    cp.add(m.placed(waits) == 2)
    cp.add(crossed == 0)
    cp.maximize(moved)
    assert solver.solve(cp) in SOLVED
    assert solver.value(moved) == 7
    places = {c: solver.value(var) for c, var in m.at[waits.index].items()}

    calm = CpSolver()
    assert calm.solve(calmed(m, crossed, solver)) in SOLVED
    assert calm.value(crossed) == 0
    assert {c: calm.value(var) for c, var in m.at[waits.index].items()} == places
    assert calm.value(moved) <= 2
