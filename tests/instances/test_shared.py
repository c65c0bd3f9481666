"""Online and offline pods on shared GPUs: the offline ones yield, and training stays away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.question import chosen_model, read_question
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.plan import Plan
from kantopt.search.strategy import Strategy

FOLDER = Path(__file__).parents[2] / "instances" / "shared"


def planned(allowed: int = 2, priority: int = 10) -> Plan:
    """Plan with so many offline pods that may go, and their priority."""
    question = read_question(sorted(map(str, FOLDER.glob("*.yaml"))))
    snapshot = question.snapshot
    (budget,) = snapshot.pod_disruption_budgets
    chat, embed = snapshot.jobs
    update = {
        "jobs": (chat, embed.model_copy(update={"priority": priority})),
        "pod_disruption_budgets": (budget.model_copy(update={"disruptions_allowed": allowed}),),
    }
    question = replace(question, snapshot=snapshot.model_copy(update=update))
    options = Options(strategies=(Strategy.E_SPREAD,), workers=1)
    deadline = Deadline.within(10.0)
    plan = make_plan(question, chosen_model(question, None), options, deadline).plan
    assert plan.solver.status == "OPTIMAL"
    return plan


def test_offline_pods_yield_one_on_each_node_and_the_others_work_on() -> None:
    plan = planned()
    victims = [(item.job, item.node, item.count, item.for_job) for item in plan.evictions]
    assert sorted(victims) == [
        ("offline/embed", "inf-1", 1, "serving/chat"),
        ("offline/embed", "inf-2", 1, "serving/chat"),
    ]
    replicas = {item.node for item in plan.assignments if item.job == "serving/chat"}
    assert replicas == {"inf-1", "inf-2"}


def test_training_has_nodes_of_its_own_and_none_of_the_shared_ones() -> None:
    plan = planned()
    assert {i.node for i in plan.assignments if i.job == "research/llm"} == {"train-1", "train-2"}
    left = {item.job: item.message for item in plan.unplaced if item.job == "research/notebook"}
    assert "2 set apart" in left["research/notebook"]


@pytest.mark.parametrize(("allowed", "priority"), [(1, 10), (0, 10), (2, 1000)])
def test_no_more_yield_than_a_budget_bears_and_none_who_is_as_important(
    allowed: int, priority: int
) -> None:
    plan = planned(allowed, priority)
    most = allowed if priority < 1000 else 0
    assert sum(item.count for item in plan.evictions) == most
    placed = sum(item.count for item in plan.assignments if item.job == "serving/chat")
    assert placed == most
