"""Evictions as EvictionRequests: who is asked for, who is not, and how to take it back."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.errors import UsageError
from kantopt.render.eviction_requests import render
from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import Plan
from kantopt.schema.jobs import Job, PodRef, PodSet
from tests.render.hostile import harmless
from tests.render.plans import bind, draw_plan, evict, make_plan, move
from tests.render.schemas import checked_documents, documents

POD = PodRef(name="x-0", uid="8c5c1d1e-0000-4000-8000-000000000001")
JOB = Job(name="x", namespace="team-b", pod_sets=(PodSet(count=1),))


def made(plan: Plan, asked: Asked | None = None) -> list[dict[str, Any]]:
    return checked_documents(render(plan, asked or Asked()).text)


def test_a_victim_is_asked_for_by_uid() -> None:
    (request,) = made(make_plan([JOB], [[evict("team-b/x", "n1", POD)]]))
    assert request["metadata"]["namespace"] == "team-b"
    assert request["spec"] == {
        "target": {"pod": {"name": "x-0", "uid": POD.uid}},
        "requester": "kantopt/plan",
        "intent": "Eviction",
    }


def test_a_pod_without_uid_is_left_to_the_reader() -> None:
    plan = make_plan([JOB], [[evict("team-b/x", "n1", PodRef(name="x-0"))]])
    rendered = render(plan, Asked())
    assert not documents(rendered.text)
    assert "the plan does not have its uid" in rendered.text
    assert rendered.notes == (
        "For eviction-requests, counted in pods: 0 of 1 evictions. "
        "1 left to you, at the word Advice.",
    )


def test_evictions_for_pods_that_it_cannot_bind_are_refused() -> None:
    plan = make_plan([JOB], [[evict("team-b/x", "n1", POD)], [bind("team-a/y", "n1", POD)]])
    with pytest.raises(UsageError, match=r"for jobs that it cannot bind \(team-a/y\)"):
        render(plan, Asked())
    assert len(made(plan, Asked(evict_anyway=True))) == 1


def test_pods_that_restart_are_asked_for_only_if_that_is_wanted_and_once() -> None:
    legs = [[move("team-b/x", "n1", "n2", POD)], [move("team-b/x", "n2", "n3", POD)]]
    plan = make_plan([JOB], legs)
    assert not made(plan)
    (request,) = made(plan, Asked(evict_anyway=True))
    assert request["metadata"]["labels"]["kantopt/wave"] == "1"


def test_drawn_plans_are_requests_as_the_published_schema_has_them() -> None:
    seen = 0
    for seed in range(40):
        rng = random.Random(f"requests {seed}")
        seen += len(made(draw_plan(rng, harmless(rng)), Asked(evict_anyway=True)))
    assert seen
