"""Who leaves a node and comes back has stayed: no arrival, which might evict others."""

from __future__ import annotations

import pytest
from ortools.sat.python import cp_model

from kantopt.cp.model import PlacementModel
from tests.verify.world import Document, job, node, pods, question


def may_return(on: list[str], **more: Document | str) -> bool:
    """Whether a pod of a job on node a may leave it in the model, and one arrive there."""
    running = job("r", pods(count=len(on), cpu=1, on=on), **more)
    instance = question([node(n, cpu=9) for n in "ab"], [running])
    model = PlacementModel(instance)
    stay, arrive = model.variables.stay[0], model.variables.arrive[0]
    if 0 not in arrive:
        return False
    (there,) = (var for spot, var in stay.items() if spot.node == 0)
    model.cp.add(there == on.count("a") - 1)
    model.cp.add(arrive[0] == 1)
    return cp_model.CpSolver().solve(model.cp) in (cp_model.OPTIMAL, cp_model.FEASIBLE)


@pytest.mark.parametrize("on", [["a"], ["a", "b"], ["a", "a"], ["a", "a", "b"]], ids=" ".join)
def test_who_leaves_a_node_does_not_arrive_there(on: list[str]) -> None:
    assert not may_return(on)


def test_all_pods_arrive_of_a_job_that_restarts_together() -> None:
    assert may_return(["a", "b"], disruptionMode="all", moveMode="restart")
