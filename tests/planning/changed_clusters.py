"""Clusters that have changed since a plan was made for them."""

from __future__ import annotations

import copy
import random
from typing import Any

from kantopt.clock import Deadline
from kantopt.planning.document.tiers import tier_rows
from kantopt.planning.document.write import Answer, plan_document
from kantopt.planning.question import Question
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.plan import Plan, Solver
from kantopt.schema.dump import dump_data
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.search.construct import How, construct
from kantopt.search.order.sequence import sequence
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from tests.questions import document

Document = dict[str, Any]
GPU = "nvidia.com/gpu"
NODES, GPUS = 8, 8


def crowded(seed: int) -> tuple[Document, Document]:
    """A snapshot and pending jobs, all pods by name: half full, in crumbs, with gangs waiting."""
    rng = random.Random(seed)
    free = [GPUS] * NODES
    jobs: list[Document] = []
    for number in range(22):
        size, node = rng.choice((1, 1, 2, 2, 3, 4)), rng.randrange(NODES)
        if free[node] >= size:
            free[node] -= size
            jobs.append(_running(f"run-{number}", rng, size, node))
    pending = [
        {
            "name": f"wait-{number}",
            "priority": rng.choice((100, 1000)),
            "podSets": [
                {
                    "name": "main",
                    "count": (count := rng.choice((1, 1, 2, 3))),
                    "requests": {GPU: rng.choice((2, 4, 8))},
                    "pods": [
                        {"name": f"wait-{number}-{i}", "uid": _uid(rng)} for i in range(count)
                    ],
                }
            ],
        }
        for number in range(rng.randint(3, 6))
    ]
    nodes = [
        {
            "name": f"n{n}",
            "uid": _uid(rng),
            "labels": {"rack": f"r{n // 2}"},
            "allocatable": {GPU: GPUS, "cpu": 96},
        }
        for n in range(NODES)
    ]
    budgets = [
        {"name": name, "selector": {"matchLabels": {"app": name}}, "disruptionsAllowed": allowed}
        for name, allowed in (("a", 1), ("b", 2))
    ]
    snapshot = {
        "kind": "ClusterSnapshot",
        "metadata": {"name": "crowded", "capturedAt": "2026-09-01T03:00:00Z"},
        "topology": {"levels": [{"name": "rack", "nodeLabel": "rack"}]},
        "nodes": nodes,
        "jobs": jobs,
        "podDisruptionBudgets": budgets,
    }
    return snapshot, {"kind": "JobList", "jobs": pending}


def _uid(rng: random.Random) -> str:
    return f"{rng.getrandbits(64):016x}"


def _running(name: str, rng: random.Random, size: int, node: int) -> Document:
    pod = {"name": f"{name}-0", "uid": _uid(rng), "resourceVersion": "1"}
    podset = {
        "name": "main",
        "count": 1,
        "minCount": 0,
        "labels": {"app": rng.choice("abcdef")},
        "requests": {GPU: size},
        "assignments": [{"node": f"n{node}", "pods": [pod]}],
    }
    live = {"moveMode": "live"} if rng.random() < 0.3 else {}
    return {"name": name, "priority": 10, **live, "podSets": [podset]}


def question_of(snapshot: Document, jobs: Document) -> Question:
    """Read the documents as a question."""
    cluster: ClusterSnapshot = document(snapshot, ClusterSnapshot)
    pending: JobList = document(jobs, JobList)
    return Question("today.yaml", cluster, pending.jobs, None, None, ())


def model(objectives: list[Any], **more: Any) -> Model:
    """Return a model."""
    found: Model = document({"kind": "Model", "objectives": objectives, **more}, Model)
    return found


def named(snapshot: ClusterSnapshot, pending: JobList) -> tuple[Document, Document]:
    """Give names and uids to all pods and nodes of documents that have none."""
    rng = random.Random(0)
    data, jobs = dump_data(snapshot), dump_data(pending)
    for node in data.get("nodes", ()):
        node["uid"] = _uid(rng)
    for job in (*data.get("jobs", ()), *jobs.get("jobs", ())):
        for podset in job["podSets"]:
            stem, number, running = f"{job['name']}-{podset.get('name', 'main')}", 0, 0
            for place in podset.get("assignments", ()):
                count = place.get("count", 1)
                place["pods"] = [
                    {"name": f"{stem}-{number + i}", "uid": _uid(rng)} for i in range(count)
                ]
                number += count
                running += count
            podset["pods"] = [
                {"name": f"{stem}-{number + i}", "uid": _uid(rng)}
                for i in range(podset["count"] - running)
            ]
    return data, jobs


def changed(snapshot: Document, jobs: Document, rng: random.Random) -> tuple[Document, Document]:
    """Let one to four things happen to a cluster."""
    snapshot, jobs = copy.deepcopy(snapshot), copy.deepcopy(jobs)
    snapshot["metadata"] = {**snapshot.get("metadata", {}), "capturedAt": "2026-09-01T03:30:00Z"}
    for _ in range(rng.randint(1, 4)):
        rng.choice(_EVENTS)(snapshot, jobs, rng)
    return snapshot, jobs


def _places(snapshot: Document) -> list[tuple[Document, Document, Document]]:
    """Jobs with a pod set and a place of it."""
    return [
        (job, podset, place)
        for job in snapshot.get("jobs", ())
        for podset in job["podSets"]
        for place in podset.get("assignments", ())
    ]


