"""What functions say of a question is worked out once, and goes with the question."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import pytest

from kantopt.problem.instance import Instance
from kantopt.problem.kept import kept_with_instance
from kantopt.simulate import planned
from tests.simulate.worlds import job, policy, simulated, snapshot, trace
from tests.verify.world import node, question


def test_results_are_worked_out_once_and_go_with_their_question() -> None:
    asked: list[tuple[str, int]] = []

    @kept_with_instance(most=2)
    def looked(name: str, instance: Instance, number: int = 0) -> list[object]:
        asked.append((name, number))
        return [instance, object()]

    one, other = (question([node("a")], []) for _ in range(2))
    assert looked("x", one, 1) is looked("x", one, 1)
    assert looked("x", other, 1) is not looked("x", one, 1)
    assert looked("y", one) is not looked("x", one, 1)
    assert asked == [("x", 1), ("x", 1), ("y", 0)]
    assert "results" not in vars(pickle.loads(pickle.dumps(one)))
    looked("z", one)  # more than are kept
    looked("x", one, 1)
    assert asked[3:] == [("z", 0), ("x", 1)]
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_a_simulation_does_not_hold_the_questions_of_its_plans(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans: list[weakref.ref[Instance]] = []
    make_plan = planned.make_plan

    def noted(*arguments: Any) -> Any:
        result = make_plan(*arguments)
        plans.append(weakref.ref(result.instance))
        return result

    monkeypatch.setattr(planned, "make_plan", noted)
    planner = {"model": "packing", "engine": "fast", "timeLimit": "1s", "period": "1m"}
    arrivals = [job(f"j{i}", 60 * i, 100, 1 + i % 3) for i in range(60)]
    simulated(snapshot(8, 8), trace(*arrivals), policy(placement={"planner": planner}))
    gc.collect()
    assert len(plans) >= 50
    assert sum(made() is not None for made in plans) <= 40
