"""Room that is left over of victims' is filled last, and told apart."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.document.judge import judge_plan
from kantopt.planning.explain.run import explain
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question, question_of
from kantopt.planning.solving.options import Options
from kantopt.planning.wanted import model_for
from kantopt.report.actions import action_lines
from kantopt.schema.answers.explanation import Explanation
from kantopt.schema.answers.plan import Plan
from kantopt.schema.base import API_VERSION
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument

GPU = "nvidia.com/gpu"


def asked(nodes: dict[str, int], running: list[Any], pending: list[Any]) -> Question:
    return question_of(
        [
            RawDocument(
                "cluster",
                0,
                {
                    "apiVersion": API_VERSION,
                    "kind": "ClusterSnapshot",
                    "nodes": [
                        {"name": name, "allocatable": {"cpu": 100, "pods": 110, GPU: gpus}}
                        for name, gpus in nodes.items()
                    ],
                    "jobs": running,
                },
            ),
            RawDocument("jobs", 0, {"apiVersion": API_VERSION, "kind": "JobList", "jobs": pending}),
        ]
    )


def job(name: str, priority: int, count: int, gpus: int, *on: str, **more: Any) -> dict[str, Any]:
    podset: dict[str, Any] = {"name": "w", "count": count, "requests": {GPU: gpus}}
    if "minCount" in more:
        podset["minCount"] = more.pop("minCount")
    if on:
        podset["assignments"] = [{"node": node, "count": 1} for node in on]
    return {"name": name, "priority": priority, "podSets": [podset], **more}


def planned(question: Question) -> Plan:
    deadline = Deadline(None, deterministic=True, whole=2.0)
    return make_plan(question, load_model("mixed"), Options(workers=1), deadline).plan


def binds(plan: Plan) -> dict[str, bool]:
    return {item.job.partition("/")[2]: item.leftover for item in plan.assignments}


def findings(question: Question, plan: Plan) -> list[str]:
    verdict = judge_plan(question, plan, None, "the plan")
    return [f"{item.rule}: {item.subject}: {item.message}" for item in verdict.findings]


LEFT = asked(
    {"a": 8},
    [job("victim", 10, 1, 8, "a")],
    [job("wanted", 100, 1, 6), job("small", 10, 1, 2)],
)
"""A victim of 8 GPUs gives way to a job of 6; one of 2 that may not evict it waits as well."""


def test_the_smaller_question_evicts_for_nobody_who_may_not() -> None:
    question = asked(
        {"a": 8, "b": 8, "c": 2},
        [job("victim", 10, 2, 8, "a", "b")],
        [job("small-important", 100, 1, 2), job("never", 50, 1, 8, preemptionPolicy="Never")],
    )
    plan = planned(question)
    assert not plan.evictions
    assert [(item.job, item.node) for item in plan.assignments] == [
        ("default/small-important", "c")
    ]


def test_what_is_left_over_is_filled_after_the_eviction_and_said_to_be() -> None:
    plan = planned(LEFT)
    assert binds(plan) == {"wanted": False, "small": True}
    assert plan.evictions[0].for_job == "default/wanted"
    assert (plan.summary.leftover_pods, plan.summary.leftover_jobs) == (1, 1)
    assert plan.waves[-1].actions == ("b2",)
    assert plan.waves[-1].after == (plan.waves[-2].id,)
    assert findings(LEFT, plan) == []


def test_values_and_bounds_are_those_of_the_question_without_it() -> None:
    plan = planned(LEFT)
    (row,) = (row for row in plan.objectives if row.name == "unplaced[priority=10, milli-GPU]")
    assert (row.value, row.status) == (10_000, "OPTIMAL")
    assert not plan.unplaced


def test_without_victims_nothing_is_left_over() -> None:
    question = asked({"a": 8}, [], [job("wanted", 100, 1, 6), job("small", 10, 1, 2)])
    assert binds(planned(question)) == {"wanted": False, "small": False}


def test_a_gang_is_placed_whole_in_what_is_left_over_or_not_at_all() -> None:
    gang = job("gang", 10, 3, 1, minCount=2)
    question = asked({"a": 8}, [job("victim", 10, 1, 8, "a")], [job("wanted", 100, 1, 6), gang])
    plan = planned(question)
    assert plan.summary.leftover_pods == 2
    assert [(left.job, left.pods) for left in plan.unplaced] == [("default/gang", 1)]
    assert findings(question, plan) == []
    gang = job("gang", 10, 3, 1, minCount=3)
    question = asked({"a": 8}, [job("victim", 10, 1, 8, "a")], [job("wanted", 100, 1, 6), gang])
    assert planned(question).summary.leftover_pods == 0


def test_what_fills_left_over_room_is_illegal_under_another_name() -> None:
    plan = planned(LEFT)
    told = plan.assignments[1].model_copy(update={"leftover": False})
    false = plan.model_copy(update={"assignments": (plan.assignments[0], told)})
    assert any(text.startswith("priority: node a") for text in findings(LEFT, false))


def test_what_fills_left_over_room_waits_for_the_evictions() -> None:
    plan = planned(LEFT)
    early = plan.waves[-1].model_copy(update={"after": ()})
    false = plan.model_copy(update={"waves": (*plan.waves[:-1], early)})
    assert any("without waiting for the evictions of wave 1" in t for t in findings(LEFT, false))


@pytest.mark.parametrize("kept", [True, False])
def test_what_an_eviction_is_for_may_not_be_called_left_over(kept: bool) -> None:
    plan = planned(LEFT)
    first = plan.assignments[0].model_copy(update={"leftover": not kept})
    changed = plan.model_copy(update={"assignments": (first, plan.assignments[1])})
    assert any("no job that starts may evict" in t for t in findings(LEFT, changed)) is not kept


def test_lines_tell_it_apart() -> None:
    assert action_lines(planned(LEFT)).splitlines() == [
        "evict default/victim/w a x1",
        "bind default/wanted/w a x1",
        "fill default/small/w a x1",
    ]


def told(question: Question, name: str) -> Explanation:
    model = load_model("mixed")
    return list(explain(question, model, f"default/{name}", Deadline.within(60)))[-1]


LEFTOVER = (
    "planned together with 1 other pending job it is placed in room that is left over of their "
    "victims (kantopt plan)"
)


def test_an_explanation_knows_who_fills_what_is_left_over() -> None:
    small, wanted = told(LEFT, "small"), told(LEFT, "wanted")
    assert (small.verdict.status, small.leftover, small.notes) == ("WAITS", True, (LEFTOVER,))
    assert (wanted.verdict.status, wanted.leftover) == ("FITS_AFTER_PREEMPTING", False)


def test_an_explanation_knows_who_has_room_alone_but_only_what_is_left_over_beside_others() -> None:
    question = asked(
        {"a": 8, "b": 2},
        [job("victim", 10, 1, 8, "a")],
        [
            job("wanted", 100, 1, 6),
            job("first", 50, 1, 2, preemptionPolicy="Never"),
            job("small", 10, 1, 2),
        ],
    )
    assert binds(planned(question)) == {"wanted": False, "first": False, "small": True}
    small = told(question, "small")
    assert (small.verdict.status, small.leftover) == ("FITS_NOW", True)
    assert "stays pending" not in str(small.notes)


def test_who_has_no_place_alone_is_told_of_what_others_leave_over() -> None:
    model = model_for(load_model("preemption"), "default/small")
    limit = Deadline.within(60)
    result = make_plan(LEFT, model, Options(workers=1), limit, together=load_model("mixed"))
    assert result.infeasible
    assert f"job default/small: {LEFTOVER}" in result.plan.warnings


def test_who_waits_beside_no_victim_is_told_nothing() -> None:
    question = asked({"a": 8}, [job("runs", 100, 1, 8, "a")], [job("x", 10, 1, 2)])
    model = model_for(load_model("preemption"), "default/x")
    limit = Deadline.within(60)
    result = make_plan(question, model, Options(workers=1), limit, together=load_model("mixed"))
    assert result.infeasible
    assert not any("planned together" in warning for warning in result.plan.warnings)
    assert not told(question, "x").leftover


def test_a_job_may_lose_all_pods_of_one_role() -> None:
    roles = [
        {
            "name": role,
            "count": 1,
            "minCount": 0,
            "requests": {GPU: gpus},
            "assignments": [{"node": "a", "count": 1}],
        }
        for role, gpus in (("gives", 6), ("stays", 2))
    ]
    victim = {"name": "victim", "priority": 10, "podSets": roles}
    question = asked({"a": 8}, [victim], [job("wanted", 100, 1, 5), job("small", 10, 1, 1)])
    plan = planned(question)
    assert [(item.pod_set, item.count) for item in plan.evictions] == [("gives", 1)]
    assert binds(plan) == {"wanted": False, "small": True}
    assert findings(question, plan) == []