def _ends(snapshot: Document, _: Document, rng: random.Random) -> None:
    """A running job ends."""
    if snapshot.get("jobs"):
        snapshot["jobs"].remove(rng.choice(snapshot["jobs"]))


def _restarts(snapshot: Document, _: Document, rng: random.Random) -> None:
    """A pod restarts where it is, under its name and with another uid."""
    places = _places(snapshot)
    if places:
        rng.choice(rng.choice(places)[2]["pods"])["uid"] = _uid(rng)


def _wanders(snapshot: Document, _: Document, rng: random.Random) -> None:
    """A pod has been moved to another node."""
    places = _places(snapshot)
    if places:
        place = rng.choice(places)[2]
        if not place.get("devices"):
            place["node"] = rng.choice(snapshot["nodes"])["name"]


def _arrives(snapshot: Document, _: Document, rng: random.Random) -> None:
    """Another pod has started somewhere."""
    job = _running(f"new-{rng.randrange(10**6)}", rng, rng.choice((1, 2, 4)), 0)
    node = rng.choice(snapshot["nodes"])["name"]
    job["podSets"][0]["assignments"][0]["node"] = node
    snapshot.setdefault("jobs", []).append(job)


def _cordons(snapshot: Document, _: Document, rng: random.Random) -> None:
    """A node is cordoned."""
    rng.choice(snapshot["nodes"])["unschedulable"] = True


def _removes(snapshot: Document, _: Document, rng: random.Random) -> None:
    """A node is gone, with all that ran on it."""
    if len(snapshot["nodes"]) > 1:
        node = rng.choice(snapshot["nodes"])
        snapshot["nodes"].remove(node)
        _clear(snapshot, node["name"])


def _replaces(snapshot: Document, _: Document, rng: random.Random) -> None:
    """A node has been made anew under its name."""
    node = rng.choice(snapshot["nodes"])
    node["uid"] = _uid(rng)
    _clear(snapshot, node["name"])


def _clear(snapshot: Document, node: str) -> None:
    gone = {id(job) for job, _, place in _places(snapshot) if place["node"] == node}
    snapshot["jobs"] = [job for job in snapshot.get("jobs", ()) if id(job) not in gone]


def _uses_up(snapshot: Document, _: Document, rng: random.Random) -> None:
    """A budget allows nothing more."""
    if snapshot.get("podDisruptionBudgets"):
        budget = rng.choice(snapshot["podDisruptionBudgets"])
        for limit in ("minAvailable", "maxUnavailable"):
            budget.pop(limit, None)
        budget["disruptionsAllowed"] = 0


def _withdraws(_: Document, jobs: Document, rng: random.Random) -> None:
    """A pending job is withdrawn."""
    if jobs.get("jobs"):
        jobs["jobs"].remove(rng.choice(jobs["jobs"]))


def _submits(_: Document, jobs: Document, rng: random.Random) -> None:
    """Another job is pending."""
    name = f"late-{rng.randrange(10**6)}"
    podset = {"count": 1, "requests": {GPU: 2}, "pods": [{"name": f"{name}-0", "uid": _uid(rng)}]}
    jobs.setdefault("jobs", []).append({"name": name, "priority": 5, "podSets": [podset]})


_EVENTS = (
    _ends,
    _restarts,
    _wanders,
    _arrives,
    _arrives,
    _cordons,
    _removes,
    _replaces,
    _uses_up,
    _withdraws,
    _submits,
)


def shuffled(question: Question, asked: Model, rng: random.Random) -> Plan:
    """A plan that moves up to ten pods to wherever there is room in the end."""
    instance = question.instance(asked)
    free = [GPUS] * NODES
    for podset in instance.podsets:
        for spot, pods in podset.current.items():
            free[spot.node] -= pods * podset.gpu_milli // 1000
    placement = instance.current
    running = [podset for podset in instance.podsets if podset.running]
    for podset in rng.sample(running, min(10, len(running))):
        (old,) = podset.current
        size = podset.gpu_milli // 1000
        rooms = [n for n in range(NODES) if n != old.node and free[n] >= size]
        if rooms:
            new = rng.choice(rooms)
            free[old.node] += size
            free[new] -= size
            placement = placement.replace({podset.index: {Spot(new): 1}})
    plan = written_plan(question, instance, placement)
    assert plan is not None
    return plan


def constructed(question: Question, asked: Model) -> Plan | None:
    """A plan as one strategy makes it, the same however fast the machine is."""
    instance = question.instance(asked.model_copy(update={"required": ()}))
    placement = construct(instance, Deadline(None), How(Strategy.BEST_FIT, seed=0, relocate=True))
    return written_plan(question, instance, placement)


def written_plan(question: Question, instance: Instance, placement: Placement) -> Plan | None:
    """A plan that takes a cluster to a placement; ``None`` if there is no order for it."""
    waves = sequence(instance, placement)
    if waves is None:
        return None
    tiers = tiers_of(instance)
    values = [measure(instance, each, tiers) for each in (instance.current, placement)]
    answer = Answer(
        placement=placement,
        waves=waves,
        tiers=tier_rows(tiers, values[0], values[1], None),
        solver=Solver(
            engine="fast",
            strategy="",
            found_by="fast",
            status="FEASIBLE",
            seed=0,
            deterministic=False,
            reproducible=False,
        ),
        unplaced=(),
        standing=(),
        warnings=(),
    )
    return plan_document(question, instance, answer)
