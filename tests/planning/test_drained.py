"""Pods that terminate leave the nodes to be emptied by themselves: nobody has to move them."""

from __future__ import annotations

from ortools.sat.python import cp_model

from kantopt.cp.model import PlacementModel
from kantopt.planning.drained import drain_words
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import measure
from tests.agreement.test_encoding import fix
from tests.verify.world import job, node, pods, question


def test_what_terminates_is_not_waited_for_and_said() -> None:
    instance = question(
        [node("a"), node("b")],
        [job("going", pods(count=2, on=["a", "a"], terminating=True)), job("r", pods(on=["a"]))],
        objectives=["undrained"],
        drain=["a"],
    )
    (tier,) = tiers_of(instance)
    assert measure(instance, instance.current, [tier]) == (1,)
    model = PlacementModel(instance)
    assert fix(model, instance.current)
    model.cp.minimize(model.expression(tier))
    solver = cp_model.CpSolver()
    assert solver.solve(model.cp) == cp_model.OPTIMAL
    assert solver.objective_value == 1
    assert drain_words(instance, instance.current)[-1] == (
        "leave the nodes to be emptied already: 2 terminating pods"
    )
