"""The suites by name: which instances, which models, which defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kantopt.errors import UsageError
from scripts.bench import (
    ablation,
    alike,
    arrivals,
    backlog,
    everyday,
    gangs,
    goals,
    golden,
    openb,
    priority_matters,
    victims,
    vm_rescheduling,
)
from scripts.bench.case import Case, by_kind
from scripts.bench.features import suite as features
from scripts.bench.grid import Grid, seeds_of
from scripts.bench.models import MakeModel, shipped


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite: how its instances are listed and how they are asked by default."""

    cases: Callable[[Grid], list[Case]] = field(repr=False)
    models: tuple[str, ...]
    model: Callable[[str], MakeModel] = field(repr=False)
    """Raises :class:`UsageError` for a name that means nothing."""
    limits_seconds: tuple[float, ...]


def _priority_matters(grid: Grid) -> list[Case]:
    return priority_matters.cases(
        grid.nodes or (4, 8, 16, 32, 64),
        grid.pods_per_node or (4, 8),
        grid.priorities or (1, 2, 4),
        grid.usage_percent or (90, 95, 100, 105),
        seeds_of(grid.seeds, grid.data),
    )


def _data(suite: str, grid: Grid) -> Path:
    if grid.data is None:
        raise UsageError(f"bench {suite}: needs data: give --data DIR or set KANTOPT_DATA")
    return grid.data


def _gangs(grid: Grid) -> list[Case]:
    return gangs.cases(
        grid.nodes or (100, 300, 1250, 3000, 10_000),
        grid.usage_percent,
        seeds_of(grid.seeds, grid.data),
        grid.data,
    )


def _arrivals(grid: Grid) -> list[Case]:
    nodes, usage = grid.nodes or (100, 1250), grid.usage_percent or (85,)
    return arrivals.cases(nodes, usage, seeds_of(grid.seeds, grid.data), grid.data)


def _everyday(grid: Grid) -> list[Case]:
    return everyday.cases(grid.nodes or (100, 640), seeds_of(grid.seeds, grid.data))


def _goals(grid: Grid) -> list[Case]:
    return goals.cases(grid.nodes or (320,), seeds_of(grid.seeds, grid.data))


def _victims(grid: Grid) -> list[Case]:
    seeds = seeds_of(grid.seeds, grid.data)
    return by_kind(victims.SUITE, victims.KINDS, victims.drawn, grid.nodes or (96,), seeds)


def _backlog(grid: Grid) -> list[Case]:
    nodes, seeds = grid.nodes or (128, 256), seeds_of(grid.seeds, grid.data)
    return by_kind(backlog.SUITE, backlog.KINDS, backlog.drawn, nodes, seeds)


def _alike(grid: Grid) -> list[Case]:
    return alike.cases(grid.nodes or (1000,), seeds_of(grid.seeds, grid.data))


def _own(name: str) -> MakeModel:
    if name != golden.OWN:
        raise UsageError(f"--models: found {name}, expected {golden.OWN}: the files hold models")
    return golden.model


SUITES = {
    priority_matters.SUITE: Suite(
        _priority_matters,
        ("placement-first", "tier-by-tier"),
        # Only how many pods of a priority run is counted, as in the published objective.
        lambda name: shipped(name, counts=True),
        (1.0, 10.0),
    ),
    gangs.SUITE: Suite(
        _gangs, ("training",), lambda name: shipped(name, counts=False), (10.0, 60.0)
    ),
    arrivals.SUITE: Suite(
        _arrivals, ("mixed", "packing"), lambda name: shipped(name, counts=False), (10.0,)
    ),
    everyday.SUITE: Suite(_everyday, ("mixed",), lambda name: shipped(name, counts=False), (30.0,)),
    alike.SUITE: Suite(_alike, ("mixed",), lambda name: shipped(name, counts=False), (10.0,)),
    goals.SUITE: Suite(_goals, goals.MODELS, goals.model, (10.0,)),
    victims.SUITE: Suite(_victims, ("mixed",), lambda name: shipped(name, counts=False), (10.0,)),
    backlog.SUITE: Suite(_backlog, ("mixed",), lambda name: shipped(name, counts=False), (10.0,)),
    golden.SUITE: Suite(
        lambda _: golden.cases(),
        (golden.OWN,),
        _own,
        (10.0,),
    ),
    openb.SUITE: Suite(
        lambda grid: openb.cases(_data(openb.SUITE, grid)),
        openb.MODELS,
        openb.model,
        (28.0,),
    ),
    vm_rescheduling.SUITE: Suite(
        lambda grid: vm_rescheduling.cases(_data(vm_rescheduling.SUITE, grid), grid.nodes),
        vm_rescheduling.MODELS,
        vm_rescheduling.model,
        (5.0, 60.0),
    ),
    features.SUITE: Suite(features.cases, (features.OWN,), features.model, (10.0,)),
    ablation.SUITE: Suite(ablation.cases, (features.OWN,), ablation.model, (5.0,)),
}
