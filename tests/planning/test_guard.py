"""Plans guarded: what is left of one on a cluster that has changed, and that it is the most."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.document.actions import action_of
from kantopt.planning.document.judge import judge_plan
from kantopt.planning.later.guard import Guarded, guard
from kantopt.planning.later.still_there import StillThere
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.problem.actions import Wave
from kantopt.problem.cluster import Spot
from kantopt.schema.answers.actions import actions_of
from kantopt.schema.answers.plan import Plan
from kantopt.schema.model import Rule
from kantopt.verify.replay import replay
from tests.generate import random_documents
from tests.planning.changed_clusters import (
    GPU,
    Document,
    changed,
    constructed,
    crowded,
    model,
    named,
    question_of,
    shuffled,
    written_plan,
)

PLACE = model([{"unplaced": {"unit": "gpu"}}, "evictions", "moves"])
TIDY = model(["fragmented_nodes", "moves"])
SEEDS = range(36)
CHANGES = 5
MOST_STEPS = 8
"""Plans up to this long are also cut by trying all that could be left."""


@cache
def planned(seed: int) -> tuple[Document, Document, Plan | None]:
    """A cluster, what is pending, and a plan for it, if one was found."""
    if seed % 3 == 0:
        cluster, pending, asked = random_documents(seed)
        snapshot, jobs = named(cluster, pending)
        return snapshot, jobs, constructed(question_of(snapshot, jobs), asked)
    snapshot, jobs = crowded(seed)
    if seed % 3 == 1:
        return snapshot, jobs, constructed(question_of(snapshot, jobs), PLACE)
    jobs["jobs"] = []
    return snapshot, jobs, shuffled(question_of(snapshot, jobs), TIDY, random.Random(seed))


def steps(plan: Plan) -> list[str]:
    return [identity for wave in plan.waves for identity in wave.actions]


def cases() -> list[tuple[int, int]]:
    """Seeds of plans and numbers of changes."""
    return [(seed, number) for seed in SEEDS if planned(seed)[2] for number in range(CHANGES)]


@cache
def guarded(seed: int, number: int) -> tuple[Question, Plan, Guarded]:
    """A changed cluster, the plan and what is left of it."""
    snapshot, jobs, plan = planned(seed)
    assert plan is not None
    today = question_of(*changed(snapshot, jobs, random.Random(f"{seed} {number}")))
    return today, plan, guard(today, plan, "plan")


def longest(question: Question, plan: Plan) -> int:
    """Length of the longest legal prefix, found by trying all sets of steps.

    Evictions that would only be needless hold nothing up, nor do steps whose pods are no longer
    where they would be taken from.
    """
    known = {f"{job.namespace}/{job.name}" for job in question.jobs}
    required = tuple(name for name in plan.model.required if name in known)
    instance = question.instance(plan.model.model_copy(update={"required": required}))
    there = StillThere(question, plan)
    items = actions_of(plan)
    actions, idle = {}, set()
    for identity in steps(plan):
        item = items[identity]
        missing = there.why_not(instance, item)
        if missing is None:
            actions[identity] = action_of(instance, item)
        elif missing.moot or there.is_done(item):
            idle.add(identity)
    before: dict[int, set[int]] = {}
    needs: dict[str, set[str]] = {}
    for wave in plan.waves:
        before[wave.id] = set(wave.after).union(*(before[w] for w in wave.after))
        wanted = {a for w in plan.waves if w.id in before[wave.id] for a in w.actions}
        needs.update(dict.fromkeys(wave.actions, wanted - idle))

    def rules_broken(chosen: set[str]) -> set[str]:
        waves = [
            Wave(w.id, tuple(sorted(before[w.id])), mine)
            for w in plan.waves
            if (mine := tuple(actions[a] for a in w.actions if a in chosen))
        ]
        ids = {wave.id for wave in waves}
        waves = [replace(w, after=tuple(x for x in w.after if x in ids)) for w in waves]
        return {violation.rule for violation in replay(instance, waves)[0]}

    def needless(a: str, chosen: set[str]) -> bool:
        if a not in actions or actions[a].kind != "evict":
            return False
        return rules_broken(chosen | {a}) <= {Rule.PRIORITY, Rule.REQUIRED}

    for size in range(len(actions), 0, -1):
        for chosen in map(set, combinations(actions, size)):
            missing = set().union(*(needs[a] for a in chosen)) - chosen
            if any(a not in actions or actions[a].kind != "evict" for a in missing):
                continue
            if rules_broken(chosen) <= {Rule.REQUIRED} and all(
                needless(a, chosen) for a in missing
            ):
                return size
    return 0


def test_what_is_left_is_legal_on_the_changed_cluster_and_nothing_is_lost() -> None:
    counts: Counter[str] = Counter()
    for seed, number in cases():
        today, plan, rest = guarded(seed, number)
        left = steps(rest.plan)
        cut = [step.id for step in rest.cut]
        assert sorted([*left, *cut, *rest.done]) == sorted(steps(plan))
        verdict = judge_plan(replace(today, plan=rest.plan), rest.plan, None, "plan")
        assert not verdict.findings, (seed, number, verdict.findings)
        counts["left"] += bool(left)
        counts["cut, some left"] += bool(left and cut)
        counts["done"] += bool(rest.done)
        counts.update({step.rule for step in rest.cut})
    assert counts["cut, some left"] >= 100
    for cause in ("gone", "replaced", "elsewhere", "after", "capacity", "eligibility", "gang"):
        assert counts[cause], cause
    assert counts["done"]


def test_nothing_longer_is_legal() -> None:
    compared = 0
    for seed, number in cases()[::2]:
        today, plan, rest = guarded(seed, number)
        if len(steps(plan)) <= MOST_STEPS:
            needless = sum(step.rule == "needless" for step in rest.cut)
            assert len(steps(rest.plan)) + needless == longest(today, plan), (seed, number)
            compared += bool(rest.cut)
    assert compared >= 15


def test_a_plan_for_the_very_same_snapshot_stays_as_it_is() -> None:
    snapshot, jobs, plan = planned(1)
    assert plan is not None
    rest = guard(question_of(snapshot, jobs), plan, "plan")
    assert rest.plan is plan
    assert not rest.cut


def small(**changes: Any) -> tuple[Document, Document]:
    """Two nodes; a gang of one needs all of the first, where a pod runs that may move."""
    nodes = [
        {"name": name, "uid": f"uid-{name}", "allocatable": {GPU: 8}, **changes.get(name, {})}
        for name in ("a", "b", "c")
        if changes.get(name) != {}
    ]
    pod = {"name": "small-0", "uid": "one", "resourceVersion": "1", **changes.get("pod", {})}
    place = {"node": changes.get("on", "a"), "pods": [pod]}
    podset = {"name": "main", "count": 1, "requests": {GPU: 2}, "assignments": [place]}
    running = [{"name": "small", "priority": 10, "podSets": [podset]}]
    running += changes.get("more", [])
    snapshot = {"kind": "ClusterSnapshot", "nodes": nodes, "jobs": running}
    if changes.get("pod") == {}:
        running.pop(0)
    pods = [{"name": f"large-{i}", "uid": f"large-{i}", "resourceVersion": "1"} for i in (0, 1, 2)]
    waiting = {"name": "main", "count": 3, "requests": {GPU: 8}, "pods": pods[:3]}
    return snapshot, {
        "kind": "JobList",
        "jobs": [{"name": "large", "priority": 1000, "podSets": [waiting]}],
    }


def filled(node: str, gpus: int) -> Document:
    """A job that runs on a node and stays there."""
    podset = {"count": 1, "requests": {GPU: gpus}, "assignments": [{"node": node}]}
    return {"name": "filler", "movable": False, "preemptible": False, "podSets": [podset]}


@cache
def moving_plan() -> Plan:
    """Move the one pod from node a to node b, where another runs; then node a is free."""
    snapshot, _ = small(more=[filled("b", 4)])
    nothing = {"kind": "JobList"}
    question = question_of(snapshot, nothing)
    plan = make_plan(question, TIDY, Options(engine="exact"), Deadline.within(20)).plan
    assert [(move.from_node, move.to_node) for move in plan.moves] == [("a", "b")]
    return plan


@pytest.mark.parametrize(
    ("changes", "rule", "message"),
    [
        ({"pod": {}}, "gone", "pod small-0 is gone"),
        ({"pod": {"uid": "two"}}, "replaced", "pod small-0 is another one, on a: uid two"),
        ({"on": "c"}, "elsewhere", "pod small-0 runs on c"),
        ({"b": {"unschedulable": True}}, "eligibility", "on node b (cordoned)"),
        ({"b": {"ready": False}}, "eligibility", "on node b (not ready)"),
        ({"b": {"uid": "new"}}, "replaced", "node b is another one: uid new, not uid-b"),
        ({"b": {}}, "gone", "node b is gone"),
        ({"more": [filled("b", 7)]}, "capacity", "node b: 9 of 8 nvidia.com/gpu"),
        ({"b": {"allocatable": {GPU: 5}}}, "capacity", "node b: 6 of 5 nvidia.com/gpu"),
    ],
)
def test_each_cause_is_named(changes: Document, rule: str, message: str) -> None:
    plan = moving_plan()
    more = {} if changes.get("b") == {} else {"more": [filled("b", 4)]}
    snapshot, _ = small(**{**more, **changes})
    rest = guard(question_of(snapshot, {"kind": "JobList"}), plan, "plan")
    assert [step.rule for step in rest.cut] == [rule]
    assert message in rest.cut[0].message
    assert steps(rest.plan) == []
    assert rest.plan.metadata.cut_from == plan.metadata.plan_id


def test_a_move_that_has_been_made_is_done_and_no_fault() -> None:
    plan = moving_plan()
    snapshot, _ = small(on="b", more=[filled("b", 4)])
    rest = guard(question_of(snapshot, {"kind": "JobList"}), plan, "plan")
    assert (rest.done, rest.cut) == ((plan.moves[0].id,), ())


@pytest.mark.parametrize(("on", "done"), [("b", True), ("c", False)])
def test_a_pod_that_has_restarted_elsewhere_has_another_name(on: str, done: bool) -> None:
    plan = moving_plan()
    pod = {"name": "small-1", "uid": "two"}
    snapshot, _ = small(on=on, pod=pod, more=[filled("b", 4)])
    rest = guard(question_of(snapshot, {"kind": "JobList"}), plan, "plan")
    assert rest.done == ((plan.moves[0].id,) if done else ())
    said = "pod small-0 is gone; small-1 of its job came to c since"
    assert [step.message for step in rest.cut] == ([] if done else [said])


def test_versions_are_those_of_today() -> None:
    plan = moving_plan()
    snapshot, _ = small(
        pod={"resourceVersion": "2"}, a={"resourceVersion": "9"}, more=[filled("b", 4)]
    )
    rest = guard(question_of(snapshot, {"kind": "JobList"}), plan, "plan")
    assert not rest.cut
    assert [pod.resource_version for pod in rest.plan.moves[0].pods] == ["2"]
    assert {node.name: (node.uid, node.resource_version) for node in rest.plan.nodes} == {
        "a": ("uid-a", "9"),
        "b": ("uid-b", ""),
    }


def test_a_budget_that_is_used_up_cuts() -> None:
    plan = moving_plan()
    snapshot, _ = small(more=[filled("b", 4)])
    budget = {"name": "all", "selector": {}, "disruptionsAllowed": 0}
    today = question_of({**snapshot, "podDisruptionBudgets": [budget]}, {"kind": "JobList"})
    rest = guard(today, plan, "plan")
    assert [step.rule for step in rest.cut] == ["disruption"]


def placing_plan(snapshot: Document, jobs: Document) -> Plan:
    """Place what is pending, whoever has to go for it."""
    plan = constructed(question_of(snapshot, jobs), PLACE)
    assert plan is not None
    return plan


def test_what_waits_for_a_step_that_is_cut_is_cut_too() -> None:
    snapshot, jobs = small()
    plan = placing_plan(snapshot, jobs)
    assert plan.evictions, "there is no room for three whole nodes otherwise"
    evicted = plan.evictions[0].id
    snapshot, jobs = small(pod={"uid": "two"})
    rest = guard(question_of(snapshot, jobs), plan, "plan")
    assert [step.rule for step in rest.cut if step.id == evicted] == ["replaced"]
    others = [step for step in rest.cut if step.id != evicted]
    assert {step.rule for step in others} == {"after"}
    assert others[0].message == f"waits for {evicted} in wave 1"


def test_an_eviction_is_done_when_its_pod_is_gone() -> None:
    snapshot, jobs = small()
    plan = placing_plan(snapshot, jobs)
    snapshot, jobs = small(pod={})
    rest = guard(question_of(snapshot, jobs), plan, "plan")
    assert (rest.done, rest.cut) == ((plan.evictions[0].id,), ())
    assert len(rest.plan.assignments) == 3


def test_pending_pods_that_are_gone_are_not_bound() -> None:
    snapshot, jobs = small()
    plan = placing_plan(snapshot, jobs)
    today = replace(question_of(snapshot, {"kind": "JobList"}), pending=plan.jobs[-1:])
    rest = guard(today, plan, "plan")
    assert {step.rule for step in rest.cut} == {"gone", "priority"}
    assert steps(rest.plan) == []


def swap() -> tuple[Document, Plan]:
    """Two pods that fill a node each and are to change places, live, by way of a third node."""
    nodes = [{"name": name, "uid": f"uid-{name}", "allocatable": {GPU: 8}} for name in "abc"]
    jobs = [_live(name, on) for name, on in (("one", "a"), ("two", "b"))]
    snapshot = {"kind": "ClusterSnapshot", "nodes": nodes, "jobs": jobs}
    question = question_of(snapshot, {"kind": "JobList"})
    instance = question.instance(TIDY)
    changed_places = instance.current.replace({0: {Spot(1): 1}, 1: {Spot(0): 1}})
    plan = written_plan(question, instance, changed_places)
    assert plan is not None
    return snapshot, plan


def _live(name: str, on: str) -> Document:
    place = {"node": on, "pods": [{"name": f"{name}-0", "uid": name}]}
    podset = {"name": "main", "count": 1, "requests": {GPU: 8}, "assignments": [place]}
    return {"name": name, "moveMode": "live", "podSets": [podset]}


def guarded_swap(snapshot: Document, plan: Plan) -> tuple[Guarded, tuple[str, ...]]:
    """Guard it; what is left in words. It is legal, whatever is left."""
    today = question_of(snapshot, {"kind": "JobList"})
    rest = guard(today, plan, "plan")
    assert not judge_plan(replace(today, plan=rest.plan), rest.plan, None, "plan").findings
    moves = {move.id: move for move in rest.plan.moves}
    words = (
        f"{moves[a].pods[0].name} {moves[a].from_node}{moves[a].to_node}"
        + ("!" if moves[a].stopover else "")
        for a in steps(rest.plan)
    )
    return rest, tuple(words)


def test_a_stop_over_goes_on_from_wherever_its_pod_is() -> None:
    snapshot, plan = swap()
    (stop,) = (move for move in plan.moves if move.stopover)
    first = stop.pods[0].name.removesuffix("-0")
    mine = next(job for job in snapshot["jobs"] if job["name"] == first)
    place = mine["podSets"][0]["assignments"][0]
    assert guarded_swap(snapshot, plan)[0].plan is plan
    place["node"] = "c"
    rest, left = guarded_swap(snapshot, plan)
    assert rest.done == (stop.id,)
    assert not rest.cut
    assert len(left) == 2


def test_a_stop_over_whose_pod_cannot_go_on_is_an_ordinary_move() -> None:
    snapshot, plan = swap()
    (stop,) = (move for move in plan.moves if move.stopover)
    (last,) = (m for m in plan.moves if m.pods == stop.pods and not m.stopover)
    node = next(node for node in snapshot["nodes"] if node["name"] == last.to_node)
    node["unschedulable"] = True
    rest, left = guarded_swap(snapshot, plan)
    assert [(step.id, step.rule) for step in rest.cut] == [(last.id, "eligibility")]
    assert left[0] == f"{stop.pods[0].name} {stop.from_node}c"
    assert len(left) == 2
