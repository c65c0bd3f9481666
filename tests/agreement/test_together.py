"""Jobs that go together, moved as one: brute force, the exact search and the fast path agree."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.difference import restarted
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.order.sequence import sequence
from kantopt.search.portfolio import run_portfolio
from kantopt.search.tidy.improve import tidy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.oracle import best
from tests.solved import solved
from tests.verify.world import Document, job, node, pods, question

SEEDS = 240
WAITING = 160
BLOCKS = 8


def drained_question(seed: int) -> Instance:
    """A node to be emptied, or nodes to be freed, of jobs of which most go together."""
    rng = random.Random(seed)
    names = "abcd"[: rng.randint(3, 4)]
    nodes: list[Document] = [node(n, cpu=rng.randint(3, 6), rack=f"x/{n < 'c'}") for n in names]
    room = {n["name"]: n["allocatable"]["cpu"] for n in nodes}
    jobs: list[Document] = []
    for k in range(rng.randint(1, 3)):
        roles: list[Document] = []
        for role in range(rng.randint(1, 2)):
            cpu, on = rng.randint(1, 3), list[str]()
            for _ in range(rng.randint(1, 2)):
                free = [n for n in names if room[n] >= cpu]
                if free:
                    on.append(rng.choice(free))
                    room[on[-1]] -= cpu
            if on:
                close: dict[str, Any] = {}
                if rng.random() < 0.2 and len({n < "c" for n in on}) == 1:
                    close = {"topologyRequest": {"required": "rack"}}
                roles.append(pods(f"p{role}", count=len(on), minCount=0, cpu=cpu, on=on, **close))
        mode = "all" if rng.random() < 0.8 else "single"
        more: dict[str, Any] = {"maxMoves": rng.randint(1, 3)} if rng.random() < 0.1 else {}
        if roles:
            jobs.append(job(f"j{k}", *roles, disruptionMode=mode, priority=k, **more))
    budgets = [
        {"name": "b", "selector": {"matchLabels": {"job": "j0"}}, "disruptionsAllowed": 2}
    ] * (rng.random() < 0.3)
    if rng.random() < 0.3:
        jobs.append(job("new", pods(cpu=rng.randint(2, 4)), priority=9))
    goal = rng.choice(("undrained", "nodes_in_use"))
    cordoned = rng.choice(names) if rng.random() < 0.2 else ""
    for each in nodes:
        each["unschedulable"] = each["name"] == cordoned
    return question(
        nodes,
        jobs,
        objectives=["unplaced", goal, "disruption_cost", "moves"],
        limits={"moves": rng.randint(2, 4)} if rng.random() < 0.3 else {},
        podDisruptionBudgets=budgets,
        drain=["a"] if goal == "undrained" else [],
    )


def tidied(instance: Instance) -> list[Placement]:
    found = [instance.current]

    def take(placement: Placement) -> bool:
        legal = not check(instance, placement)
        if legal:
            found.append(placement)
        return legal

    tidy(instance, instance.current, tiers_of(instance), Deadline(None), 0, take)
    return found


def proves_what_is_best(seed: int, instance: Instance) -> None:
    """The exact search finds and proves what brute force finds."""
    tiers = tiers_of(instance)
    expected, _ = best(instance)
    outcome = solved(instance, tiers)
    assert outcome.placement is not None
    assert not check(instance, outcome.placement), f"seed {seed}"
    assert measure(instance, outcome.placement, tiers) == expected, f"seed {seed}"
    assert outcome.bounds == expected, f"seed {seed}"


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_the_exact_search_proves_what_brute_force_finds(block: int) -> None:
    for seed in range(block, SEEDS, BLOCKS):
        proves_what_is_best(seed, drained_question(seed))


def test_the_fast_path_moves_them_whole_and_mostly_as_well_as_can_be() -> None:
    asked = reached = ordered = moved = 0
    for seed in range(SEEDS):
        instance = drained_question(seed)
        goal = (tiers_of(instance)[-3],)
        found = min(tidied(instance), key=lambda p: measure(instance, p, goal))
        least = solved(instance, goal)
        assert least.placement is not None
        before = measure(instance, instance.current, goal)
        if least.bounds < before:
            asked += 1
            reached += measure(instance, found, goal) == least.bounds
        moved += found is not instance.current
        ordered += found is not instance.current and sequence(instance, found) is not None
    assert ordered == moved
    assert reached >= 0.7 * asked > 0


def waiting_question(seed: int) -> Instance:
    """Jobs that wait for room, beside running ones of which most go together."""
    rng = random.Random(seed)
    names = "abcd"[: rng.randint(3, 4)]
    nodes: list[Document] = [node(n, cpu=rng.randint(3, 6)) for n in names]
    room = {n["name"]: n["allocatable"]["cpu"] for n in nodes}
    jobs: list[Document] = []
    for k in range(rng.randint(1, 3)):
        roles: list[Document] = []
        for role in range(rng.randint(1, 2)):
            cpu, on = rng.randint(1, 3), list[str]()
            for _ in range(rng.randint(1, 2)):
                free = [n for n in names if room[n] >= cpu]
                if free:
                    on.append(rng.choice(free))
                    room[on[-1]] -= cpu
            if on:
                roles.append(pods(f"p{role}", count=len(on), minCount=0, cpu=cpu, on=on))
        mode = "all" if rng.random() < 0.8 else "single"
        if roles:
            more = {"priority": rng.choice((0, 1, 9)), "preemptible": rng.random() < 0.5}
            jobs.append(job(f"j{k}", *roles, disruptionMode=mode, **more))
    for k in range(rng.randint(1, 2)):
        count = rng.randint(1, 2)
        new = pods(count=count, minCount=count, cpu=rng.randint(2, 6))
        jobs.append(job(f"new{k}", new, priority=rng.choice((1, 9))))
    return question(
        nodes,
        jobs,
        objectives=["unplaced", "displaced", "evictions", "disruption_cost", "moves"],
        limits={"moves": rng.randint(2, 5)} if rng.random() < 0.3 else {},
    )


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_for_jobs_that_wait_the_exact_search_proves_what_brute_force_finds(block: int) -> None:
    for seed in range(block, WAITING, BLOCKS):
        proves_what_is_best(seed, waiting_question(seed))


def test_the_fast_path_moves_them_whole_for_a_job_that_waits() -> None:
    asked = reached = ordered = moved = 0
    for seed in range(WAITING):
        instance = waiting_question(seed)
        tiers = tiers_of(instance)
        expected, plan = best(instance)
        assert plan is not None
        incumbent = Incumbent(instance, tiers, instance.current)
        run_portfolio(incumbent, Deadline(None), ())
        found = incumbent.placement
        assert not check(instance, found), f"seed {seed}"
        whole = bool(restarted(instance, instance.current, plan))
        asked += whole
        reached += whole and measure(instance, found, tiers) == expected
        if restarted(instance, instance.current, found):
            moved += 1
            ordered += sequence(instance, found) is not None
    assert asked >= 15
    assert reached >= 0.6 * asked
    assert ordered == moved
