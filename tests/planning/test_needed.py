"""Moves that lose their purpose with steps that are cut, and those that are still needed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kantopt.clock import Deadline
from kantopt.planning.defrag import Wish, asked, defragment
from kantopt.planning.document.actions import action_of
from kantopt.planning.document.judge import judge_plan
from kantopt.planning.later.guard import guard
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.problem.actions import Wave, without_leftovers
from kantopt.problem.difference import apply
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.actions import actions_of
from kantopt.schema.answers.plan import Plan
from kantopt.verify.metrics import measure
from kantopt.verify.replay import replay
from tests.planning.changed_clusters import GPU, Document, question_of
from tests.planning.test_guard import cases, filled, guarded, placing_plan


def test_moves_go_that_only_cut_steps_waited_for_or_that_gain_nothing_without_them() -> None:
    gone = 0
    for seed, number in cases():
        today, plan, rest = guarded(seed, number)
        needless = [step.id for step in rest.cut if step.rule == "needless"]
        gone += len(needless)
        actions = {move.id: move for move in plan.moves}
        assert {*needless} <= actions.keys() | {eviction.id for eviction in plan.evictions}
        cut = {step.id for step in rest.cut}
        behind = awaited(plan, cut)
        if plan.goals and not any(goal.gain > 0 for goal in plan.goals):
            assert not needless
            continue
        if plan.goals:
            nodes = {move.from_node for move in plan.moves if move.id in cut}
            behind |= {move.id for move in plan.moves if move.from_node in nodes}
        for move in (each for each in rest.plan.moves if each.id in behind):
            assert needed(today, rest.plan, move.id), (seed, number, move.id)
    assert gone >= 5


def awaited(plan: Plan, cut: set[str]) -> set[str]:
    """Steps in waves for which waves with steps that are cut wait."""
    waves = {wave.id: wave for wave in plan.waves}
    ends = [w for wave in plan.waves if not cut.isdisjoint(wave.actions) for w in wave.after]
    found: set[int] = set()
    while ends:
        wave = waves[ends.pop()]
        found.add(wave.id)
        ends += wave.after
    return {identity for w in found for identity in waves[w].actions}


def needed(question: Question, plan: Plan, identity: str) -> bool:
    """Whether a plan without a step is not legal, or worse."""
    instance = question.instance(plan.model)
    actions = {a: action_of(instance, item) for a, item in actions_of(plan).items()}
    values = []
    for without in ("", identity):
        kept = {w.id: [actions[a] for a in w.actions if a != without] for w in plan.waves}
        waves = [Wave(w.id, w.after, tuple(kept[w.id])) for w in plan.waves]
        if replay(instance, waves)[0]:
            return True
        final = without_leftovers(apply(instance.current, waves), waves)
        values.append(measure(instance, final, tiers_of(instance)))
    return values[1] > values[0]


def test_a_move_goes_if_the_binding_that_it_was_for_is_cut_and_the_others_stay() -> None:
    snapshot, jobs = two_moves()
    plan = placing_plan(snapshot, jobs)
    assert (len(plan.moves), len(plan.assignments), plan.goals) == (2, 2, ())
    snapshot["jobs"].append({**filled("a", 4), "name": "new"})
    today = question_of(snapshot, jobs)
    rest = guard(today, plan, "plan")
    (lost,) = (move.id for move in plan.moves if move.from_node == "a")
    (bound,) = (binding.id for binding in plan.assignments if binding.node == "a")
    assert {step.id: step.rule for step in rest.cut} == {lost: "needless", bound: "capacity"}
    assert [(move.from_node, move.to_node) for move in rest.plan.moves] == [("b", "c")]
    assert [binding.node for binding in rest.plan.assignments] == ["b"]
    assert not judge_plan(replace(today, plan=rest.plan), rest.plan, None, "plan").findings


def test_of_moves_one_after_the_other_the_first_goes_and_the_second_waits_for_it_no_more() -> None:
    snapshot, jobs = two_moves()
    snapshot["podDisruptionBudgets"] = [{"name": "all", "selector": {}, "disruptionsAllowed": 1}]
    plan = placing_plan(snapshot, jobs)
    first = next(each for wave in plan.waves for each in plan.moves if each.id in wave.actions)
    (second,) = (move for move in plan.moves if move is not first)
    assert first.id in awaited(plan, {second.id})
    snapshot["jobs"].append({**filled(first.from_node, 4), "name": "new"})
    rest = guard(question_of(snapshot, jobs), plan, "plan")
    assert [step.rule for step in rest.cut if step.id == first.id] == ["needless"]
    assert len(rest.plan.moves) == len(rest.plan.assignments) == 1


def two_moves() -> tuple[Document, Document]:
    """Two jobs wait for a node each; two pods that nobody may evict have to leave for a third."""
    nodes = [{"name": name, "uid": f"uid-{name}", "allocatable": {GPU: 8}} for name in "abc"]
    running = [filled("c", 4)]
    for name in "ab":
        pod = {"name": f"small-{name}-0", "uid": name}
        place = {"node": name, "pods": [pod]}
        podset = {"count": 1, "requests": {GPU: 2}, "assignments": [place]}
        running.append({"name": f"small-{name}", "preemptible": False, "podSets": [podset]})
    large = [
        {"name": f"large-{i}", "priority": 10, "podSets": [{"count": 1, "requests": {GPU: 8}}]}
        for i in (1, 2)
    ]
    snapshot = {"kind": "ClusterSnapshot", "nodes": nodes, "jobs": running}
    return snapshot, {"kind": "JobList", "jobs": large}


def two_for_two() -> tuple[Document, Document]:
    """Two pods of one job fill a node each, which two pods of a more important job want."""
    nodes = [{"name": name, "allocatable": {GPU: 8}} for name in "ab"]
    places = [{"node": name, "pods": [{"name": f"low-{name}"}]} for name in "ab"]
    runs = {"count": 2, "minCount": 0, "requests": {GPU: 8}, "assignments": places}
    waits = {"count": 2, "minCount": 0, "requests": {GPU: 8}}
    low = {"name": "low", "movable": False, "podSets": [runs]}
    top = {"name": "top", "priority": 1000, "podSets": [waits]}
    snapshot = {"kind": "ClusterSnapshot", "nodes": nodes, "jobs": [low]}
    return snapshot, {"kind": "JobList", "jobs": [top]}


def test_an_eviction_goes_with_the_move_into_its_room_if_what_they_were_for_is_gone() -> None:
    nodes = [{"name": name, "allocatable": {GPU: 8}} for name in "abc"]
    running = [{**filled("a", 4), "name": "stays-a"}, {**filled("b", 2), "name": "stays-b"}]
    for name, node, priority in (("low", "a", 0), ("mid", "b", 500)):
        podset = {**pods(4), "assignments": [{"node": node, "pods": [{"name": name}]}]}
        running.append({"name": name, "priority": priority, "podSets": [podset]})
    six, eight = (
        {"name": f"of-{n}", "priority": 1000, "podSets": [pods(n, uid=f"of-{n}")]} for n in (6, 8)
    )
    snapshot = {"kind": "ClusterSnapshot", "nodes": nodes, "jobs": running}
    plan = placing_plan(snapshot, {"kind": "JobList", "jobs": [six, eight]})
    assert (len(plan.evictions), len(plan.moves), len(plan.assignments)) == (1, 1, 2)
    today = question_of(snapshot, {"kind": "JobList", "jobs": [eight]})
    rest = guard(today, plan, "plan")
    assert sorted(step.rule for step in rest.cut) == ["gone", "needless", "needless"]
    assert [bound.job for bound in rest.plan.assignments] == ["default/of-8"]


def pods(gpus: int, uid: str = "") -> Document:
    named = {"pods": [{"name": f"{uid}-0", "uid": uid}]} if uid else {}
    return {"count": 1, "requests": {GPU: gpus}, **named}


def test_of_two_evictions_of_a_job_only_the_one_without_purpose_is_cut() -> None:
    snapshot, jobs = two_for_two()
    plan = placing_plan(snapshot, jobs)
    assert (len(plan.evictions), len(plan.assignments)) == (2, 2)
    snapshot["nodes"][1]["unschedulable"] = True
    rest = guard(question_of(snapshot, jobs), plan, "plan")
    assert {item.node for item in (*rest.plan.evictions, *rest.plan.assignments)} == {"a"}
    assert {step.rule for step in rest.cut} == {"eligibility", "priority"}


def test_a_job_that_waits_since_makes_another_plan_of_it_with_true_figures() -> None:
    snapshot, jobs = two_for_two()
    plan = placing_plan(snapshot, jobs)
    more = {**jobs["jobs"][0], "name": "newer", "priority": 2000}
    today = question_of(snapshot, {"kind": "JobList", "jobs": [*jobs["jobs"], more]})
    rest = guard(today, plan, "plan")
    assert (rest.cut, rest.done) == ((), ())
    assert [left.job for left in rest.plan.unplaced] == ["default/newer"]
    assert not judge_plan(replace(today, plan=rest.plan), rest.plan, None, "plan").findings


@pytest.mark.parametrize("room", [True, False])
def test_a_move_goes_that_empties_a_node_only_with_one_that_is_cut(*, room: bool) -> None:
    """Alone it gains nothing; where the other can be made still, both are."""
    nodes = [{"name": n, "uid": f"uid-{n}", "allocatable": {GPU: 8}} for n in ("a", "b", "c")]
    running = [{**filled(n, 6), "name": f"fills-{n}"} for n in ("b", "c")]
    for name in ("one", "two"):
        place = {"node": "a", "pods": [{"name": name, "uid": name}]}
        podset = {"count": 1, "requests": {GPU: 2}, "assignments": [place]}
        running.append({"name": name, "podSets": [podset]})
    snapshot = {"kind": "ClusterSnapshot", "nodes": nodes, "jobs": running}
    nobody: Document = {"kind": "JobList", "jobs": []}
    before = question_of(snapshot, nobody)
    wish = Wish(goals=("empty-nodes=+1",))
    options = Options(engine="fast")
    plan = defragment(before, asked(before, wish), options, Deadline.within(20.0)).plan
    assert {move.to_node for move in plan.moves} == {"b", "c"}
    new = {**filled("c", 1), "name": "new"}
    today = question_of({**snapshot, "jobs": [*running, *([] if room else [new])]}, nobody)
    rest = guard(today, plan, "plan")
    assert len(rest.plan.moves) == 2 * room
    assert sorted(step.rule for step in rest.cut) == ([] if room else ["capacity", "needless"])
