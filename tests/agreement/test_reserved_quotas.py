"""Jobs that hold their quota while they wait: it is no obstacle to them, and nobody else's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.jobs import Assignment, Job, PodSet
from kantopt.schema.model import Model, Rule
from kantopt.schema.quantity import parse_quantity
from kantopt.schema.snapshot import ClusterSnapshot, Node, Queue, QueueResource, Taint
from kantopt.search.strategy import Strategy
from tests.campaign import some
from tests.explain.helpers import asked, explained
from tests.generate import random_documents, without
from tests.oracle import best
from tests.search.helpers import built
from tests.solved import agrees
from tests.verify.world import broken, job, node, pods, question

NODES = [node("a", cpu=4), node("b", cpu=4)]
QUEUES = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 4}]}]
Drawn = tuple[ClusterSnapshot, tuple[Job, ...], Model]


def drawn(seed: int) -> Drawn:
    """Put the jobs of a random question into queues of few CPUs; some of them hold their quota."""
    rng = random.Random(seed)
    snapshot, jobs, model = random_documents(seed)
    cohort = rng.choice(("", "c"))
    queues = []
    for name in ("x", "y"):
        lent, more = (rng.choice((None, 0, 1)) if cohort else None for _ in range(2))
        cpu = QueueResource(
            name="cpu", nominal_quota=rng.randint(0, 5), lending_limit=lent, borrowing_limit=more
        )
        queues.append(Queue(name=name, cohort=cohort, resources=(cpu,)))

    def in_queue(items: Sequence[Job]) -> tuple[Job, ...]:
        return tuple(
            item.model_copy(
                update={
                    "queue_name": rng.choice("xy"),
                    "quota_reserved": bool(item.waiting) and rng.random() < 0.5,
                }
            )
            for item in items
        )

    update = {"queues": tuple(queues), "jobs": in_queue(snapshot.jobs)}
    return snapshot.model_copy(update=update), in_queue(jobs.jobs), model


def elsewhere(given: Drawn) -> Drawn:
    """Say the same in other words: each amount held is that of a pod for ever on its own node."""
    snapshot, jobs, model = given
    nodes, standing = list(snapshot.nodes), []

    def freed(items: Sequence[Job]) -> tuple[Job, ...]:
        found = []
        for item in items:
            if item.quota_reserved:
                cpu = sum(p.count * parse_quantity(p.requests.get("cpu", 0)) for p in item.pod_sets)
                standing.append(holder(item, cpu, nodes))
                item = item.model_copy(update={"queue_name": "", "quota_reserved": False})
            found.append(item)
        return tuple(found)

    pending = freed(jobs)
    running = (*freed(snapshot.jobs), *standing)
    return snapshot.model_copy(update={"nodes": tuple(nodes), "jobs": running}), pending, model


def holder(job: Job, cpu: Fraction, nodes: list[Node]) -> Job:
    """Make a job that stays for ever on a node of its own, which nobody else may go to."""
    name, amount = f"{job.name}-holds", f"{int(1000 * cpu)}m"
    fence = Taint(key=name, value="", effect="NoSchedule")
    nodes.append(Node(name=name, allocatable={"cpu": amount}, taints=(fence,), ready=False))
    place = Assignment(node=name, count=1)
    podset = PodSet(name="main", count=1, requests={"cpu": amount}, assignments=(place,))
    return Job(
        name=name,
        queue_name=job.queue_name,
        daemon=True,
        priority=job.priority,
        priority_class_name=job.priority_class_name,
        pod_sets=(podset,),
    )


def least(instance: Instance) -> dict[str, int] | None:
    """Return the least values of the tiers by brute force, but for zeros: holders have tiers."""
    values, _ = best(instance)
    if values is None:
        return None
    named = zip(tiers_of(instance), values, strict=True)
    return {tier.name: value for tier, value in named if value}


def test_search_proves_what_brute_force_finds_and_quota_matters() -> None:
    mattered, seeds = 0, some(range(120))
    for seed in seeds:
        instance = build_instance(*drawn(seed))
        for strategy in (Strategy.E_BINPACK, Strategy.BEST_FIT):
            built(instance, strategy)
        expected = agrees(instance, f"seed {seed}")
        if expected is not None:
            mattered += best(without(instance, Rule.QUOTA))[0] != expected
    assert mattered >= len(seeds) / 8


def test_to_hold_quota_is_to_use_it_elsewhere() -> None:
    held, seeds = 0, some(range(200))
    about_pods = question(NODES, [], objectives=("unplaced", "evictions", "moves")).model.objectives
    for seed in seeds:
        snapshot, jobs, model = drawn(seed)
        given = snapshot, jobs, model.model_copy(update={"objectives": about_pods})
        one, other = build_instance(*given), build_instance(*elsewhere(given))
        held += any(quota.held for queue in one.queues for quota in queue.quotas)
        assert least(one) == least(other), f"seed {seed}"
    assert held >= len(seeds) / 2


def test_quota_is_held_by_jobs_that_no_plan_is_about() -> None:
    waits = job("held", pods(cpu=3), queueName="q", quotaReserved=True)
    other = job("other", pods(cpu=2), queueName="q")
    model = {"pending": ["other"]}
    documents = asked(NODES, [waits, other], model, queues=QUEUES)
    instance = documents.instance(documents.model or Model())
    assert [item.name for item in instance.jobs] == ["default/other"]
    assert broken(instance, Rule.QUOTA, other=["a"]) == [
        "queue q: 2 of 1 cpu beside 3 that jobs hold"
    ]


def test_who_holds_its_quota_comes_though_others_have_used_it() -> None:
    old = job("old", pods(cpu=4, on=["a"]), queueName="q")
    waits = job("held", pods(cpu=3), queueName="q", quotaReserved=True)
    more = job("more", pods(cpu=1), queueName="q")
    instance = question(NODES, [old, waits, more], queues=QUEUES)
    assert broken(instance, Rule.QUOTA, old=["a"], held=["b"]) == []
    assert broken(instance, Rule.QUOTA, old=["a"], more=["b"]) == [
        "queue q: 5 of 1 cpu beside 3 that jobs hold"
    ]


def test_explain_says_what_of_the_quota_others_hold_and_raises_the_whole_of_it() -> None:
    waits = job("held", pods(cpu=3), queueName="q", quotaReserved=True)
    other = job("other", pods(cpu=3), queueName="q")
    told = explained(asked(NODES, [waits, other], queues=QUEUES), "default/other")
    assert told.conflict is not None
    (item,) = (item for item in told.conflict.items if item.rule == "quota")
    assert item.message == "3 of 1 cpu beside 3 that jobs hold"
    assert any("cpu from 4 to 6" in remedy.message for remedy in told.remedies)
