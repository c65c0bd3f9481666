"""Victims that are queued again, and whom they push out in turn."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.derived.aftermath import after_plan
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.answers.cascade import Cascade, CascadeRound, Pushed
from kantopt.search.cascade import cascade
from kantopt.verify.rules import check, check_standing
from kantopt.verify.step import Step
from kantopt.verify.victims.ending import Bears
from tests.generate import random_instance
from tests.oracle import best
from tests.search.helpers import FOREVER
from tests.verify.world import Document, job, node, pods, put, question

NODES = [node(name, cpu=2) for name in "abc"]


def running(name: str, on: str, priority: int, **more: Any) -> Document:
    return job(name, pods(cpu=2, on=[on], **more), priority=priority)


def tied(name: str, to: str, priority: int) -> Document:
    """A pending job that fits on one node only."""
    affinity = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [to]}]}]
    return job(name, pods(cpu=2, nodeAffinity=affinity), priority=priority)


def pushed(name: str, priority: int) -> Pushed:
    """One pod, for mid."""
    return Pushed(job=name, priority=priority, pods=1, for_job="default/mid")


ALL = Bears()


def follow(
    instance: Instance,
    deadline: Deadline = FOREVER,
    bears: Bears = ALL,
    **where: Any,
) -> Cascade:
    placement = put(instance, where)
    assert check(instance, placement) == []
    found = cascade(instance, placement, deadline, bears)
    assert found is not None
    return found


def test_a_victim_that_finds_no_lesser_one_pushes_nobody_out() -> None:
    instance = question(NODES[:1], [running("low", "a", 1), tied("top", "a", 9)])
    found = follow(instance, low=[], top=["a"])
    assert found == Cascade(
        depth=0, complete=True, rounds=(CascadeRound(returned_pods=0, waiting_pods=1),)
    )


def test_each_victim_takes_the_place_of_a_lesser_one() -> None:
    jobs = [running("mid", "a", 5), running("low", "b", 3), running("least", "c", 1)]
    instance = question(NODES, [*jobs, tied("top", "a", 9)])
    found = follow(instance, mid=[], top=["a"])
    assert [each.evicted for each in found.rounds] == [
        (pushed("default/least", 1),),
        (),
    ]
    assert [(each.returned_pods, each.waiting_pods) for each in found.rounds] == [(1, 0), (0, 1)]
    assert found.depth == 1
    assert found.complete


def test_it_goes_on_for_as_long_as_somebody_is_pushed_out() -> None:
    """mid may only go to b, low only to c: one after the other they move up."""
    tie = {"nodeSelector": {"kubernetes.io/hostname": "b"}}
    other = {"nodeSelector": {"kubernetes.io/hostname": "c"}}
    jobs = [
        running("mid", "a", 5, **tie),
        running("low", "b", 3, **other),
        running("least", "c", 1),
        tied("top", "a", 9),
    ]
    instance = question(NODES, jobs)
    found = follow(instance, mid=[], top=["a"])
    assert [[pushed.job for pushed in each.evicted] for each in found.rounds] == [
        ["default/low"],
        ["default/least"],
        [],
    ]
    assert found.depth == 2


def test_what_earlier_rounds_ended_of_a_job_counts_in_later_ones() -> None:
    """The plan takes one pod of many, and mid, which may only go to b, another one."""
    tie = {"nodeSelector": {"kubernetes.io/hostname": "b"}}
    jobs = [
        running("mid", "c", 5, **tie),
        job("many", pods(cpu=2, count=2, minCount=0, on=["a", "b"]), priority=3),
        tied("top", "a", 9),
        tied("peak", "c", 9),
    ]
    instance = question(NODES, jobs)
    for most, waiting in ((0, [0, 0]), (1, [1, 0]), (2, [1, 2])):
        found = follow(
            instance, bears=Bears({"default/many": most}), mid=[], many=["b"], top=["a"], peak=["c"]
        )
        assert found.rounds[0].evicted == (pushed("default/many", 3),)
        assert [each.waiting_pods for each in found.rounds] == waiting
        assert found.complete


def test_without_victims_there_is_nothing_to_follow() -> None:
    instance = question(NODES, [running("low", "a", 1), tied("top", "b", 9)])
    assert cascade(instance, put(instance, {"low": ["a"], "top": ["b"]}), FOREVER, ALL) is None


def test_what_time_cuts_short_is_not_complete() -> None:
    jobs = [running("mid", "a", 5), running("low", "b", 3), tied("top", "a", 9)]
    instance = question(NODES[:2], jobs)
    found = follow(instance, Deadline(0.0), mid=[], top=["a"])
    assert found == Cascade(depth=0, complete=False)


def test_a_budget_has_less_left_for_whom_the_victims_would_push_out() -> None:
    selector = {"matchLabels": {"team": "x"}}
    budget = {"name": "pdb", "selector": selector, "disruptionsAllowed": 1}
    jobs = [
        running("mid", "a", 5, labels={"team": "x"}),
        running("low", "b", 3, labels={"team": "x"}),
        tied("top", "a", 9),
    ]
    instance = question(NODES[:2], jobs, podDisruptionBudgets=[budget])
    assert follow(instance, mid=[], top=["a"]).depth == 0
    assert follow(question(NODES[:2], jobs), mid=[], top=["a"]).depth == 1


def test_the_question_that_comes_after_a_plan_is_sound() -> None:
    """It stands as the plan left it, with as many pods; only victims wait."""
    seen = 0
    for seed in range(40):
        instance = random_instance(seed)
        _, placement = best(instance)
        if placement is None:
            continue
        after = after_plan(instance, placement)
        seen += _evicted(instance, placement) > 0
        assert sum(_placed(placement)) == sum(_placed(after.current))
        waiting = {after.job_of(p.index).name for p in after.podsets if not p.running}
        assert waiting == {
            instance.job_of(p.index).name
            for p in instance.podsets
            if p.running and placement.placed(p.index) < p.count
        }
        standing = {v.rule for v in check_standing(instance)}
        assert {v.rule for v in check_standing(after)} <= standing, seed
        found = cascade(instance, placement, FOREVER, ALL)
        assert found is None or found.complete
        assert (found is None) == (not waiting)
    assert seen >= 5


def _placed(placement: Placement) -> list[int]:
    return [sum(spots.values()) for spots in placement.podsets]


def _evicted(instance: Instance, placement: Placement) -> int:
    return sum(p.count - placement.placed(p.index) for p in instance.podsets if p.running)


def test_a_role_of_which_no_pod_runs_is_nobody_to_push_out() -> None:
    """What the plan leaves pending of an elastic job had its turn: the job goes on without it."""
    close = {"topologyRequest": {"preferred": "rack"}}
    roles = (pods("waits", cpu=4, minCount=0, **close), pods("runs", on=["b"], **close))
    jobs = [running("low", "a", 1), job("elastic", *roles, priority=1), tied("top", "a", 9)]
    instance = question(NODES, jobs)
    after = after_plan(instance, put(instance, {"low": [], "top": ["a"]}))
    (elastic,) = (job for job in after.jobs if job.name == "default/elastic")
    assert [role.name for role in elastic.roles] == ["runs"]
    assert [(need.job, need.roles) for need in after.topology_needs] == [(elastic.index, (0,))]
    assert [after.podsets[s].role for s in elastic.podsets] == [0]
    assert follow(instance, low=[], top=["a"]).rounds[0].returned_pods == 1


def test_victims_that_nobody_makes_anew_push_nobody_out() -> None:
    jobs = [running("least", "a", 1), running("low", "b", 2), tied("top", "b", 9)]
    instance = question(NODES[:2], [*jobs])
    placement = put(instance, {"low": [], "top": ["b"]})
    assert cascade(instance, placement, FOREVER, Bears({"default/low": 0})) is None
    found = cascade(instance, placement, FOREVER, Bears({"default/low": 1}))
    assert found is not None
    assert [[pushed.job for pushed in each.evicted] for each in found.rounds] == [
        ["default/least"],
        [],
    ]
    found = cascade(instance, placement, FOREVER, Bears({"default/least": 0}))
    assert found is not None
    assert [len(each.evicted) for each in found.rounds] == [1, 0]


def test_pods_that_go_are_looked_for_once_however_many_jobs_bear_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look, looks = Step._more, []

    def counted(step: Step, fewer: Placement, more: Placement) -> Any:
        looks.append(step)
        return look(step, fewer, more)

    monkeypatch.setattr(Step, "_more", counted)
    found = []
    for count in (2, 12):
        names = [f"n{i}" for i in range(count)]
        jobs = [running(f"low-{name}", name, 1) for name in names]
        instance = question([node(name, cpu=2) for name in names], [*jobs, tied("top", "n0", 9)])
        looks.clear()
        bears = Bears({f"default/low-{name}": 6 for name in names})
        placement = put(instance, {"low-n0": [], "top": ["n0"]})
        assert cascade(instance, placement, FOREVER, bears) is not None
        found.append(len(looks))
    assert found[0] == found[1]
