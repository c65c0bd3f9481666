"""CP-SAT on many nodes that are alike: what a step of it must not cost."""

from __future__ import annotations

from typing import Any

import pytest
from ortools.sat.python import cp_model

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import solver_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import measure
from tests.solved import solved
from tests.verify.world import GPU, job, node, placed, pods, question

STAYS = {"preemptible": False, "movable": False}


def many(nodes: int, *objectives: Any, gpus: int = 8) -> Instance:
    """Nodes of 8 GPUs, one of them in part in use, and a gang that waits."""
    waits = job("w", pods(count=4, minCount=4, gpu=gpus))
    jobs = [job("r", pods(gpu=5, on=["n0"]), **STAYS), waits]
    cluster = [node(f"n{i}", cpu=64, gpu=8) for i in range(nodes)]
    return question(cluster, jobs, objectives=["unplaced", *objectives])


def solvers_made(monkeypatch: pytest.MonkeyPatch, module: str) -> list[cp_model.CpSolver]:
    """Return the list that solvers of CP-SAT are added to when a module makes them."""
    made: list[cp_model.CpSolver] = []

    def recorded(*args: Any, **more: Any) -> cp_model.CpSolver:
        made.append(solver_of(*args, **more))
        return made[-1]

    monkeypatch.setattr(f"{module}.solver_of", recorded)
    return made


def test_a_hint_says_what_pods_of_a_mix_fit_without_a_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = solvers_made(monkeypatch, "kantopt.cp.solver")
    mix = [{"requests": {"cpu": k, GPU: gpus}} for k in (1, 4, 16) for gpus in (1, 2, 4, 8)]
    instance = many(40, {"stranded_gpus": {"mix": mix}}, gpus=1)
    placement = placed(instance, w=["n1", "n2", "n3", "n4"])
    tier = tiers_of(instance)[-1]
    model = PlacementModel(instance)
    model.cp.minimize(model.expression(tier))
    model.hint(placement)
    (solver,) = made
    assert solver.objective_value == measure(instance, placement, (tier,))[0]
    assert solver.num_branches == 0
    assert len(model.cp.proto.solution_hint.values) == len(model.cp.proto.variables)


def test_no_node_counts_as_less_than_none_in_part() -> None:
    """Else the least that domains say is minus one for each node, and search starts there."""
    instance = many(40, "fragmented_nodes", gpus=3)
    model = PlacementModel(instance)
    model.cp.minimize(model.expression(tiers_of(instance)[-1]))
    assert min(model.cp.proto.objective.coeffs) > 0


@pytest.mark.parametrize(("nodes", "kept"), [(20, False), (101, True)])
def test_symmetries_of_many_nodes_are_kept_first(
    nodes: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = solvers_made(monkeypatch, "kantopt.cp.solve")
    instance = many(nodes, "fragmented_nodes", gpus=3)
    budget = Budget(Deadline.within(60), workers=2)  # one thread alone breaks none
    assert solved(instance, tiers_of(instance), budget=budget).placement is not None
    assert made[0].parameters.keep_symmetry_in_presolve is kept
