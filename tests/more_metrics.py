"""Metrics that random questions ask about besides, drawn apart: all else stays as it was drawn."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.drafts import GPU

Document = dict[str, Any]


def _prices(rng: random.Random, snapshot: Document) -> Any:
    for node in snapshot["nodes"]:
        node["price"] = rng.choice((1, "2.5", "0.000001", 3))
    return rng.choice(("cost", {"cost": {"selector": "topology/rack"}}))


def _powers(rng: random.Random, snapshot: Document) -> Any:
    for node in snapshot["nodes"]:
        node["idlePower"], node["powerPerGpu"] = rng.choice((0, 100, 250)), rng.choice((0, 300))
    return "energy"


def _loads(rng: random.Random, snapshot: Document) -> Any:
    named = [["cpu"], ["cpu", GPU], None]
    if not any(node["allocatable"].get(GPU) for node in snapshot["nodes"]):
        named.pop(1)
    asked = {"target": rng.choice((0, 25, "37.5", 60)), "resources": rng.choice(named)}
    return {"balance": {key: value for key, value in asked.items() if value is not None}}


MORE: tuple[Callable[[random.Random, Document], Any], ...] = (_prices, _powers, _loads)
"""Each writes into a snapshot what its metric is about, and returns the objective."""


def ask_more(seed: int, snapshot: Document, model: Document) -> None:
    """Have half of the questions count something more, mostly last of all."""
    rng = random.Random(f"more of {seed}")
    if rng.random() < 0.5:
        known = list(model["objectives"])
        place = len(known) if rng.random() < 0.7 else rng.randint(1, len(known))
        known.insert(place, rng.choice(MORE)(rng, snapshot))
        model["objectives"] = known
