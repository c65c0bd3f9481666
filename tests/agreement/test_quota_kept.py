"""Quota kept from those who may not evict, where pods of victims or of their betters move."""

from __future__ import annotations

import random

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement, Spots
from kantopt.schema.model import Rule
from kantopt.search.preemption.put_back import PutBack
from kantopt.search.preemption.victims import Victims
from kantopt.search.state import State
from kantopt.verify.rules import check
from tests.agreement.test_encoding import Encodings
from tests.campaign import some
from tests.oracle import job_options
from tests.placements import random_placement
from tests.solved import agrees
from tests.verify.world import Document, broken, job, node, pods, podset_of, question, spot_of


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
            parts = pods(count=len(on), minCount=0, on=on, preemptible=rng.random() < 0.8)
            jobs.append(job(f"r{i}", parts, priority=rng.choice((0, 5, 10)), queueName="q"))
    for i in range(rng.randint(1, 3)):
        more: Document = {"queueName": "q"} if rng.random() < 0.5 else {}
        if rng.random() < 0.25:
            more["preemptionPolicy"] = "Never"
        parts = pods(cpu=rng.choice((1, 2)), count=rng.choice((1, 1, 2)), minCount=0)
        jobs.append(job(f"p{i}", parts, priority=rng.choice((0, 5, 10, 10)), **more))
    return question(
        nodes,
        jobs,
        objectives=[{"unplaced": {"unit": "pod"}}, "evictions", "moves"],
        queues=[queue(used + rng.choice((0, 0, 1)))],
    )


def short_of_quota(instance: Instance, placement: Placement) -> bool:
    """Whether with the victims of some priority back the queue is too full for what came.

    Worked out pod set by pod set: of those that ran and are no lesser, or victims to be put back,
    as many as ran; of new ones that are lesser, and of the others that ran, as many as there are.
    """
    limit, r = instance.queues[0].quotas[0].nominal, instance.queues[0].quotas[0].resource
    sets = [
        (podset, instance.job_of(podset.index), placement.placed(podset.index))
        for podset in instance.podsets
        if instance.job_of(podset.index).queue is not None
    ]
    evicted = [podset for podset in instance.podsets if podset.running]
    evicted = [podset for podset in evicted if placement.placed(podset.index) < podset.count]
    for priority in {instance.job_of(podset.index).priority for podset in evicted}:
        used = came = 0
        for podset, owner, placed in sets:
            lesser = owner.priority <= priority or not owner.may_preempt
            if podset.running:
                back = owner.priority >= priority or not lesser
                used += podset.demand[r] * (podset.count if back else placed)
            elif lesser:
                used, came = used + podset.demand[r] * placed, came + placed
        if came and used > limit:
            return True
    return False


def some_ways(rng: random.Random, instance: Instance) -> list[dict[int, Spots]]:
    """Draw ways to place all jobs that do whatever jobs may do alone."""
    options = [job_options(instance, each) for each in instance.jobs]
    return [{s: x for o in options for s, x in rng.choice(o).items()} for _ in range(50)]


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


def test_a_more_important_pod_that_moves_still_counts() -> None:
    """Else to restart it for nothing would hide what it uses from a pod that may not evict."""
    high = pods(cpu=4, on=["b"], preemptible=False)
    running = [job("low", pods(cpu=4, on=["a"])), job("high", high, priority=10)]
    waiting = [
        job("w0", pods(cpu=2), priority=20, queueName="q"),
        job("w1", pods(cpu=2), priority=9, queueName="q", preemptionPolicy="Never"),
    ]
    for each in running:
        each["queueName"] = "q"
    instance = question(
        [node("a", cpu=8), node("b", cpu=8)],
        [*running, *waiting],
        objectives=[{"unplaced": {"unit": "pod"}}, "evictions", "moves"],
        queues=[queue(8)],
    )
    fault = [
        "queue q: 10 of 8 cpu with the victims of priority 0 and higher put back, "
        "beside arrivals that may not evict them"
    ]
    for there in "ab":
        assert fault == broken(instance, Rule.PRIORITY, low=[], high=[there], w0=["b"], w1=["b"])
    assert agrees(instance, "moves") == (0, 0, 1, 0, 1, 1, 0)


def test_who_moves_leaves_a_victim_no_quota() -> None:
    """One must go by quota, and the other, which may not go, must move for the same job."""
    instance = question(
        [node("a", cpu=4), node("b", cpu=8), node("c", cpu=4)],
        [
            job("low", pods(cpu=4, on=["a"]), queueName="q"),
            job("mate", pods(cpu=4, on=["b"], preemptible=False), queueName="q"),
            job("large", pods(cpu=8), priority=10, queueName="q"),
        ],
        objectives=[{"unplaced": {"unit": "pod"}}, "evictions", "moves"],
        queues=[queue(12)],
    )
    assert broken(instance, Rule.PRIORITY, low=[], mate=["c"], large=["b"]) == []
    assert agrees(instance, "moves") == (0, 1, 1, 1)
    state = State(instance)
    for name, where, more in (("low", "a", -1), ("mate", "b", -1), ("mate", "c", 1)):
        state.add(podset_of(instance, name), spot_of(instance, where), more)
    state.add(podset_of(instance, "large"), spot_of(instance, "b"), 1)
    assert PutBack(Victims(state)).holds(range(3))


def test_judge_counts_as_is_worked_out_pod_set_by_pod_set() -> None:
    short = enough = 0
    for seed in some(range(120)):
        instance, rng = tight(seed), random.Random(seed)
        for way in some_ways(rng, instance):
            placement = instance.current.replace(way)
            faults = check(instance, placement, [Rule.PRIORITY])
            if any("no job that starts may evict" in fault.message for fault in faults):
                continue
            expected = short_of_quota(instance, placement)
            assert expected == any(fault.subject == "queue q" for fault in faults), f"seed {seed}"
            short, enough = short + expected, enough + (not expected)
    assert min(short, enough) > 20


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
