"""Clusters over time for tests: written by hand, or drawn with all rules in them."""

from __future__ import annotations

import random
from typing import Any

from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.extends import load_model
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model
from kantopt.schema.policy import Policy
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.trace import Trace, TraceJob
from kantopt.schema.validation import validate
from kantopt.simulate.history import History
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.world import World, build_world
from tests.generate import random_documents

GPU = "nvidia.com/gpu"
HEAD = {"apiVersion": API_VERSION}
BACKFILLS = ("none", "best-effort", "easy", "conservative")
ORDERS = ("fifo", "priority", "fair-share", "virtual-finish")
STRATEGIES = (
    *("best-fit", "least-allocated", "kube-default", "e-binpack", "spread", "fgd", "lookahead"),
)


def snapshot(*nodes: int, **more: Any) -> ClusterSnapshot:
    """Nodes n0, n1 ... with so many GPUs each."""
    data = {
        **HEAD,
        "kind": "ClusterSnapshot",
        "nodes": [{"name": f"n{i}", "allocatable": {GPU: k}} for i, k in enumerate(nodes)],
        **more,
    }
    return validate(RawDocument("snapshot", 0, data), ClusterSnapshot)


def job(name: str, arrival: int, duration: int, gpus: int, pods: int = 1, **more: Any) -> Any:
    """A gang of pods with so many GPUs each; times in seconds."""
    own = {k: more.pop(k) for k in ("minCount", "podAntiAffinity") if k in more}
    podset = {"name": "w", "count": pods, "requests": {GPU: gpus}, **own}
    return {
        "name": name,
        "arrival": f"{arrival}s",
        "duration": f"{duration}s",
        "podSets": [podset],
        **more,
    }


def trace(*jobs: Any, **more: Any) -> Trace:
    """A trace of such jobs."""
    data = {**HEAD, "kind": "Trace", "metadata": {"name": "t"}, "jobs": list(jobs), **more}
    return validate(RawDocument("trace", 0, data), Trace)


def policy(name: str = "p", **more: Any) -> Policy:
    """A policy of the given parts, in the names of documents."""
    data = {**HEAD, "kind": "Policy", "metadata": {"name": name}, **more}
    return validate(RawDocument("policy", 0, data), Policy)


def world(cluster: ClusterSnapshot, course: Trace, model: Model | None = None) -> World:
    """Freeze a cluster and a trace; under ``mixed`` if no model is given."""
    return build_world(cluster, (), course, model or load_model("mixed"), name="t")


def simulated(cluster: ClusterSnapshot, course: Trace, how: Policy, **more: Any) -> History:
    """Simulate with every state judged."""
    return Simulator(world(cluster, course), how, verify_every=1, **more).run()


def drawn(seed: int, *, planned: bool = False) -> tuple[World, Policy]:
    """A tiny cluster with everything in it, over time: rules, outages, endings, a zone.

    ``planned``: with cycles of the planner, rounds of defragmentation, or both.
    """
    rng = random.Random(seed)
    cluster, pending, model = random_documents(seed)
    asked = [*pending.jobs, *cluster.jobs]
    if rng.random() < 0.7:  # with just the room that a question has, next to nothing would happen
        cluster = _larger(cluster, rng.choice((2, 3)))
    waits = pending.jobs if rng.random() < 0.2 else ()
    jobs = sorted(
        (_over_time(rng, rng.choice(asked), i) for i in range(rng.randint(8, 25))),
        key=lambda each: int(each.arrival[:-1]),
    )
    course = Trace(
        api_version=API_VERSION, kind="Trace", metadata=Metadata(name="t"), jobs=tuple(jobs)
    )
    names = [node.name for node in cluster.nodes]
    outages = [
        {
            "node": rng.choice(names),
            "at": f"{rng.randint(0, 300)}s",
            "lasts": f"{rng.randint(1, 99)}s",
        }
        for _ in range(rng.choice((0, 0, 1, 3)))
    ]
    endings = [
        {"job": f"{each.namespace}/{each.name}", "after": f"{rng.randint(0, 200)}s"}
        for each in cluster.jobs
        if rng.random() < 0.8
    ]
    more = trace(outages=outages, endings=endings)
    course = course.model_copy(update={"outages": more.outages, "endings": more.endings})
    how = drawn_policy(rng, names, planned=planned)
    model = model.model_copy(update={"zone": how.placement.zone})
    return build_world(cluster, waits, course, model, name="t"), how


def _larger(cluster: ClusterSnapshot, times: int) -> ClusterSnapshot:
    nodes = tuple(
        node.model_copy(
            update={
                "allocatable": {
                    k: times * int(v) if str(v).isdecimal() else v
                    for k, v in node.allocatable.items()
                }
            }
        )
        for node in cluster.nodes
    )
    return cluster.model_copy(update={"nodes": nodes})


def drawn_policy(rng: random.Random, names: list[str], *, planned: bool = False) -> Policy:
    """A policy for nodes of some names."""
    placement: dict[str, Any] = {"strategy": rng.choice(STRATEGIES)}
    if rng.random() < 0.3:
        placement["zone"] = {
            "nodes": f"kubernetes.io/hostname={rng.choice(names)}",
            "jobs": ["*/*1", "x?"],
            "strategy": rng.choice(STRATEGIES),
        }
    more: dict[str, Any] = {}
    if planned and rng.random() < 0.7:
        placement["planner"] = {
            "model": rng.choice(("mixed", "training", "preemption")),
            "timeLimit": f"{rng.randint(0, 5)}s",
            "period": f"{rng.choice((15, 30, 60))}s",
            "most": rng.choice((2, 200)),
        }
    if planned and ("planner" not in placement or rng.random() < 0.5):
        more["defragmentation"] = {
            "period": f"{rng.choice((20, 60))}s",
            "timeLimit": f"{rng.randint(0, 5)}s",
            "moves": rng.choice((1, 50)),
            "waveTime": f"{rng.choice((0, 7))}s",
        }
    backfill = rng.choice(BACKFILLS)
    evicts = "planner" not in placement and rng.random() < 0.5
    reserves = backfill in ("easy", "conservative")
    return policy(
        queueing={
            "backfill": backfill,
            "order": rng.choice(ORDERS),
            "depth": rng.choice((2, 100)),
            "preemption": evicts and rng.random() < 0.7,
            "reclaim": evicts and rng.random() < 0.7,
            "preemptBackfilled": evicts and reserves and rng.random() < 0.5,
        },
        placement=placement,
        **more,
        restartTime=f"{rng.choice((0, 5, 30))}s",
    )


def _over_time(rng: random.Random, like: Job, number: int) -> TraceJob:
    """A job like another one that comes at some time and runs for some."""
    podsets = tuple(p.model_copy(update={"assignments": ()}) for p in like.pod_sets)
    fields = {name: getattr(like, name) for name in like.model_fields_set}
    fields |= {"name": f"j{number}", "pod_sets": podsets}
    duration = rng.randint(1, 100)
    return TraceJob(
        **fields,
        arrival=f"{rng.randint(0, 300)}s",
        duration=f"{duration}s",
        estimate=rng.choice((None, f"{duration + rng.randint(0, 50)}s")),
        user=rng.choice("abc"),
        checkpoint_interval=rng.choice((None, "7s")),
    )
