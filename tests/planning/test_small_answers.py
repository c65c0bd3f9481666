"""Small questions to which an operator knows the answer, asked of planning as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.planning.solving import together
from kantopt.planning.wanted import model_for
from tests.planning.test_plan import PODS_FIRST, job, node, planned
from tests.questions import model, question


@pytest.mark.parametrize("engine", ["fast", "exact", "auto"])
@pytest.mark.parametrize(("quota", "placed"), [(2, ["default/new"]), (1, [])])
def test_a_queue_above_its_quota_exchanges_a_pod_for_a_more_important_one_that_is_within_it(
    engine: str, quota: int, placed: list[str]
) -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": quota}]}]
    asked = question(
        [node("n", 4)],
        [job("old", 3, "n", queueName="q")],
        [job("new", 2, queueName="q", priority=9)],
        queues=queues,
    )
    result = planned(asked, model(*PODS_FIRST), engine=engine)
    assert [item.job for item in result.plan.assignments] == placed
    assert [item.job for item in result.plan.evictions] == ["default/old"] * len(placed)
    expected = "FEASIBLE" if engine == "fast" and placed else "OPTIMAL"
    assert result.plan.solver.status == expected
    assert result.plan.warnings == ()


def test_a_job_that_may_evict_nobody_and_lacks_gpus_has_provably_no_place_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(together, "SolverProcess", lambda: pytest.fail("the solver was started"))

    def gpus(name: str, count: int, *on: str, **more: Any) -> dict[str, Any]:
        podset = {"count": 1, "requests": {"nvidia.com/gpu": count}}
        places = [{"node": n, "count": 1} for n in on]
        podset |= {"count": len(places) or 1, "assignments": places}
        return {"name": name, "podSets": [podset], **more}

    offers = {"a": 8, "b": 8, "c": 2}
    nodes = [{"name": n, "allocatable": {"nvidia.com/gpu": k}} for n, k in offers.items()]
    asked = question(
        nodes,
        [gpus("victim", 8, "a", "b", priority=10)],
        [gpus("never", 8, priority=50, preemptionPolicy="Never")],
    )
    result = planned(asked, model("unplaced", "evictions"), require=("default/never",))
    assert result.infeasible
    assert result.plan.solver.status == "INFEASIBLE"
    assert [tier.status for tier in result.plan.objectives] == ["OPTIMAL"] * len(result.tiers)


def test_of_a_job_that_runs_with_its_minimum_it_is_said_that_it_is_placed() -> None:
    """``--for`` and ``fit`` have nothing to make room for: ``explain`` asks about the rest."""
    elastic = {"count": 2, "minCount": 1, "requests": {"cpu": 4}, "assignments": [{"node": "a"}]}
    asked = question(
        [node("a", 4), node("b", 4)],
        [{"name": "elastic", "podSets": [elastic]}, job("other", 1, "b")],
        [],
    )
    for wanted in (
        model_for(model("evictions", "moves"), "default/elastic"),
        model({"unplaced": {"unit": "job", "target": 0}}, "moves", pending=["elastic"]),
    ):
        plan = planned(asked, wanted, engine="fast").plan
        assert any("runs with its minimum" in text for text in plan.warnings)
        assert plan.summary.moved_pods == 0
    everybody = planned(asked, model("moves", required=["elastic"]), engine="fast").plan
    assert not any("runs with its minimum" in text for text in everybody.warnings)
