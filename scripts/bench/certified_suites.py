"""Suites as certificates ask about them: smaller limits, and those that plans alone do not fill."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from kantopt.errors import UsageError
from scripts.bench import gangs, golden, openb, preemption, priority_matters, vm_rescheduling
from scripts.bench.case import Case
from scripts.bench.crowded import KINDS, Crowd, crowded
from scripts.bench.grid import Grid
from scripts.bench.suites import SUITES, Suite

STRATEGIES_GRID = Grid((4, 8, 16), (4, 8), (1, 2, 4), (90, 95))
"""Questions by which strategies are judged unless others are asked for: those on which all pods
could nearly be placed, so that what is left out is a strategy's own doing."""


def suite_of(name: str) -> Suite:
    """Look a suite up by name.

    Raises
    ------
    UsageError
        If there is none of this name.
    """
    if name not in _SUITES:
        raise UsageError(f"--of: found {name}, expected some of {', '.join(_SUITES)}")
    return _SUITES[name]


def grid_of(asked: Grid) -> Grid:
    """Return the questions by which strategies are judged, but for what was asked for."""
    usual = STRATEGIES_GRID
    return replace(
        asked,
        nodes=asked.nodes or usual.nodes,
        pods_per_node=asked.pods_per_node or usual.pods_per_node,
        priorities=asked.priorities or usual.priorities,
        usage_percent=asked.usage_percent or usual.usage_percent,
    )


def _crowds(grid: Grid) -> list[Case]:
    return [
        Case(
            preemption.SUITE,
            f"{kind}-n{nodes:03d}",
            seed,
            {"nodes": str(nodes)},
            partial(crowded, Crowd(nodes, kind, seed)),
        )
        for nodes in grid.nodes or preemption.NODES
        for kind in KINDS
        for seed in range(grid.seeds)
    ]


_SUITES = {
    priority_matters.SUITE: replace(
        SUITES[priority_matters.SUITE], models=("placement-first",), limits_seconds=(3.0,)
    ),
    gangs.SUITE: replace(SUITES[gangs.SUITE], limits_seconds=(20.0,)),
    vm_rescheduling.SUITE: replace(
        SUITES[vm_rescheduling.SUITE],
        # Generated clusters take minutes: only if their size is asked for.
        cases=lambda grid: SUITES[vm_rescheduling.SUITE].cases(
            replace(grid, nodes=grid.nodes or (vm_rescheduling.SNAPSHOT_NODES,))
        ),
        models=("mnl-25", "mnl-50", "mnl-100"),
        limits_seconds=(10.0,),
    ),
    openb.SUITE: replace(SUITES[openb.SUITE], models=openb.MODELS[:1], limits_seconds=(30.0,)),
    preemption.SUITE: Suite(
        _crowds,
        ("preemption",),
        lambda _: lambda _: preemption.preemption_model(),
        (10.0,),
    ),
    golden.SUITE: SUITES[golden.SUITE],
}
