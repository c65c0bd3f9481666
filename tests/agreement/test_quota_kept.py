"""Quota kept from those who may not evict, where of a pod set some are evicted and some move."""

from __future__ import annotations

import random

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from tests.agreement.test_encoding import Encodings
from tests.campaign import some
from tests.placements import random_placement
from tests.solved import agrees
from tests.verify.world import Document, broken, job, node, pods, question


def queue(quota: int) -> Document:
    return {"name": "q", "resources": [{"name": "cpu", "nominalQuota": quota}]}


def tight(seed: int) -> Instance:
    """Draw a full cluster whose queue has hardly more quota than its jobs use."""
    rng = random.Random(seed)
    nodes = [node(f"n{n}", cpu=rng.choice((2, 2, 3))) for n in range(rng.choice((2, 2, 3)))]
    free = [item["name"] for item in nodes for _ in range(item["allocatable"]["cpu"])]
    rng.shuffle(free)
    jobs, used = [], 0
    for i in range(rng.choice((1, 1, 2))):
        on = [free.pop() for _ in range(rng.randint(1, 2)) if len(free) > 1]
        used += len(on)
        if on:
            parts = pods(count=len(on), minCount=0, on=on)
            jobs.append(job(f"r{i}", parts, priority=rng.choice((0, 5)), queueName="q"))
    for i in range(rng.randint(1, 3)):
        queued: Document = {"queueName": "q"} if rng.random() < 0.5 else {}
        parts = pods(cpu=rng.choice((1, 2)), count=rng.choice((1, 1, 2)), minCount=0)
        jobs.append(job(f"p{i}", parts, priority=rng.choice((0, 5, 10, 10)), **queued))
    return question(
        nodes,
        jobs,
        objectives=[{"unplaced": {"unit": "pod"}}, "evictions", "moves"],
        queues=[queue(used + rng.choice((0, 0, 1)))],
    )


def test_a_pod_that_moves_beside_a_victim_of_its_pod_set_counts_once() -> None:
    """Two pods of a queue that is full: one gives way, the other goes where there is room."""
    instance = question(
        [node("n0", cpu=2), node("n1", cpu=2)],
        [
            job("r", pods(count=2, minCount=0, on=["n1", "n1"]), priority=5, queueName="q"),
            job("large", pods(cpu=2), priority=10),
            job("p", pods(), priority=10, queueName="q"),
        ],
        queues=[queue(2)],
    )
    assert broken(instance, Rule.PRIORITY, r=["n0"], large=["n1"], p=["n0"]) == []
    assert broken(instance, Rule.QUOTA, r=["n0"], large=["n1"], p=["n0"]) == []


def test_judge_search_and_encoding_agree_where_quota_is_full() -> None:
    solved = legal = illegal = 0
    for seed in some(range(120)):
        instance = tight(seed)
        solved += agrees(instance, f"seed {seed}") is not None
        encodings, rng = Encodings(instance), random.Random(seed)
        for _ in range(8):
            placement = random_placement(rng, instance)
            admitted = encodings.admit(placement)
            faults = check(instance, placement)
            assert admitted == (not faults), f"seed {seed}: {faults}"
            legal, illegal = legal + admitted, illegal + (not admitted)
    assert solved
    assert min(legal, illegal) > 10
