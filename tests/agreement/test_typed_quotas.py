"""Quotas of kinds of nodes: the exact search proves what brute force finds, and says why."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.schema.jobs import Job
from kantopt.schema.model import Rule
from kantopt.schema.snapshot import Queue, QueueResource
from kantopt.search.strategy import Strategy
from tests.explain.helpers import asked, explained
from tests.generate import random_documents, without
from tests.oracle import best
from tests.search.helpers import built
from tests.solved import agrees
from tests.verify.world import GPU, job, node, pods


def typed_instance(seed: int) -> Instance:
    """Give the queues of a random question a quota of one kind of nodes, and all jobs a queue."""
    rng = random.Random(seed)
    snapshot, jobs, model = random_documents(seed)
    labels = sorted({f"{k}={v}" for n in snapshot.nodes for k, v in n.labels.items()})
    quota = QueueResource(name="cpu", nominal_quota=rng.randint(1, 5), nodes=rng.choice(labels))
    queues = [
        queue.model_copy(update={"resources": (*queue.resources, quota)})
        for queue in snapshot.queues or (Queue(name="typed"),)
    ]

    def in_queue(items: Sequence[Job]) -> tuple[Job, ...]:
        names = [job.queue_name or rng.choice(queues).name for job in items]
        return tuple(
            job.model_copy(update={"queue_name": name})
            for job, name in zip(items, names, strict=True)
        )

    update = {"queues": tuple(queues), "jobs": in_queue(snapshot.jobs)}
    return build_instance(snapshot.model_copy(update=update), in_queue(jobs.jobs), model)


def test_search_proves_what_brute_force_finds_and_strategies_are_legal() -> None:
    mattered = 0
    for seed in range(60):
        instance = typed_instance(seed)
        built(instance, Strategy.E_BINPACK)
        expected = agrees(instance, f"seed {seed}")
        if expected is None:
            continue
        mattered += best(without(instance, Rule.QUOTA))[0] != expected
    assert mattered >= 10


def test_explain_names_the_type_and_raises_its_quota() -> None:
    nodes = [node(kind, cpu=64, gpu=16, labels={"gpu": kind}) for kind in ("h100", "a100")]
    quota = {"name": GPU, "nominalQuota": 6, "nodes": "gpu=h100"}
    chosen = {"nodeSelector": {"gpu": "h100"}}
    waiting = job("j", pods(gpu=8, **chosen), queueName="q")
    told = explained(
        asked(nodes, [waiting], None, queues=[{"name": "q", "resources": [quota]}]), "default/j"
    )
    assert told.conflict is not None
    assert [(item.rule, item.message) for item in told.conflict.items if item.rule == "quota"] == [
        (Rule.QUOTA.value, f"8 of 6 {GPU} [gpu=h100]")
    ]
    texts = [remedy.message for remedy in told.remedies]
    assert any(f"{GPU} [gpu=h100] from 6 to 8" in text for text in texts), texts
