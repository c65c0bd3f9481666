"""What pictures show: every pod once before and once after, by what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.errors import BadDataError
from kantopt.planning.pictures import picture_of
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question, judging_model, read_question
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.picture import Bar, Picture

GOLDEN = Path(__file__).parents[2] / "instances" / "golden"


def golden(name: str) -> Question:
    """A golden instance with our plan for it."""
    question = read_question([str(GOLDEN / f"{name}.yaml")])
    asked = judging_model(question, None)
    plan = make_plan(question, asked, Options(engine="fast"), Deadline.within(10.0)).plan
    return replace(question, plan=plan, model=None)


def drawn(picture: Picture) -> list[tuple[Bar, int]]:
    """Nodes that are drawn, each with the resource by which it is."""
    return [(bar, r) for bar in picture.bars if (r := picture.drawn(bar)) is not None]


def fates(picture: Picture, side: str) -> dict[str, int]:
    """Milli-GPU or milli-CPU by what becomes of them, or on the other side became of them."""
    found: dict[str, int] = {}
    for bar, r in drawn(picture):
        for stay in getattr(bar, side):
            fate = stay.goes if side == "before" else stay.came
            found[fate] = found.get(fate, 0) + stay.count * stay.pods.takes[r]
    return found


@pytest.mark.parametrize(
    ("name", "leaving"),
    [("four-free-gpus-on-three-nodes", "moved"), ("victims-on-one-node", "evicted")],
)
def test_what_leaves_is_gone_or_elsewhere_after(name: str, leaving: str) -> None:
    question = golden(name)
    picture = picture_of(question, judging_model(question, None))
    before, after = fates(picture, "before"), fates(picture, "after")
    assert before[leaving] > 0
    assert before.get("moved") == after.get("moved")
    assert before["stays"] == after["stays"]
    assert after["bound"] > 0
    assert not {"bound"} & before.keys() | {"evicted"} & after.keys()


@pytest.mark.parametrize("name", ["four-free-gpus-on-three-nodes", "gangs-fill-32-nodes-1x32"])
def test_no_node_holds_more_than_it_has(name: str) -> None:
    question = golden(name)
    for bar, r in drawn(picture_of(question, judging_model(question, None))):
        for side in (bar.before, bar.after):
            assert sum(stay.count * stay.pods.takes[r] for stay in side) <= bar.offers[r]


@pytest.mark.parametrize("room", [False, True])
def test_who_is_nominated_to_room_that_others_still_hold_is_shown_as_waiting(*, room: bool) -> None:
    def running(name: str, **more: Any) -> dict[str, Any]:
        place = {"node": "n", "pods": [{"name": name}]}
        podset = {"count": 1, "requests": {"nvidia.com/gpu": 4}, "assignments": [place], **more}
        return {"name": name, "podSets": [podset]}

    question = cluster_of(
        [{"name": "n", "allocatable": {"nvidia.com/gpu": 12 if room else 8}}],
        [running("runs"), running("ends", terminating=True), running("next", nominated=True)],
    )
    picture = picture_of(question, judging_model(question, None))
    (bar,) = picture.bars
    there = {"default/runs", "default/ends"} | ({"default/next"} if room else set())
    assert {stay.pods.job for stay in bar.stays} == there
    assert [(item.job, item.rule) for item in picture.waiting] == (
        [] if room else [("default/next", "nominated")]
    )


def plain(**node: Any) -> Question:
    """A snapshot of one node, and of one that has nothing, read from a document."""
    return cluster_of([{"name": "n", **node}, {"name": "empty", "allocatable": {"memory": "1Gi"}}])


def cluster_of(nodes: Iterable[dict[str, Any]], jobs: Iterable[dict[str, Any]] = ()) -> Question:
    """A snapshot of nodes, and of jobs that run there, read from a document."""
    from kantopt.planning.question import question_of
    from kantopt.schema.raw import RawDocument

    data = {
        "apiVersion": "kantopt/v1alpha1",
        "kind": "ClusterSnapshot",
        "metadata": {"name": "one"},
        "nodes": list(nodes),
        "jobs": list(jobs),
    }
    return question_of([RawDocument("one.yaml", 0, data)])


def test_without_gpus_it_is_the_cores_that_are_drawn() -> None:
    question = plain(allocatable={"cpu": 8})
    picture = picture_of(question, judging_model(question, None))
    assert (picture.accelerators, picture.planned, picture.left_out) == (0, False, 1)
    found = [(bar.name, picture.resources[r], bar.offers[r]) for bar, r in drawn(picture)]
    assert found == [("n", "cpu", 8000)]


def test_cores_of_numa_zones_are_those_of_their_node() -> None:
    question = plain(devices=[{"class": "numa", "count": 2, "capacity": {"cpu": 44}}])
    picture = picture_of(question, judging_model(question, None))
    assert [bar.offers[r] for bar, r in drawn(picture)] == [88_000]


def test_parts_of_gpus_and_devices_to_be_claimed_are_drawn() -> None:
    question = plain(allocatable={"cpu": 8, "nvidia.com/mig-1g.5gb": 7, "example.com/nic": 2})
    picture = picture_of(question, judging_model(question, None))
    assert picture.resources == ("nvidia.com/mig-1g.5gb", "cpu", "example.com/nic", "memory")
    assert [(bar.name, r) for bar, r in drawn(picture)] == [("n", 0)]
    claimed = "deviceclass.resource.kubernetes.io/gpu"
    question = plain(devices=[{"class": claimed, "count": 4, "capacity": {claimed: 1}}])
    picture = picture_of(question, judging_model(question, None))
    assert [(picture.resources[r], bar.offers[r]) for bar, r in drawn(picture)] == [(claimed, 4)]


def test_what_keeps_pods_away_from_a_node_is_said() -> None:
    taints = [
        {"key": "team", "value": "a", "effect": "NoSchedule"},
        {"key": "slow", "effect": "PreferNoSchedule"},
    ]
    question = plain(
        allocatable={"cpu": 8}, ready=False, unschedulable=True, taints=taints, labels={}
    )
    picture = picture_of(question, judging_model(question, None))
    assert {bar.name: bar.marks for bar in picture.bars} == {
        "n": ("not ready", "cordoned", "tainted team=a:NoSchedule"),
        "empty": (),
    }


def test_the_taint_that_all_gpu_nodes_bear_marks_none_of_them() -> None:
    keys = {"a": ["gpus"], "b": ["gpus", "team"], "c": ["gpus"]}
    question = cluster_of(
        {
            "name": name,
            "allocatable": {"nvidia.com/gpu": 8},
            "taints": [{"key": key, "effect": "NoSchedule"} for key in found],
        }
        for name, found in keys.items()
    )
    picture = picture_of(question, judging_model(question, None))
    marks = {bar.name: bar.marks for bar in picture.bars}
    assert marks == {"a": (), "b": ("tainted team:NoSchedule",), "c": ()}


def test_jobs_that_wait_have_the_reason_of_the_plan_or_the_first_one() -> None:
    question = golden("victims-that-would-free-no-node")
    assert question.plan is not None
    model = judging_model(question, None)
    assert picture_of(question, model).waiting == question.plan.unplaced
    asked = picture_of(replace(question, plan=None), model).waiting
    assert {item.job for item in asked} >= {item.job for item in question.plan.unplaced}
    assert all(item.rule and item.message for item in asked)


def test_every_wave_changes_who_is_there() -> None:
    question = golden("victims-and-moves-that-free-a-node")
    picture = picture_of(question, judging_model(question, None))
    stays = [stay for bar in picture.bars for stay in bar.stays]
    assert len(picture.steps) > 1
    for wave in range(1, len(picture.steps) + 1):
        assert any(wave in (stay.since, stay.until) for stay in stays)
    assert all(stay.until is None or stay.since < stay.until for stay in stays)


def test_a_plan_for_another_cluster_is_refused() -> None:
    other = replace(plain(allocatable={"cpu": 8}), plan=golden("victims-on-one-node").plan)
    with pytest.raises(BadDataError):
        picture_of(other, judging_model(other, None))
