"""Fair shares and fair queueing: equals get equal parts, weights count, and order is by fluid."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from kantopt.simulate.history import History
from kantopt.simulate.simulator import Simulator
from tests.simulate.worlds import job, policy, simulated, snapshot, trace, world

ORDERS = ("fair-share", "virtual-finish")


def served(history: History, until: int) -> dict[str, int]:
    """GPU time (milli-GPU x ms) of each user up to some second."""
    found: dict[str, int] = {}
    for stay in history.stays:
        user = history.jobs[stay.job].user
        found[user] = found.get(user, 0) + stay.gpus * (
            min(stay.end, 1000 * until) - min(stay.begin, 1000 * until)
        )
    return found


def flooded(seed: int, jobs: int, sizes: tuple[int, ...] = (1, 2, 4)) -> list[Any]:
    """Two users who want the same, the second of whom comes once the first has filled the queue."""
    rng = random.Random(seed)
    asked = [(rng.randint(20, 40), rng.choice(sizes)) for _ in range(jobs)]
    return [
        job(f"{user}{i}", start, lasts, gpus, user=user)
        for user, start in (("a", 0), ("b", 1))
        for i, (lasts, gpus) in enumerate(asked)
    ]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("backfill", ["none", "best-effort", "easy"])
@pytest.mark.parametrize("seed", range(3))
def test_equal_weights_and_demands_share_equally(order: str, backfill: str, seed: int) -> None:
    course = trace(*flooded(seed, 80))
    asked = policy(queueing={"order": order, "backfill": backfill})
    found = served(simulated(snapshot(8), course, asked), 300)
    assert found["a"] + found["b"] > 0.8 * 8000 * 300_000
    # Apart by no more than what the first had before the second came, and a job each.
    assert abs(found["a"] - found["b"]) <= 8000 * 40_000 + 4000 * 40_000


@pytest.mark.parametrize("order", ORDERS)
def test_three_times_the_weight_is_three_times_the_part(order: str) -> None:
    course = trace(*flooded(1, 150, (1,)))
    asked = policy(queueing={"order": order, "backfill": "none", "weights": {"a": 3}})
    found = served(simulated(snapshot(8), course, asked), 600)
    assert found["a"] / found["b"] == pytest.approx(3, rel=0.1)


def test_first_in_first_out_serves_the_first_alone() -> None:
    found = served(
        simulated(snapshot(8), trace(*flooded(0, 80)), policy(queueing={"backfill": "none"})), 250
    )
    assert found["b"] == 0


def test_shares_are_dominant_ones() -> None:
    """The example of Ghodsi et al.: 9 CPUs and 18 GB, tasks of 1 CPU and 4 GB, of 3 and 1."""
    cluster = snapshot(0).model_copy()
    node = cluster.nodes[0].model_copy(update={"allocatable": {"cpu": 9, "memory": "18Gi"}})
    cluster = cluster.model_copy(update={"nodes": (node,)})
    jobs = []
    for user, cpu, memory in (("a", 1, "4Gi"), ("b", 3, "1Gi")):
        for i in range(6):
            each = job(f"{user}{i}", 0, 100, 1, user=user)
            each["podSets"][0]["requests"] = {"cpu": cpu, "memory": memory}
            jobs.append(each)
    history = simulated(cluster, trace(*jobs), policy(queueing={"order": "fair-share"}))
    first = [each.user for each in history.jobs if each.started == 0]
    assert (first.count("a"), first.count("b")) == (3, 2)


def test_queues_are_owners_too() -> None:
    jobs = flooded(0, 80)
    for each in jobs:
        each["queueName"] = each.pop("user")
    asked = policy(queueing={"order": "fair-share", "shareBy": "queue", "backfill": "none"})
    history = simulated(snapshot(8), trace(*jobs), asked)
    for record in history.jobs:
        record.user = record.queue
    found = served(history, 300)
    assert abs(found["a"] - found["b"]) <= 8000 * 40_000 + 4000 * 40_000


def fluid(jobs: list[tuple[int, str, Fraction]], weights: dict[str, int]) -> list[Fraction]:
    """When jobs end if owners share one server at every moment, each owner's in turn."""
    left: dict[str, list[tuple[int, Fraction]]] = {}
    ends: dict[int, Fraction] = {}
    ahead, now = sorted(enumerate(jobs), key=lambda each: (each[1][0], each[0])), Fraction(0)
    while ahead or left:
        whole = sum(weights[owner] for owner in left)
        steps = [queue[0][1] * whole / weights[owner] for owner, queue in left.items()]
        if ahead:
            steps.append(ahead[0][1][0] - now)
        step = min(steps)
        now += step
        for owner, queue in list(left.items()):
            i, rest = queue[0]
            queue[0] = (i, rest - step * weights[owner] / whole)
            if not queue[0][1]:
                ends[i] = now
                queue.pop(0)
            if not queue:
                del left[owner]
        while ahead and ahead[0][1][0] == now:
            i, (_, owner, length) = ahead.pop(0)
            left.setdefault(owner, []).append((i, length))
    return [ends[i] for i in range(len(jobs))]


@pytest.mark.parametrize("seed", range(20))
def test_virtual_finish_is_the_order_in_which_jobs_would_end_if_all_shared(seed: int) -> None:
    rng = random.Random(seed)
    weights = {user: rng.randint(1, 3) for user in "abc"}
    plain, asked = [], []
    for i in range(30):
        at, lasts, gpus = rng.randint(0, 200), rng.randint(1, 60), rng.randint(1, 8)
        user = rng.choice("abc")
        plain.append((at, user, Fraction(lasts * gpus, 8)))
        asked.append((at, job(f"j{i}", at, lasts, gpus, user=user)))
    how = policy(queueing={"order": "virtual-finish", "weights": weights})
    order = sorted(range(30), key=lambda i: (asked[i][0], i))
    simulator = Simulator(world(snapshot(8), trace(*(asked[i][1] for i in order))), how)
    ranks: dict[int, int] = {}
    rank = simulator.waiting._rank
    simulator.waiting._rank = lambda j: ranks.setdefault(j, rank(j)[0]) and rank(j)
    simulator.run()
    ends = fluid([plain[i] for i in order], weights)
    for i in range(30):
        for k in range(30):
            if ends[i] < ends[k] - Fraction(1, 1000):
                assert ranks[i] < ranks[k]
