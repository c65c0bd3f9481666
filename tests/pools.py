"""Pools in one cluster: nodes, and jobs that keep to the nodes of their pool."""

from __future__ import annotations

import random
from typing import Any

from kantopt.errors import BadDataError
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.schema.dump import dump_data
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate
from tests.drafts import HOST
from tests.generate import random_documents
from tests.verify.world import Document, job, node, pods

POOLS = {"a": {"pool": "a"}, "b": {"pool": "b"}}
NODES = [node("a1", labels=POOLS["a"]), node("b1", labels=POOLS["b"])]


def waiting(name: str, pool: str, *, priority: int = 0, **more: Any) -> Document:
    """A pending job of one pod that asks for a whole node of a pool."""
    asked = pods(count=1, cpu=4, nodeSelector=POOLS[pool], **more.pop("podset", {}))
    return job(name, asked, priority=priority, **more)


def running(name: str, on: str, *, priority: int = 0, **more: Any) -> Document:
    """A running job of one pod that fills a node and stays in its pool."""
    asked = pods(cpu=4, on=[on], nodeSelector=POOLS[on[0]], **more.pop("podset", {}))
    return job(name, asked, priority=priority, **more)


def pooled_instance(seed: int, pools: int = 2) -> Instance:
    """Some random questions as one, under the model of the first; the same for the same seed.

    Names of labels, topology domains and cohorts may be shared; nodes, namespaces and queues are
    not. Limits are those of the first, and hold for all pools together.
    """
    rng = random.Random(seed)
    while True:
        drawn = [random_documents(rng.randrange(10_000)) for _ in range(pools)]
        snapshot: Document = {}
        pending: list[Document] = []
        required: list[str] = []
        for p, documents in enumerate(drawn):
            cluster, jobs, model = (dump_data(document) for document in documents)
            confine(cluster, jobs, f"p{p}")
            for key in ("nodes", "jobs", "queues", "podDisruptionBudgets"):
                snapshot[key] = snapshot.get(key, []) + cluster.get(key, [])
            pending += jobs["jobs"]
            required += [f"p{p}/{name.split('/')[-1]}" for name in model.get("required", [])]
            snapshot = {**cluster, **snapshot}
        question = {**dump_data(drawn[0][2]), "required": required}
        try:
            return build_instance(
                validate(RawDocument("pools", 0, snapshot), ClusterSnapshot),
                validate(
                    RawDocument("pools", 1, {**dump_data(drawn[0][1]), "jobs": pending}), JobList
                ).jobs,
                validate(RawDocument("pools", 2, question), Model),
            )
        except BadDataError:
            continue  # the first model names a resource that no pool has


def confine(cluster: Document, jobs: Document, pool: str) -> None:
    """Give nodes, jobs, queues and budgets names of their own, and keep pods to the pool."""
    for machine in cluster.get("nodes", []):
        machine["name"] = f"{pool}-{machine['name']}"
        machine["labels"] = {**machine.get("labels", {}), "pool": pool}
    for queue in cluster.get("queues", []):
        queue["name"] = f"{pool}-{queue['name']}"
    for budget in cluster.get("podDisruptionBudgets", []):
        budget["namespace"] = pool
    for item in (*cluster.get("jobs", []), *jobs["jobs"]):
        item["namespace"] = pool
        if item.get("queueName"):
            item["queueName"] = f"{pool}-{item['queueName']}"
        for podset in item["podSets"]:
            podset["nodeSelector"] = {**podset.get("nodeSelector", {}), "pool": pool}
            for place in podset.get("assignments", []):
                place["node"] = f"{pool}-{place['node']}"
            for term in podset.get("nodeAffinity", []):
                for expression in term.get("matchExpressions", []):
                    if expression["key"] == HOST:
                        expression["values"] = [f"{pool}-{name}" for name in expression["values"]]
