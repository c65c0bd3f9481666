"""Plans as Volcano takes them: jobs aborted as a whole, selectors of gated pods."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.errors import UsageError
from kantopt.render.targets import Asked
from kantopt.render.volcano import render
from kantopt.schema.answers.plan import NodeRef, Plan
from kantopt.schema.jobs import Assignment, Job, PodRef, PodSet
from tests.render.plans import bind, draw_plan, evict, make_plan, move
from tests.render.schemas import check, checked_documents, documents

PODS = tuple(PodRef(name=f"x-{i}", uid=f"u{i}") for i in range(2))
GATED = PodRef(name="w-0", uid="77aa", scheduling_gates=("mine",))
JOB = Job(
    name="x-8c5c",
    namespace="team-b",
    uid="8c5c",
    pod_sets=(
        PodSet(
            count=2,
            labels={"volcano.sh/job-name": "x"},
            assignments=(Assignment(node="n1", count=2, pods=PODS),),
        ),
    ),
)


def made(plan: Plan, asked: Asked | None = None) -> list[dict[str, Any]]:
    return checked_documents(render(plan, asked or Asked()).text)


def test_a_job_of_which_all_is_evicted_is_aborted() -> None:
    (command,) = made(make_plan([JOB], [[evict("team-b/x-8c5c", "n1", *PODS)]]))
    assert command["action"] == "AbortJob"
    assert (command["target"]["name"], command["target"]["uid"]) == ("x", "8c5c")
    assert command["metadata"]["namespace"] == "team-b"
    assert command["metadata"]["ownerReferences"] == [command["target"]]


def test_some_pods_of_a_job_are_left_to_the_reader() -> None:
    text = render(make_plan([JOB], [[evict("team-b/x-8c5c", "n1", PODS[0])]]), Asked()).text
    assert not documents(text)
    assert "0 of 1 evictions" in text


def test_what_is_no_job_of_volcano_is_not_aborted() -> None:
    bare = JOB.pod_sets[0].model_copy(update={"labels": {}})
    for changed in ({"uid": ""}, {"pod_sets": (bare,)}):
        plan = make_plan([JOB.model_copy(update=changed)], [[evict("team-b/x-8c5c", "n1", *PODS)]])
        assert not documents(render(plan, Asked()).text)


def test_a_gated_pod_is_given_its_node_and_keeps_its_gate() -> None:
    text = render(make_plan([], [[bind("team-a/w", "n2", GATED)]]), Asked()).text
    (pod,) = documents(text)
    check(pod)
    assert pod["metadata"] == {"name": "w-0", "namespace": "team-a", "uid": "77aa"}
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "n2"}
    assert "keeps its gates: mine" in text


def test_a_node_is_named_by_its_label_which_may_be_another_name() -> None:
    plan = make_plan([], [[bind("team-a/w", "n2", GATED)]])
    node = NodeRef(name="n2", uid="u2", hostname="ip-10-0-0-2")
    (pod,) = made(plan.model_copy(update={"nodes": (node,)}))
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "ip-10-0-0-2"}
    bare = plan.model_copy(update={"nodes": (node.model_copy(update={"hostname": ""}),)})
    text = render(bare, Asked()).text
    assert not documents(text)
    assert "n2 has no label kubernetes.io/hostname" in " ".join(text.replace("#", "").split())


def test_pods_without_gate_and_moves_are_left_to_the_reader() -> None:
    actions = [bind("team-a/w", "n2", PODS[0]), move("team-b/x-8c5c", "n1", "n3", PODS[1])]
    text = render(make_plan([JOB], [actions]), Asked()).text
    assert not documents(text)
    assert "2 left to you" in text


def test_evictions_for_what_cannot_be_bound_are_refused_unless_wanted() -> None:
    victim = evict("team-b/x-8c5c", "n1", *PODS, heir="team-a/w")
    plan = make_plan([JOB], [[victim], [bind("team-a/w", "n1", PODS[0])]])
    with pytest.raises(UsageError, match="--to volcano: found 2 pods"):
        render(plan, Asked())
    assert len(made(plan, Asked(evict_anyway=True))) == 1


@pytest.mark.parametrize("seed", range(30))
def test_random_plans_fit_the_schemas(seed: int) -> None:
    rng = random.Random(f"volcano {seed}")
    plan = draw_plan(rng, lambda: f"{rng.choice('abc')}{rng.randint(0, 99)}")
    found = made(plan, Asked(evict_anyway=True))
    gated = [pod for item in plan.assignments for pod in item.pods if pod.scheduling_gates]
    pinned = [item["metadata"]["name"] for item in found if item["kind"] == "Pod"]
    assert sorted(pinned) == sorted(pod.name for pod in gated)
