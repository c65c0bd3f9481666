"""What random questions ask besides, from generators of its own: all else stays as it was drawn."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model, Objective, Wanted
from kantopt.schema.snapshot import ClusterSnapshot
from tests.drafts import GPU

Document = dict[str, Any]
Documents = tuple[Document, Document, Document]
"""Snapshot, jobs that wait, model."""


def _prices(rng: random.Random, documents: Documents) -> Any:
    for node in documents[0]["nodes"]:
        node["price"] = rng.choice((1, "2.5", "0.000001", 3))
    asked = rng.choice(("cost", {"cost": {"selector": "topology/rack"}}))
    known = any("topology/rack" in node["labels"] for node in documents[0]["nodes"])
    return asked if known else "cost"


def _powers(rng: random.Random, documents: Documents) -> Any:
    for node in documents[0]["nodes"]:
        node["idlePower"], node["powerPerGpu"] = rng.choice((0, 100, 250)), rng.choice((0, 300))
    return "energy"


def _loads(rng: random.Random, documents: Documents) -> Any:
    named = [["cpu"], ["cpu", GPU], None]
    if not any(node["allocatable"].get(GPU) for node in documents[0]["nodes"]):
        named.pop(1)
    asked = {"target": rng.choice((0, 25, "37.5", 60)), "resources": rng.choice(named)}
    return {"balance": {key: value for key, value in asked.items() if value is not None}}


def _memory(rng: random.Random, documents: Documents) -> Any:
    for job in documents[0]["jobs"]:
        for podset in job["podSets"]:
            podset["requests"] = {**podset["requests"], "memory": rng.choice(("1Gi", "3Gi"))}
            podset["dirtyRate"] = rng.choice((0, "500Mi", "2Gi"))
    for node in documents[0]["nodes"]:
        node["allocatable"]["memory"] = "1Ti"
    documents[2]["schedule"] = {"bandwidth": rng.choice(("1Gi", "10Gi"))}
    return rng.choice(("migration_cost", {"migration_cost": {"by": "priority"}}))


def _shares(rng: random.Random, documents: Documents) -> Any:
    """Queues of those that have none, without quotas: they bind nobody."""
    for name in ("fair-a", "fair-b"):
        documents[0]["queues"].append({"name": name})
    for queue in documents[0]["queues"]:
        queue["weight"] = rng.choice((1, 2, "0.5"))
    for job in (*documents[0]["jobs"], *documents[1]["jobs"]):
        job.setdefault("queueName", rng.choice(("fair-a", "fair-b")))
    return "fair_share"


MORE: tuple[Callable[[random.Random, Documents], Any], ...] = (
    _prices,
    _powers,
    _loads,
    _memory,
    _shares,
)
"""Each writes into snapshot and model what its metric is about, and returns the objective."""


def ask_more(seed: int, documents: Documents) -> None:
    """Have half of the questions count something more, mostly last of all."""
    rng = random.Random(f"more of {seed}")
    if rng.random() < 0.5:
        known = list(documents[2]["objectives"])
        place = len(known) if rng.random() < 0.7 else rng.randint(1, len(known))
        more = rng.choice(MORE)
        if more is _memory and "move" not in str(known):
            more = _prices  # hardly anybody moves there
        known.insert(place, more(rng, documents))
        documents[2]["objectives"] = known


def with_last_plan(seed: int, snapshot: ClusterSnapshot, jobs: JobList, model: Model) -> Model:
    """Have a quarter of the questions hold to a last plan, legal or not, mostly last of all."""
    rng = random.Random(f"last plan of {seed}")
    if rng.random() < 0.75:
        return model
    names, wanted = [node.name for node in snapshot.nodes], []
    for job in (*snapshot.jobs, *jobs.jobs):
        for podset in job.pod_sets:
            running = sum(place.count for place in podset.assignments)
            counts = {"running": running, "pending": podset.count - running}
            for state, pods in counts.items():
                if pods and rng.random() < 0.5:
                    drawn = Counter(rng.choice(names) for _ in range(rng.randint(0, pods)))
                    wanted.append(
                        Wanted(
                            job=f"{job.namespace}/{job.name}",
                            pod_set=podset.name,
                            state="running" if state == "running" else "pending",
                            nodes=dict(sorted(drawn.items())),
                        )
                    )
    known = list(model.objectives or ())
    place = len(known) if rng.random() < 0.7 else rng.randint(1, len(known))
    known.insert(place, Objective.model_validate({"changes_to_plan": {}}))
    return model.model_copy(update={"objectives": tuple(known), "last_plan": tuple(wanted)})
