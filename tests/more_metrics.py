"""Metrics that random questions ask about besides, drawn apart: all else stays as it was drawn."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.drafts import GPU

Document = dict[str, Any]


def _prices(rng: random.Random, snapshot: Document, model: Document) -> Any:
    for node in snapshot["nodes"]:
        node["price"] = rng.choice((1, "2.5", "0.000001", 3))
    asked = rng.choice(("cost", {"cost": {"selector": "topology/rack"}}))
    known = any("topology/rack" in node["labels"] for node in snapshot["nodes"])
    return asked if known else "cost"


def _powers(rng: random.Random, snapshot: Document, model: Document) -> Any:
    for node in snapshot["nodes"]:
        node["idlePower"], node["powerPerGpu"] = rng.choice((0, 100, 250)), rng.choice((0, 300))
    return "energy"


def _loads(rng: random.Random, snapshot: Document, model: Document) -> Any:
    named = [["cpu"], ["cpu", GPU], None]
    if not any(node["allocatable"].get(GPU) for node in snapshot["nodes"]):
        named.pop(1)
    asked = {"target": rng.choice((0, 25, "37.5", 60)), "resources": rng.choice(named)}
    return {"balance": {key: value for key, value in asked.items() if value is not None}}


def _memory(rng: random.Random, snapshot: Document, model: Document) -> Any:
    for job in snapshot["jobs"]:
        for podset in job["podSets"]:
            podset["requests"] = {**podset["requests"], "memory": rng.choice(("1Gi", "3Gi"))}
            podset["dirtyRate"] = rng.choice((0, "500Mi", "2Gi"))
    for node in snapshot["nodes"]:
        node["allocatable"]["memory"] = "1Ti"
    model["schedule"] = {"bandwidth": rng.choice(("1Gi", "10Gi"))}
    return rng.choice(("migration_cost", {"migration_cost": {"by": "priority"}}))


MORE: tuple[Callable[[random.Random, Document, Document], Any], ...] = (
    _prices,
    _powers,
    _loads,
    _memory,
)
"""Each writes into snapshot and model what its metric is about, and returns the objective."""


def ask_more(seed: int, snapshot: Document, model: Document) -> None:
    """Have half of the questions count something more, mostly last of all."""
    rng = random.Random(f"more of {seed}")
    if rng.random() < 0.5:
        known = list(model["objectives"])
        place = len(known) if rng.random() < 0.7 else rng.randint(1, len(known))
        more = rng.choice(MORE)
        if more is _memory and "move" not in str(known):
            more = _prices  # hardly anybody moves there
        known.insert(place, more(rng, snapshot, model))
        model["objectives"] = known
