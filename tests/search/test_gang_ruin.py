"""A few new gangs leave a plan, victims come back, and who is left out is placed anew."""

from __future__ import annotations

import random

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search import gang_ruin
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.technique import Tally
from kantopt.search.gang_ruin import new_gangs, without_gangs
from kantopt.search.portfolio import run_portfolio
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import is_legal
from tests.search.helpers import FOREVER, where
from tests.verify.world import Document, job, node, pods, question

RACK = {"topologyRequest": {"required": "rack"}}
OBJECTIVES = [
    {"each_priority": [{"displaced": {"unit": "gpu"}}, {"unplaced": {"unit": "gpu"}}]},
    "moves",
]


def test_without_a_new_gang_its_victims_are_back_and_those_of_others_are_not() -> None:
    names = ("p0", "p1", "q0", "q1")
    nodes = [node(name, gpu=4, rack=f"x/{name[0]}") for name in names]
    jobs = [
        *(job(f"r-{name}", pods(gpu=4, on=[name]), priority=1) for name in names),
        *(job(name, pods(count=2, gpu=4), priority=9, **RACK) for name in ("one", "other")),
    ]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    full = construct(instance, FOREVER, How(Strategy.BEST_FIT))
    first, second = gangs = new_gangs(instance, full)
    for gone in ([first], [second], gangs):
        left = without_gangs(instance, full, gone)
        assert left is not None
        assert is_legal(instance, left)
        assert new_gangs(instance, left) == [j for j in gangs if j not in gone]
        back = sum(bool(where(instance, left, f"r-{name}")) for name in names)
        assert back == 2 * len(gone)


def test_jobs_of_single_pods_and_those_that_run_in_part_stay() -> None:
    jobs = [
        job("single", pods(gpu=1)),
        job("loose", pods(count=2, gpu=1, minCount=0)),
        job("runs", pods(count=2, minCount=2, gpu=1, on=["a"]), pods("more", gpu=1)),
        job("gang", pods(count=2, gpu=1)),
    ]
    instance = question([node("a", cpu=32, gpu=8)], jobs)
    placed = construct(instance, FOREVER, How(Strategy.BEST_FIT))
    found = [instance.jobs[j].name.split("/")[-1] for j in new_gangs(instance, placed)]
    assert found == ["gang"]


def crowded(seed: int) -> Instance:
    """Four racks of four nodes, nearly full, and seven gangs that each need two or three nodes."""
    rng = random.Random(seed)
    names = [f"{rack}{i}" for rack in "pqrs" for i in range(4)]
    jobs: list[Document] = []
    left = dict.fromkeys(names, 4)
    for rack in "pqrs":
        if rng.randint(0, 1):
            on = rng.sample([name for name in names if name[0] == rack], 2)
            left |= dict.fromkeys(on, 0)
            gang = pods(count=2, gpu=4, on=on)
            jobs.append(
                job(f"g{len(jobs)}", gang, priority=rng.choice((1, 5)), disruptionMode="all")
            )
    for name in names:
        while left[name]:
            gpus = min(left[name], rng.choice((1, 2, 2, 4)))
            left[name] -= gpus
            if rng.random() < 0.93:
                priority = rng.choice((1, 5, 5, 9))
                jobs.append(job(f"r{len(jobs)}", pods(gpu=gpus, on=[name]), priority=priority))
    for k in range(7):
        gang = pods(count=rng.choice((2, 2, 3)), gpu=4)
        jobs.append(job(f"new{k}", gang, priority=rng.choice((5, 9, 9)), **RACK))
    nodes = [node(name, gpu=4, rack=f"x/{name[0]}") for name in names]
    return question(nodes, jobs, objectives=OBJECTIVES)


@pytest.mark.parametrize("seed", [5, 17])
def test_who_took_the_best_nodes_first_leaves_them_where_others_go_then_for_less(seed: int) -> None:
    again, once = values(seed, ()), values(seed, ("ruin-and-recreate",))
    assert again[:-1] < once[:-1]


def test_a_deterministic_run_counts_pods_and_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, asked = crowded(5), list[int]()
    best = Incumbent(instance, tiers_of(instance), instance.current)
    monkeypatch.setattr(gang_ruin, "without_gangs", lambda _, __, gone: asked.append(len(gone)))
    run_portfolio(best, Deadline.within(0.1, deterministic=True), [Strategy.BEST_FIT])
    pods_times_nodes = instance.pods_of(range(len(instance.podsets))) * len(instance.nodes)
    assert 0 < len(asked) == 0.1 * 100_000 // pods_times_nodes


def values(seed: int, without: tuple[str, ...]) -> tuple[int, ...]:
    instance, tally = crowded(seed), Tally(("squeaky-wheel", "reverse-trim", *without))
    best = Incumbent(instance, tiers_of(instance), instance.current, tally=tally)
    run_portfolio(best, FOREVER, [Strategy.BEST_FIT])
    return best.values


def test_a_gang_leaves_the_cheap_place_to_one_that_has_no_other() -> None:
    """First come, ``v`` clears rack a, and ``w`` has to move four pods of c."""
    racks = {"a": ("vw", 1), "b": ("v", 2), "c": ("w", 4)}
    nodes = [
        node(f"{rack}{k}", cpu=4, rack=f"x/{rack}", labels=dict.fromkeys(who, "yes"))
        for rack, (who, _) in racks.items()
        for k in range(2)
    ]
    nodes.append(node("spare", cpu=8, rack="x/spare"))
    running = [
        job(f"r{rack}", pods(count=count, on=[f"{rack}{k % 2}" for k in range(count)]))
        for rack, (_, count) in racks.items()
    ]
    close = {"topologyRequest": {"required": "rack"}}
    gangs = [job(n, pods(count=2, cpu=4, nodeSelector={n: "yes"}, **close)) for n in "vw"]
    objectives = ["unplaced", "evictions", "moves"]
    instance = question(nodes, [*running, *gangs], objectives=objectives)
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, ())
    assert best.values[-1] == 3
