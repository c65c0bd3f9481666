"""Goals about nodes count those that can be used, and nothing leaves a node that is not ready."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.errors import BadDataError
from kantopt.planning.defrag import Wish, asked, defragment
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.plan import Plan
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from tests.questions import model, question
from tests.verify.world import job, node, pods, put, values
from tests.verify.world import question as instance_of


def spread_out(*more: dict[str, Any]) -> Question:
    """Three GPU nodes, one that is not ready and one without GPUs, pods on all of them."""
    nodes = [node(f"gpu-{x}", cpu=100, gpu=8, labels={"pool": f"p{x}"}) for x in "abc"]
    nodes += [node("dead", cpu=100, gpu=8, ready=False), node("cpu-a", cpu=100)]
    running = [
        job("j1", pods(count=3, gpu=1, minCount=0, on=["gpu-a", "gpu-a", "gpu-b"])),
        job("j2", pods(count=2, gpu=1, minCount=0, on=["gpu-c", "gpu-c"])),
        job("j3", pods(on=["cpu-a"])),
        job("j4", pods(gpu=1, on=["dead"])),
    ]
    return question([*nodes, *more], running, [])


def tidied(documents: Question, *goals: str) -> Plan:
    wanted = asked(documents, Wish(goals=goals))
    options = Options(workers=1)
    return defragment(documents, wanted, options, Deadline.within(20)).plan


def left(plan: Plan) -> list[str]:
    """Nodes that pods leave, one entry for each pod."""
    return sorted(move.from_node for move in plan.moves for _ in range(move.count))


@pytest.mark.parametrize(
    ("goal", "left_by", "then"),
    [
        ("empty-nodes=+1", [["gpu-b"]], 1),
        ("empty-nodes=+2", [["gpu-b", "gpu-a", "gpu-a"], ["gpu-b", "gpu-c", "gpu-c"]], 2),
        ("empty-nodes=+1,selector=pool=pc", [["gpu-c", "gpu-c"]], 1),
        ("empty-nodes=1,class=nvidia.com/gpu", [["gpu-b"]], 1),
        ("empty-nodes=2,class=cpu", [["cpu-a", "gpu-b"]], 2),
    ],
)
def test_empty_nodes_are_of_those_that_can_be_used(
    goal: str, left_by: list[list[str]], then: int
) -> None:
    plan = tidied(spread_out(), goal)
    assert left(plan) in [sorted(nodes) for nodes in left_by]
    (row,) = plan.goals
    assert (row.before, row.after, row.missed_by) == (0, then, 0)


def test_a_domain_counts_by_its_nodes_that_count() -> None:
    nodes = [
        node("a", cpu=8, gpu=8, rack="x/1"),
        node("b", cpu=8, gpu=8, rack="x/2"),
        node("c", cpu=8, rack="x/2"),
        node("d", cpu=8, rack="x/3"),
    ]
    running = [
        job("on-a", pods(gpu=1, on=["a"])),
        job("on-b", pods(gpu=1, on=["b"])),
        job("on-c", pods(on=["c"])),
        job("on-d", pods(on=["d"])),
    ]
    levels = [{"name": name, "nodeLabel": name} for name in ("block", "rack")]
    documents = question(nodes, running, [], topology={"levels": levels})
    plan = tidied(documents, "empty-domain=rack:1")
    (row,) = plan.goals
    assert (row.before, row.after, row.missed_by) == (0, 1, 0)
    assert [move.job for move in plan.moves] in (["default/on-a"], ["default/on-b"])
    everything = tidied(documents, "empty-domain=rack:2,class=cpu")
    assert everything.goals[0].after == 2
    assert {move.job for move in everything.moves} >= {"default/on-d"}


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("empty-domain=rak:1", 'found "rak"'),
        ("empty-nodes=1,class=nvidia.com/gpus", "did you mean nvidia.com/gpu?"),
        ("empty-nodes=1,selector=poool=pa", "did you mean pool?"),
        ("empty-nodes=1,selector=pool=px", "expected one of pa, pb, pc"),
        ("fragment-rate=cpus:1", "did you mean cpu?"),
        ("fragment-rate=nvidia.com/gpu:1/numa", 'found "numa"'),
        ("fit=nobody", "the name of a pending job"),
    ],
)
def test_a_goal_about_what_is_not_there_is_bad_data(goal: str, message: str) -> None:
    with pytest.raises(BadDataError) as error:
        asked(spread_out(), Wish(goals=(goal,)))
    assert message in str(error.value)
    assert error.value.exit_code == 65


def test_slots_of_what_only_devices_have_are_named_as_such() -> None:
    numa = {"class": "numa", "count": 2, "capacity": {"cpu": 8}}
    nodes = [{"name": "a", "allocatable": {"memory": "8Gi"}, "devices": [numa]}]
    needs = {"class": "numa", "count": 1, "requests": {"cpu": 3}}
    running = [
        job("j", {"count": 1, "devices": [needs], "assignments": [{"node": "a", "devices": [0]}]})
    ]
    with pytest.raises(BadDataError, match="cpu:16/numa: devices offer it, no node by itself"):
        asked(question(nodes, running, []), Wish(goals=("fragment-rate=cpu:16",)))


@pytest.mark.parametrize("goal", ["stranded-gpus=0", "stranded-gpus"])
def test_a_goal_about_gpus_needs_some(goal: str) -> None:
    with pytest.raises(BadDataError, match="none has GPUs"):
        asked(question([node("a")], [job("j", pods(on=["a"]))], []), Wish(goals=(goal,)))


def test_a_model_names_only_what_there_is() -> None:
    for objective, path in (
        ({"nodes_in_use": {"class": "cpus"}}, "objectives[0].nodes_in_use.class"),
        ({"nodes_in_use": {"selector": "pol"}}, "objectives[0].nodes_in_use.selector"),
        ({"fragment_rate": {"resource": "cores", "size": 1}}, "objectives[0].fragment_rate"),
    ):
        with pytest.raises(BadDataError) as error:
            spread_out().instance(model(objective))
        assert path in str(error.value)


def test_of_a_pod_set_that_is_partly_on_a_node_that_is_not_ready_that_part_stays() -> None:
    nodes = [node("a"), node("b"), node("dead", ready=False)]
    running = [job("r", pods(count=2, minCount=0, on=["a", "dead"]))]
    instance = instance_of(nodes, running)
    assert instance.podsets[0].movable
    assert not check(instance, put(instance, {"r": ["b", "dead"]}), [Rule.PINNED])
    (violation,) = check(instance, put(instance, {"r": ["a", "b"]}), [Rule.PINNED])
    assert violation.message == "1 of 0 pods moved off dead (not ready)"
    assert not check(instance, put(instance, {"r": ["a"]}), [Rule.PINNED])
    whole = instance_of(nodes, [job("r", pods(on=["dead"]))])
    assert not whole.podsets[0].movable
    (violation,) = check(whole, put(whole, {"r": ["a"]}), [Rule.PINNED])
    assert violation.message == "1 of 0 pods moved off dead (not ready)"


def test_gpus_of_nodes_that_nobody_can_use_are_not_left_unallocated() -> None:
    nodes = [
        node("a", gpu=8),
        node("dead", gpu=8, ready=False),
        node("shut", gpu=8, unschedulable=True),
    ]
    instance = instance_of(nodes, [job("r", pods(gpu=3, on=["a"]))], objectives=["allocation"])
    assert values(instance) == {"allocation": 5000}
