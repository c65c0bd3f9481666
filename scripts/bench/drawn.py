"""Random trials of interruptions: which instance, asked how, and what happens to the run when."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import kantopt
from kantopt.schema.dump import dump_yaml
from kantopt.schema.extends import load_model
from scripts.bench import gangs, priority_matters
from scripts.bench.case import Documents
from scripts.bench.interrupted import Moment, Way
from scripts.bench.models import model_text, shipped

WAYS: tuple[Way, ...] = get_args(Way)
_QUICKSTART = Path(kantopt.__file__).parent.parent / "instances" / "quickstart"


@dataclass(frozen=True, slots=True)
class Asked:
    """An instance under a model; ``write`` puts what is missing into a folder and returns files,
    the model last."""

    instance: str
    nodes: int
    model: str
    write: Callable[[Path], tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a trial is: what is asked how, and what happens to the run when."""

    number: int
    way: Way
    asked: Asked
    engine: str
    limit_seconds: float
    memory_mib: int | None
    moment: Moment | None


def draw(number: int) -> Drawn:
    """Draw a trial; the same number is the same trial."""
    rng = random.Random(number)
    way = WAYS[number % len(WAYS)]
    limit = rng.choice((6.0, 8.0, 10.0))
    kind = rng.random()
    if kind < 0.05 and _QUICKSTART.is_dir():
        asked = _quickstart()
    else:
        asked = _gangs(rng) if kind < 0.25 else _packing(rng)
    return Drawn(
        number=number,
        way=way,
        asked=asked,
        engine=rng.choice(("auto", "exact")),
        limit_seconds=limit,
        memory_mib=rng.randrange(106, 126) if way == "memory" else None,
        moment=None if way == "memory" else _moment(rng),
    )


def _packing(rng: random.Random) -> Asked:
    """Pods that would fill the nodes to the brim."""
    cell = priority_matters.Cell(rng.randrange(8, 33, 4), rng.choice((4, 8)), 4, 100)
    seed = rng.randrange(2**31)
    model = rng.choice(("placement-first", "tier-by-tier"))

    def write(folder: Path) -> tuple[Path, ...]:
        made = priority_matters.documents(cell, seed)
        return (*made.write(folder), _write_model(folder, model, made, counts=True))

    return Asked(f"{priority_matters.SUITE} {cell.name} {seed}", cell.nodes, model, write)


def _gangs(rng: random.Random) -> Asked:
    """Gangs on a topology."""
    nodes, seed = rng.randrange(32, 129, 32), rng.randrange(2**31)

    def write(folder: Path) -> tuple[Path, ...]:
        made = gangs.kant(nodes, 0.85, seed, None)
        return (*made.write(folder), _write_model(folder, "mixed", made, counts=False))

    return Asked(f"{gangs.SUITE} kant {nodes} {seed}", nodes, "mixed", write)


def _write_model(folder: Path, name: str, made: Documents, *, counts: bool) -> Path:
    path = folder / "model.json"
    path.write_text(model_text(shipped(name, counts=counts)(made)), encoding="utf-8")
    return path


def _quickstart() -> Asked:
    """The small cluster that a checkout brings along."""
    documents = tuple(sorted(_QUICKSTART.glob("*.yaml")))

    def write(folder: Path) -> tuple[Path, ...]:
        model = folder / "model.json"
        model.write_text(dump_yaml(load_model("mixed")), encoding="utf-8")
        return (*documents, model)

    return Asked("quickstart", 12, "mixed", write)


def _moment(rng: random.Random) -> Moment:
    """Mostly while the solver runs, often just after it has begun."""
    where = rng.random()
    if where < 0.08:
        return Moment("reading", rng.uniform(0.0, 0.3))
    if where < 0.16:
        return Moment("planning", rng.uniform(0.0, 0.5))
    if where < 0.5:
        return Moment("search", rng.uniform(0.0, 0.2))
    return Moment("search", rng.uniform(0.0, 1.5))
