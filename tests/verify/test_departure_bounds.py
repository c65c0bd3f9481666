"""Bounds that follow from how many pods can leave their places."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bounds
from tests.oracle import best
from tests.verify.world import GPU, Document, job, node, pods, question

NODES = [node(name, cpu=9, gpu=4) for name in "abc"]


def running() -> list[Document]:
    """Three pods on one node, two on another, one on the third, each with a GPU."""
    return [job(f"r{i}", pods(gpu=1, on=[n])) for i, n in enumerate("aaabbc")]


def found(objective: str | Document, moves: int, *more: Any, **limits: int) -> tuple[int, int]:
    """Bound and optimum of the last tier."""
    instance = question(
        NODES,
        [*running(), *more],
        objectives=[objective],
        limits={"evictions": 0, "moves": moves, **limits},
    )
    value, _ = best(instance)
    assert value is not None
    return bounds(instance, tiers_of(instance), value)[-1], value[-1]


@pytest.mark.parametrize(("moves", "left"), [(0, 3), (1, 2), (2, 2)])
def test_a_node_is_empty_only_once_all_its_pods_have_left(moves: int, left: int) -> None:
    assert found("nodes_in_use", moves) == (left, left)


def test_moves_given_above_count_as_a_limit() -> None:
    instance = question(NODES, running(), objectives=["moves", "nodes_in_use"])
    tiers = tiers_of(instance)
    pinned = question(
        NODES, running(), objectives=["moves", "nodes_in_use"], limits={"evictions": 0}
    )
    assert bounds(pinned, tiers, (1, 3))[-1] == 2
    assert bounds(pinned, tiers, (0, 3))[-1] == 3
    assert bounds(instance, tiers, (0, 3))[-1] == 3, "nobody waits for whom pods could be evicted"
    anybody = question(
        NODES, running(), objectives=["moves", "nodes_in_use"], rules={"priority": "counts"}
    )
    assert bounds(anybody, tiers, (0, 3))[-1] == 0, "all could be evicted"


@pytest.mark.parametrize("rule", [{"job": 0}, {"all": 0}])
def test_pods_of_jobs_that_bear_no_move_stay(rule: dict[str, int]) -> None:
    """A node with one of them stays in use, whatever else may move."""
    jobs = [job(f"r{i}", pods(gpu=1, on=[n]), maxMoves=rule.get("job")) for i, n in enumerate("ab")]
    limits = {"evictions": 0, **({"movesPerJob": 0} if "all" in rule else {})}
    instance = question(NODES, jobs, objectives=["nodes_in_use"], limits=limits)
    assert bounds(instance, tiers_of(instance), (2,)) == (2,)


@pytest.mark.parametrize(("limit", "left"), [(1, 3), (2, 2)])
def test_a_node_with_more_pods_of_a_job_than_it_bears_moves_of_stays_in_use(
    limit: int, left: int
) -> None:
    more = [job(f"k{i}", pods(gpu=1, on=[n])) for i, n in enumerate("bc")]
    jobs = [job("r", pods(count=2, gpu=1, on=["a", "a"]), maxMoves=limit), *more]
    jobs.append(job("s", pods(count=2, gpu=1, on=["c", "c"]), maxMoves=1))
    full = [job(f"f{n}", pods(gpu=k, on=[n]), movable=False) for n, k in (("b", 2),)]
    instance = question(NODES, [*jobs, *full], objectives=["nodes_in_use"], limits={"evictions": 0})
    value, _ = best(instance)
    assert value is not None
    assert bounds(instance, tiers_of(instance), value) == value == (left,)


def test_as_many_nodes_stay_in_use_as_hold_what_must_stay() -> None:
    """Pods of 3 CPUs on nodes of 5, 5, 5 and 6: the last holds two, the others one each."""
    nodes = [node(f"n{k}", cpu=5) for k in range(3)] + [node("wide", cpu=6)]
    jobs = [job(f"r{k}", pods(cpu=3, on=[f"n{k}"])) for k in range(3)]
    jobs.append(job("stays", pods(cpu=3, on=["wide"])))
    instance = question(nodes, jobs, objectives=["nodes_in_use", "moves"])
    value, _ = best(instance)
    assert value == (3, 1)
    assert bounds(instance, tiers_of(instance), value) == (3, 1)


def test_a_node_of_a_pod_that_stays_is_never_empty() -> None:
    nodes = [*NODES, node("d", cpu=9, gpu=4)]
    stays = job("d", pods(on=["d"]), movable=False, preemptible=False)
    instance = question(
        nodes, [*running(), stays], objectives=["nodes_in_use"], rules={"priority": "counts"}
    )
    assert bounds(instance, tiers_of(instance), (9,)) == (1,)


@pytest.mark.parametrize(("moves", "bound"), [(0, 3), (1, 1)])
def test_a_move_changes_two_nodes(moves: int, bound: int) -> None:
    """From 3, 2 and 1 of 4 GPUs one move makes 4, 2 and 0."""
    assert found("fragmented_nodes", moves) == (bound, bound)


@pytest.mark.parametrize("more", [(), (job("whole", pods(gpu=4)),)])
def test_six_gpus_fill_no_nodes_of_four(more: tuple[Document, ...]) -> None:
    """However many pods move, and whether or not one comes that fills a node by itself."""
    assert found("fragmented_nodes", 9, *more) == (1, 1)


@pytest.mark.parametrize(("large", "stranded"), [(4, 2000), (3, 0)])
def test_a_rest_strands_what_it_must_however_it_is_split(large: int, stranded: int) -> None:
    """Six of twelve are free: one node has two of four, or two have three each."""
    mix = [{"requests": {GPU: large}, "count": 1}, {"requests": {GPU: 1}, "count": 2}]
    assert found({"stranded_gpus": {"mix": mix}}, 9) == (stranded, stranded)


@pytest.mark.parametrize(
    ("nodes", "jobs", "limits"),
    [
        ([*NODES[:2], node("c", cpu=9, gpu=3)], [], {}),
        (NODES, [job("two", pods(gpu=2))], {}),
        (
            [*NODES, node("over", cpu=9, gpu=4)],
            [job("o", pods(gpu=6, on=["over"])), job("p", pods(gpu=2, on=["b"]))],
            {},
        ),
        (
            [*NODES, node("shut", cpu=9, gpu=4, unschedulable=True)],
            [job("s", pods(gpu=2, on=["shut"])), job("t", pods(gpu=1, on=["shut"]))],
            {},
        ),
        (NODES, [job("first", pods(gpu=4), priority=9)], {"evictions": None}),
    ],
    ids=["other sizes", "one that waits", "overfull", "on a cordoned node", "evicted"],
)
def test_what_fills_no_nodes_now_may_with_more_or_less(
    nodes: list[Document], jobs: list[Document], limits: dict[str, Any]
) -> None:
    instance = question(
        nodes,
        [*running(), *jobs],
        objectives=["fragmented_nodes"],
        limits={"evictions": 0, "moves": 9, **limits},
    )
    assert bounds(instance, tiers_of(instance), (9,)) == (0,)


def test_a_pod_that_waits_may_change_one_more() -> None:
    assert found("fragmented_nodes", 0, job("j", pods(gpu=1))) == (2, 2)


def test_nodes_where_nobody_may_arrive_hold_nothing_of_what_must_stay() -> None:
    nodes = [node("a"), node("b"), node("shut", cpu=9, unschedulable=True)]
    jobs = [job(name, pods(cpu=3, on=[name])) for name in "ab"]
    for more, left in (({}, 2), ({"unschedulable": False}, 1)):
        asked = [*nodes[:2], {**nodes[2], **more}]
        instance = question(asked, jobs, objectives=["nodes_in_use", "moves"])
        value, _ = best(instance)
        assert value is not None
        assert (bounds(instance, tiers_of(instance), value)[0], value[0]) == (left, left)


@pytest.mark.parametrize(
    ("what", "stay"),
    [
        ({"job": {"maxMoves": 0}}, 2),
        ({"job": {"maxMoves": 1}}, 1),
        ({"set": {"nodeSelector": {"disk": "here"}}}, 2),
        ({"budgets": [0]}, 2),
        ({"budgets": [1]}, 0),
        ({"budgets": [1, 1]}, 2),
        ({"budgets": [0], "job": {"moveMode": "live"}}, 0),
        ({}, 0),
    ],
)
def test_pods_that_nothing_lets_go_stay_on_nodes_to_be_emptied(what: Document, stay: int) -> None:
    """Their job or budgets let no more of them move, or no other node admits them."""
    nodes = [node("a", labels={"disk": "here"}), node("b")]
    there = pods(count=2, on=["a", "a"], minCount=0, **what.get("set", {}))
    jobs = [job("r", there, **what.get("job", {}))]
    budgets = [
        {"name": f"b{i}", "selector": {}, "disruptionsAllowed": allowed}
        for i, allowed in enumerate(what.get("budgets", ()))
    ]
    instance = question(
        nodes, jobs, podDisruptionBudgets=budgets, objectives=["undrained", "moves"], drain=["a"]
    )
    value, _ = best(instance)
    assert value is not None
    assert (bounds(instance, tiers_of(instance), value)[0], value[0]) == (stay, stay)
