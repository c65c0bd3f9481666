"""Instances with known optima: the planner finds and proves them."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from kantopt.clock import Deadline
from kantopt.planning.certificates.witnesses import Witnesses
from kantopt.planning.document.actions import waves_of
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question, chosen_model, read_question
from kantopt.planning.solving.options import Options
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.plan import Plan
from kantopt.verify.metrics import measure
from kantopt.verify.replay import replay

INSTANCES = Path(__file__).parents[2] / "instances"
GOLDEN = INSTANCES / "golden"
EXPECTED: dict[str, Any] = yaml.safe_load((GOLDEN / "expected.yaml").read_text("utf-8"))
SECONDS = 10.0
"""Far more than any of them needs, so that the clock of a busy machine decides nothing."""


def plan_of(question: Question, *, model: str | None = None) -> Plan:
    deadline = Deadline.within(SECONDS)
    return make_plan(question, chosen_model(question, model), Options(), deadline).plan


def places(question: Question, plan: Plan, job: str, label: str) -> dict[str, int]:
    """Pods of a job after the plan, by the value of a node label."""
    name = f"default/{job}"
    on: Counter[str] = Counter()
    for document in question.snapshot.jobs:
        if document.name == job:
            for assignment in document.pod_sets[0].assignments:
                on[assignment.node] += assignment.count
    for binding in plan.assignments:
        on[binding.node] += binding.count * (binding.job == name)
    for eviction in plan.evictions:
        on[eviction.node] -= eviction.count * (eviction.job == name)
    for move in plan.moves:
        on[move.from_node] -= move.count * (move.job == name)
        on[move.to_node] += move.count * (move.job == name)
    labels = {
        node.name: {"kubernetes.io/hostname": node.name, **node.labels}
        for node in question.snapshot.nodes
    }
    by_value: Counter[str] = Counter()
    for node, pods in on.items():
        by_value[labels[node][label]] += pods
    return {value: pods for value, pods in by_value.items() if pods}


def test_every_golden_instance_has_its_expected_values_and_none_has_more() -> None:
    files = {path.stem for path in GOLDEN.glob("*.yaml")} - {"expected"}
    assert files == EXPECTED.keys()


@cache
def asked_and_planned(name: str) -> tuple[Question, Plan]:
    question = read_question([str(GOLDEN / f"{name}.yaml")])
    return question, plan_of(question)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_known_optimum_is_found_and_proved(name: str) -> None:
    expected = EXPECTED[name]
    question, plan = asked_and_planned(name)
    found = [(tier.name, tier.value) for tier in plan.objectives]
    assert found == list(expected["tiers"].items())
    assert plan.solver.status == "OPTIMAL", plan.objectives
    for job, by_value in expected.get("placement", {}).items():
        assert places(question, plan, job, expected["label"]) == by_value, job


@pytest.mark.parametrize("name", EXPECTED)
def test_arithmetic_alone_proves_it(name: str) -> None:
    question, plan = asked_and_planned(name)
    instance = question.instance(chosen_model(question, None))
    waves, _ = waves_of(instance, plan, name)
    final, tiers = replay(instance, waves)[1], tiers_of(instance)
    values = measure(instance, final, tiers)
    deadline = Deadline.within(10 * SECONDS)
    witnesses = Witnesses(instance, tiers, final, values, deadline)
    witnesses.look(deadline)
    assert [tier.name for i, tier in enumerate(tiers) if not witnesses.closed(i)] == []


@pytest.mark.parametrize(
    "path", sorted((INSTANCES / "infeasible").glob("*.yaml")), ids=lambda path: path.stem
)
def test_a_required_job_without_a_place_is_proved_to_have_none(path: Path) -> None:
    question = read_question([str(path)])
    deadline = Deadline.within(SECONDS)
    result = make_plan(question, chosen_model(question, None), Options(), deadline)
    assert result.infeasible
    assert result.plan.solver.status == "INFEASIBLE"
    assert [(item.job, item.pods) for item in result.plan.unplaced] == [("default/gang", 2)]
