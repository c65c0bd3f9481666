"""Searches where queues have no quota left, or use more than they have."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check
from tests.campaign import some
from tests.search.helpers import where
from tests.search.test_chains import ask, improved
from tests.search.test_relocate import legal_at_once
from tests.verify.world import GPU, Document, job, node, placed, pods, question

NODES, QUEUES = [f"n{i}" for i in range(12)], ("q0", "q1", "q2", "q3")


def overdrawn(seed: int) -> Instance:
    """A full cluster of CPUs and GPUs, with less quota than is used, and more who wait."""
    rng, used = random.Random(seed), Counter[tuple[str, str]]()
    cohort, left, jobs = rng.choice(["", "c"]), {n: [16, 8] for n in NODES}, list[Document]()
    for k in range(70):
        cpu, gpu = rng.choice([(1, 0), (2, 0), (2, 1), (4, 2), (4, 4), (1, 1)])
        count, queue = rng.choice([1, 1, 1, 2, 3]), rng.choice(QUEUES)
        priority, on = rng.choice([0, 0, 5]), list[str]()
        for _ in range(count):
            able = [n for n, (cpus, gpus) in left.items() if cpus >= cpu and gpus >= gpu]
            if able:
                on.append(rng.choice(able))
                left[on[-1]][0] -= cpu
                left[on[-1]][1] -= gpu
        if len(on) == count:
            used[queue, "cpu"] += cpu * count
            used[queue, GPU] += gpu * count
            role = pods(count=count, cpu=cpu, gpu=gpu, on=on)
            jobs.append(job(f"r{k}", role, queueName=queue, priority=priority))
    for k in range(25):
        cpu, gpu = rng.choice([(1, 0), (2, 1), (4, 2), (4, 4), (1, 1), (8, 8)])
        role = pods(count=rng.choice([1, 1, 2, 3]), cpu=cpu, gpu=gpu)
        more = {"queueName": rng.choice(QUEUES), "priority": rng.choice([0, 5, 9, 9])}
        jobs.append(job(f"w{k}", role, **more))
    queues = list[Document]()
    for queue in QUEUES:
        gpus = int(used[queue, GPU] * rng.choice([0.7, 0.85, 1.0, 1.1]))
        resources: list[Document] = [{"name": GPU, "nominalQuota": gpus}]
        if rng.random() < 0.4:
            cpus = int(used[queue, "cpu"] * rng.choice([0.8, 1, 1.1]))
            resources.append({"name": "cpu", "nominalQuota": cpus})
        if cohort and rng.random() < 0.4:
            resources[0]["lendingLimit"] = rng.randint(0, 3)
        queues.append({"name": queue, "cohort": cohort, "resources": resources})
    return question([node(n, cpu=16, gpu=8) for n in NODES], jobs, queues=queues)


@pytest.mark.parametrize("strategy", [Strategy.E_BINPACK, Strategy.BEST_FIT])
@pytest.mark.parametrize(
    "seeds", [range(24, 25), *(range(k, k + 20) for k in some(range(0, 160, 20)))], ids=str
)
def test_what_the_fast_path_makes_is_legal_at_once(
    seeds: range, strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = legal_at_once(monkeypatch)
    for seed in seeds:
        construct(overdrawn(seed), Deadline(None), How(strategy, relocate=True))
    assert judged == [True] * len(seeds)


@pytest.mark.parametrize("cohort", ["", "c"])
def test_pods_go_home_though_a_victim_whose_quota_is_taken_has_room_where_it_ran(
    cohort: str,
) -> None:
    cpu = {"name": "cpu", "nominalQuota": 2}
    queues = [{"name": "q", "cohort": cohort, "resources": [cpu]}]
    jobs = [
        job("victim", pods(cpu=2, on=["a"]), queueName="q"),
        job("urgent", pods(cpu=1), queueName="q", priority=9),
        job("other", pods(cpu=2, on=["b"])),
    ]
    instance = ask([node(n, cpu=4) for n in "abc"], jobs, queues=queues)
    start = placed(instance, victim=[], urgent=["b"], other=["c"])
    assert check(instance, start) == []
    found = improved(instance, start)
    assert where(instance, found, "other") == {"b": 1}
    assert where(instance, found, "urgent")
