"""What is said of pods that stay on nodes to be emptied, or that leave these by themselves."""

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


def test_of_pods_that_must_be_close_it_is_said_that_they_leave_together() -> None:
    """They have room elsewhere, all of them, and nobody there refuses them."""
    nodes = [node(name, rack=f"b/{name}") for name in "ab"]
    close = pods(count=2, on=["a", "a"], topologyRequest={"required": "rack"})
    budget = {"name": "pdb", "selector": {"matchLabels": {"job": "g"}}, "disruptionsAllowed": 1}
    together = "stays on a x2: default/g/main, all 2 pods that must be close leave together"
    for budgets, why in (
        ([budget], "disruption budget default/pdb allows 1 of 2"),
        ([], "and no plan was found that moves them where there is room: b"),
    ):
        instance = question(nodes, [job("g", close)], drain=["a"], podDisruptionBudgets=budgets)
        (said,) = drain_words(instance, instance.current)
        assert said.startswith(f"{together}, {why}")
