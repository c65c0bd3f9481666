"""What must leave nodes for a job that must be placed, where enough is free of all together."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bounds
from tests.campaign import some
from tests.oracle import best
from tests.verify.world import Document, job, node, pods, question

BY_PODS: Document = {"evictions": {"by": "all", "unit": "pod"}}
EVICTIONS: Document = {"evictions": {"by": "all"}}
ORDERS: tuple[list[Any], ...] = (
    ["evictions", "lost_gpu_seconds", "moves"],
    ["lost_gpu_seconds", "evictions", "moves"],
    ["moves", EVICTIONS, "lost_gpu_seconds"],
    [BY_PODS, {"moves": {"by": "priority"}}, {"lost_gpu_seconds": {"by": "priority"}}],
    ["disruption_cost", "migration_cost", "evictions", "moves"],
    ["evictions", {"disruption_cost": {"by": "priority"}}, "migration_cost"],
)
RACKS = ("x/1", "x/1", "x/2", "x/2")
RACK: Document = {"topologyRequest": {"required": "rack"}}
NODES = [node(name, cpu=9, gpu=4, rack=rack) for name, rack in zip("abcd", RACKS, strict=True)]


RULES = ("eligibility", "capacity", "gang_victims", "pinned", "priority", "devices", "topology")


def began(minutes: int) -> str:
    """When a pod started that loses the work of so many minutes."""
    return f"2026-01-01T00:{60 - minutes:02}:00Z"


def ran(name: str, on: str, minutes: int, gpu: int = 1, **more: Any) -> Document:
    """A job that runs on some nodes and has come so far."""
    role = pods(count=len(on), gpu=gpu, on=list(on), startTime=began(minutes))
    return job(name, role, **{"moveMode": "restart", **more})


def found(instance: Instance) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Bounds and optimum of all tiers."""
    value, _ = best(instance)
    assert value is not None
    return bounds(instance, tiers_of(instance), value), value


def asked(jobs: list[Document], objectives: list[Any] = ORDERS[0], **more: Any) -> Instance:
    """A question about two racks of two nodes of four GPUs, with a new job that is required."""
    more = {"required": ["new"], "nodes": NODES, **more}
    return question(more.pop("nodes"), jobs, objectives=objectives, **more)


def test_whole_nodes_cost_what_runs_on_the_cheapest_of_a_rack() -> None:
    """Each node has three GPUs free; the second rack is cheaper together, the first has the best.

    Nobody is evicted, so as many pods move as have to leave.
    """
    jobs = [ran(name, name, minutes) for name, minutes in zip("abcd", (1, 30, 10, 12), strict=True)]
    jobs.append(job("new", pods(count=2, gpu=4, **RACK)))
    least, value = found(asked(jobs))
    assert least == value
    assert value == (0, 22 * 60, 2)


def test_pods_bound_to_no_rack_come_to_the_cheapest_nodes_of_all() -> None:
    jobs = [ran(name, name, minutes) for name, minutes in zip("abcd", (1, 30, 10, 12), strict=True)]
    jobs.append(job("new", pods(count=2, gpu=4)))
    least, value = found(asked(jobs))
    assert least == value == (0, 11 * 60, 2)


def test_no_pod_gives_more_than_is_missing() -> None:
    """One GPU is missing on either node; who has three of them is lost entirely."""
    nodes = [node(name, cpu=9, gpu=4, labels={"new": "yes"}) for name in "ab"]
    nodes.append(node("c", cpu=9, gpu=3))
    jobs = [ran("wide", "a", 10, gpu=3), ran("dear", "b", 50), ran("beside", "b", 40, gpu=2)]
    jobs.append(job("new", pods(gpu=2, nodeSelector={"new": "yes"})))
    least, value = found(asked(jobs, nodes=nodes))
    assert least == value == (0, 3 * 10 * 60, 1)


def test_a_gang_that_restarts_as_a_whole_is_lost_once_and_entirely() -> None:
    """A pod of it stands on each node: one node is emptied, and both of its pods restart."""
    nodes = [node(name, cpu=9, gpu=4) for name in "ab"] + [node("c", cpu=9, gpu=2)]
    gang = ran("gang", "ab", 10, disruptionMode="all")
    gang["podSets"][0]["minCount"] = 2
    least, value = found(asked([gang, job("new", pods(gpu=4))], nodes=nodes))
    assert least == value == (0, 2 * 10 * 60, 2)


def test_pods_that_move_live_lose_nothing_but_move() -> None:
    jobs = [ran(name, name, 20, moveMode="live") for name in "abcd"]
    jobs.append(job("new", pods(count=2, gpu=4, **RACK)))
    least, value = found(asked(jobs))
    assert least == value == (0, 0, 2)


