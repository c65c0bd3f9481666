"""What moves and evictions cost, in one line: GPU time lost, none, or not known."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.report.headline import headline
from kantopt.report.losses import losses_of
from kantopt.schema.answers.plan import Plan
from kantopt.schema.model import Model, Objective
from kantopt.schema.objectives import TotalObjective
from tests.campaign import some
from tests.generate import random_documents
from tests.report.test_terminal import plan_of


def job(name: str, gpus: int = 4, owner: str = "", **more: Any) -> dict[str, Any]:
    requests = {"cpu": 1} | ({"nvidia.com/gpu": gpus} if gpus else {})
    pods = [{"name": f"{name}-{i}", "ownerKind": owner} for i in range(4)]
    places = [{"node": "a", "count": 4, "pods": pods}] if owner else []
    podset = {"count": 4, "requests": requests, "assignments": places}
    return {"name": name, "podSets": [podset], **more}


def taken(name: str, count: int = 1, owner: str = "") -> dict[str, Any]:
    pods = [{"name": f"{name}-{i}", "ownerKind": owner} for i in range(count)] if owner else []
    return {"id": name, "job": f"default/{name}", "podSet": "main", "count": count, "pods": pods}


def evicted(name: str, count: int = 1, owner: str = "") -> dict[str, Any]:
    return {**taken(name, count, owner), "node": "a", "priority": 0}


def moved(name: str, count: int = 1, owner: str = "", **more: Any) -> dict[str, Any]:
    return {**taken(name, count, owner), "fromNode": "a", "toNode": "b", "mode": "restart", **more}


def said(plan: Plan) -> str | None:
    lines = [block.text for block in headline(plan) if "GPU time lost" in block.text]
    assert len(lines) <= 1
    return lines[0] if lines else None


TWO_HOURS = {"startTime": "2026-09-01T01:00:00Z"}


def test_what_is_lost_counts_from_the_start_or_the_last_checkpoint() -> None:
    jobs = [job("x", **TWO_HOURS), job("y", lastCheckpointTime="2026-09-01T02:45:00Z", **TWO_HOURS)]
    plan = plan_of(jobs=jobs, evictions=[evicted("x")], moves=[moved("y", 2)])
    # 4 GPUs of two hours, and twice 4 of a quarter.
    assert said(plan) == "Moved pods restart. GPU time lost: 10h of 3 pods."
    alone = plan_of(jobs=jobs, evictions=[evicted("x")])
    assert said(alone) == "GPU time lost: 8h of 1 pod."


def test_services_lose_nothing_as_the_metric_has_it() -> None:
    jobs = [job("x", **TWO_HOURS), job("web", owner="ReplicaSet", **TWO_HOURS)]
    acts = {"evictions": [evicted("x")], "moves": [moved("web", 2, "ReplicaSet")]}
    line = "Moved pods restart. GPU time lost: 8h of 1 pod, none of 2 pods of services"
    assert said(plan_of(jobs=jobs, **acts)) == f"{line}."


@pytest.mark.parametrize("captured", [True, False])
def test_a_start_that_is_not_known_makes_the_loss_unknown_and_not_0(captured: bool) -> None:
    times = {} if captured else TWO_HOURS
    plan = plan_of(jobs=[job("x", **times)], moves=[moved("x", 3)])
    if not captured:
        snapshot = plan.metadata.snapshot.model_copy(update={"captured_at": None})
        metadata = plan.metadata.model_copy(update={"snapshot": snapshot})
        plan = plan.model_copy(update={"metadata": metadata})
    assert said(plan) == (
        "Moved pods restart. GPU time lost: unknown of 3 pods whose age is not known."
    )


def test_a_pod_counts_once_however_often_it_moves_and_live_ones_lose_nothing() -> None:
    jobs = [job("x", **TWO_HOURS), job("y", **TWO_HOURS)]
    twice = [moved("x", stopover=True), {**moved("x"), "id": "again"}]
    plan = plan_of(jobs=jobs, moves=[*twice, moved("y", mode="live")])
    assert said(plan) == "Moved pods restart. GPU time lost: 8h of 1 pod."
    assert said(plan_of(jobs=jobs, moves=[moved("y", mode="live")])) is None


def test_pods_without_gpus_are_told_beside_others_only() -> None:
    jobs = [job("cpu", gpus=0, **TWO_HOURS), job("x", **TWO_HOURS)]
    both = plan_of(jobs=jobs, evictions=[evicted("cpu", 2), evicted("x")])
    assert said(both) == "GPU time lost: 8h of 1 pod, none of 2 pods without GPUs."
    assert said(plan_of(jobs=jobs, evictions=[evicted("cpu", 2)])) is None
    assert said(plan_of(jobs=jobs)) is None


def test_what_the_line_adds_up_is_what_the_metric_measures() -> None:
    compared, seeds = 0, some(range(60))
    for seed in seeds:
        snapshot, jobs, model = random_documents(seed)
        lost = Objective(lost_gpu_seconds=TotalObjective())
        others = [o for o in model.objectives or () if o.lost_gpu_seconds is None]
        asked: Model = model.model_copy(update={"objectives": (*others, lost), "required": ()})
        question = Question("test.yaml", snapshot, jobs.jobs, None, None, ())
        deadline = Deadline(None, deterministic=True, whole=0.2)
        plan = make_plan(question, asked, Options(engine="fast", workers=1), deadline).plan
        tiers = [tier.value for tier in plan.objectives if tier.metric == "lost_gpu_seconds"]
        found = losses_of(plan)
        assert found.gpu_seconds == sum(tiers), seed
        compared += bool(sum(tiers))
    assert compared >= len(seeds) / 12