def test_who_may_not_move_is_evicted() -> None:
    jobs = [ran(name, name, 20, movable=False) for name in "abcd"]
    jobs.append(job("new", pods(count=2, gpu=4, **RACK), priority=9))
    least, value = found(asked(jobs, [BY_PODS, "lost_gpu_seconds", "moves"]))
    assert least == value == (2, 2 * 20 * 60, 0)


@pytest.mark.parametrize(("closed", "moves"), [(True, 4), (False, 2)])
def test_pods_as_large_only_change_places(closed: bool, moves: int) -> None:
    """Whoever has a whole node of the first rack needs one of the second, which others leave.

    Unless there is one that nobody has to leave and that is not cordoned.
    """
    nodes = [*NODES, node("e", cpu=9, gpu=4, rack="x/2", unschedulable=closed)]
    nodes += [node("f", cpu=9, gpu=4, rack="x/2", unschedulable=closed), node("g", cpu=9, gpu=2)]
    jobs = [ran(name, name, 1, gpu=4, movable=True) for name in "ab"]
    jobs += [ran(name, name, 30) for name in "cd"]
    jobs.append(job("new", pods(count=2, gpu=4, nodeSelector={"rack": "1"}, **RACK)))
    least, value = found(asked(jobs, nodes=nodes))
    assert least == value
    assert value[2] == moves


@pytest.mark.parametrize(
    ("goal", "more"),
    [
        ("undrained", {"drain": ["a", "b"]}),
        ({"domains_in_use": {"level": "rack", "target": 1}}, {}),
        ({"nodes_in_use": {"target": 2}}, {}),
    ],
)
def test_who_has_a_whole_node_that_is_emptied_needs_one_that_others_leave(
    goal: Any, more: Document
) -> None:
    """Both nodes of either rack are full of a pod, those elsewhere have one of a GPU each."""
    nodes = [*NODES, *(node(name, cpu=9, gpu=4) for name in "yz"), node("f", cpu=9, gpu=2)]
    jobs = [ran(name, name, 1, gpu=4) for name in "abcd"]
    jobs += [ran(name, name, 30) for name in "yz"]
    limits = {"evictions": 0}
    least, value = found(
        asked(jobs, [goal, "moves"], nodes=nodes, required=[], limits=limits, **more)
    )
    assert least == value


@pytest.mark.parametrize("eligibility", ["required", "off"])
@pytest.mark.parametrize(
    ("goal", "more"),
    [("undrained", {"drain": ["a"]}), ({"nodes_in_use": {"selector": "pool=x"}}, {})],
)
def test_where_no_rule_says_where_pods_may_go_all_nodes_are_open_to_them(
    goal: Any, more: Document, eligibility: str
) -> None:
    """With the rule those of ``b`` make way, without it the pod goes to the empty ``c``."""
    nodes = [
        node("a", gpu=4, labels={"pool": "x", "side": "1"}),
        node("b", gpu=4, labels={"side": "1"}),
        node("c", gpu=4, labels={"side": "2"}),
    ]
    moves = pods(gpu=4, on=["a"], nodeSelector={"side": "1"})
    jobs = [job("r", moves), *(job(f"s{i}", pods(gpu=2, on=["b"])) for i in range(2))]
    rules = {"eligibility": eligibility}
    asked_so = {"nodes": nodes, "required": [], "rules": rules, "limits": {"evictions": 0}, **more}
    least, value = found(asked(jobs, [goal, "moves"], **asked_so))
    assert least == value == (0, 3 if eligibility == "required" else 1)


@pytest.mark.parametrize("kind", ["daemon", "terminating"])
def test_who_may_come_to_an_emptied_node_takes_no_other_place(kind: str) -> None:
    """A daemon that may move, and a pod that ends by itself, go to the node that is emptied."""
    nodes = [node("a", gpu=4, labels={"pool": "x"}), node("b", gpu=4), node("c", gpu=4)]
    jobs = [job("r", pods(gpu=4, on=["a"])), *(job(f"s{i}", pods(gpu=2, on=["c"])) for i in "12")]
    more: Document = {"nodes": nodes, "required": [], "limits": {"evictions": 0}}
    if kind == "daemon":
        jobs.append(job("d", pods(gpu=4, on=["b"]), daemon=True))
        goal: Any = {"nodes_in_use": {"selector": "pool=x"}}
        more["rules"] = {"pinned": "off"}
    else:
        jobs.append(job("d", pods(gpu=4, on=["b"], terminating=True)))
        goal = "undrained"
        more |= {"rules": {"eligibility": "off", "pinned": "off"}, "drain": ["a"]}
    least, value = found(asked(jobs, [goal, "moves"], **more))
    assert value == (0, 2)
    assert least[1] <= 2


def test_without_a_job_that_is_required_nothing_has_to_leave() -> None:
    jobs = [*(ran(name, name, 20) for name in "abcd"), job("new", pods(gpu=4))]
    least, _ = found(asked(jobs, required=[]))
    assert least == (0, 0, 0)


def drawn(seed: int, *, goals: bool = False) -> Instance:
    """A small question with a required job for which pods may have to leave; or with a goal."""
    rng = random.Random(seed)
    rooms = {f"n{i}": [rng.choice((2, 4)), rng.choice((3, 5))] for i in range(3)}
    racks = {name: f"x/{rng.choice('12')}" for name in rooms}
    nodes = [node(name, cpu=cpu, gpu=gpu, rack=racks[name]) for name, (gpu, cpu) in rooms.items()]
    jobs: list[Document] = []
    for k in range(4):
        gpu, cpu = rng.choice((0, 1, 1, 2)), rng.choice((1, 1, 2))
        on = [n for n, (g, c) in rooms.items() if g >= gpu and c >= cpu and rng.random() < 0.5]
        on = on[: rng.choice((1, 1, 2))]
        for name in on:
            rooms[name] = [rooms[name][0] - gpu, rooms[name][1] - cpu]
        if on:
            role = pods(
                count=len(on),
                cpu=cpu,
                gpu=gpu,
                on=on,
                disruptionCost=rng.choice((0, 1, 1, 3)),
                startTime=began(rng.randrange(1, 50)),
            )
            role["requests"]["memory"] = rng.choice(("1Gi", "2Gi"))
            more: Document = {
                "disruptionMode": rng.choice(("single", "all")),
                "moveMode": rng.choice(("restart", "restart", "live")),
                "movable": rng.random() < 0.8,
            }
            jobs.append(job(f"r{k}", role, priority=rng.choice((1, 2)), **more))
    for node_ in nodes:
        node_["allocatable"]["memory"] = "16Gi"
    if rng.random() < 0.3:
        nodes[rng.randrange(3)]["unschedulable"] = True
    close = RACK if rng.random() < 0.5 else {}
    count = rng.choice((1, 2, 2))
    new = pods(count=count, gpu=2, cpu=rng.choice((1, 2)), **close)
    new["minCount"] = rng.choice((1, count))
    there = next((name for name, (gpu, cpu) in rooms.items() if gpu >= 2 <= cpu), None)
    if there and count == 2 and rng.random() < 0.3:
        new["assignments"] = [{"node": there, "count": 1}]
    jobs.append(job("new", new, priority=rng.choice((1, 5))))
    required = ["new"]
    if rng.random() < 0.3:
        jobs.append(job("too", pods(gpu=2), priority=5))
        required.append("too")
    limits: Document = rng.choice(({}, {}, {"evictions": 0}, {"moves": 1}, {"evictions": 1}))
    rules: Document = {rule: "off" for rule in RULES if rng.random() < 0.05}
    more = {"nodes": nodes, "limits": limits, "rules": rules, "required": required}
    if not goals:
        return asked(jobs, ORDERS[seed % len(ORDERS)], **more)
    if rng.random() < 0.3:
        jobs.append(job("agent", pods(count=1, on=["n0"]), daemon=True))
    goal = rng.choice(
        (
            "undrained",
            "nodes_in_use",
            {"nodes_in_use": {"target": rng.randrange(3)}},
            {"domains_in_use": {"level": "rack", "target": rng.randrange(2)}},
            {"unplaced": {"by": "priority", "unit": "job", "target": 0}},
        )
    )
    drain = rng.sample(sorted(rooms), rng.choice((1, 2))) if goal == "undrained" else ()
    more |= {"required": required if rng.random() < 0.2 else [], "drain": drain}
    return asked(jobs, [goal, *ORDERS[seed % len(ORDERS)]], **more)


@pytest.mark.parametrize("goals", [False, True])
@pytest.mark.parametrize("seed", some(range(60)))
def test_no_bound_is_above_what_brute_force_finds(seed: int, goals: bool) -> None:
    instance = drawn(seed, goals=goals)
    value, _ = best(instance)
    if value is not None:
        least = bounds(instance, tiers_of(instance), value)
        assert all(a <= b for a, b in zip(least, value, strict=True)), (least, value)
