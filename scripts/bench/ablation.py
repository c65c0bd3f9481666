"""Each technique of the search left out in turn, beside all of them: who earns its keep?

Of each suite a few instances that differ: small and large ones, with room and without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kantopt.errors import UsageError
from kantopt.report.blocks import Block, Paragraph, Table
from kantopt.search.schedule import techniques
from scripts.bench import (
    apart,
    arrivals,
    backlog,
    busy,
    gangs,
    golden,
    openb,
    pooled,
    preemption,
    priority_matters,
    victims,
)
from scripts.bench.busy_cluster import busy_cluster
from scripts.bench.case import Case, by_kind
from scripts.bench.crowded import KINDS, Crowd, crowded
from scripts.bench.features.compared import ratio, times
from scripts.bench.features.stated import own_model, stated_by
from scripts.bench.features.suite import BASE, BASES, RUN, Base, chosen_names
from scripts.bench.figures import grouped, share
from scripts.bench.grid import Grid, seeds_of
from scripts.bench.models import MakeModel, shipped
from scripts.bench.row import Row

SUITE = "ablation"
ALL, AGAIN = "all", "all-again"
"""Runs with all techniques: the one compared with, and one more, for what chance does."""


def _packing(grid: Grid) -> list[Case]:
    return priority_matters.cases(
        grid.nodes or (16, 32),
        grid.pods_per_node or (4, 8),
        grid.priorities or (4,),
        grid.usage_percent or (95, 100, 105),
        seeds_of(grid.seeds, grid.data),
    )


def _gangs(grid: Grid) -> list[Case]:
    nodes = grid.nodes or (100,)
    return gangs.cases(nodes, grid.usage_percent, seeds_of(grid.seeds, grid.data), grid.data)


def _backlog(grid: Grid) -> list[Case]:
    seeds = seeds_of(grid.seeds, grid.data)
    return by_kind(backlog.SUITE, backlog.KINDS, backlog.drawn, grid.nodes or (128,), seeds)


def _arrivals(grid: Grid) -> list[Case]:
    nodes, usage = grid.nodes or (1250,), grid.usage_percent or (85,)
    return arrivals.cases(nodes, usage, seeds_of(grid.seeds, grid.data), grid.data)


def _shares(grid: Grid) -> list[Case]:
    assert grid.data is not None
    return openb.cases(grid.data)


def _apart(suite: str, grid: Grid) -> list[Case]:
    seeds = seeds_of(grid.seeds, grid.data)
    found = priority_matters.cases((32,), (8,), (4,), (100,), seeds)
    return [apart.apart(case, suite) for case in found]


def _pools(grid: Grid) -> list[Case]:
    seeds = seeds_of(4 * grid.seeds, grid.data)
    found = priority_matters.cases((16,), (8,), (4,), (95,), seeds)
    return [pooled.pooled(found[k : k + 4]) for k in range(0, len(found), 4)]


def _crowds(grid: Grid) -> list[Case]:
    crowds = [
        Crowd(nodes, kind, seed)
        for nodes in grid.nodes or preemption.NODES
        for kind in KINDS
        for seed in range(grid.seeds)
    ]
    return [
        Case(preemption.SUITE, f"{c.kind}-n{c.nodes}", c.seed, {}, partial(crowded, c))
        for c in crowds
    ]


def _victims(grid: Grid) -> list[Case]:
    seeds = range(grid.seeds)
    return by_kind(victims.SUITE, victims.KINDS, victims.drawn, grid.nodes or (96,), seeds)


def _everyday(grid: Grid) -> list[Case]:
    seeds = range(grid.seeds)
    return [Case(busy.SUITE, f"everyday-{s}", s, {}, partial(busy_cluster, s)) for s in seeds]


_OF = {
    **BASES,
    priority_matters.SUITE: replace(BASES[priority_matters.SUITE], cases=_packing),
    gangs.SUITE: replace(BASES[gangs.SUITE], cases=_gangs),
    openb.SUITE: replace(BASES[openb.SUITE], cases=_shares),
    golden.SUITE: Base(lambda _: golden.cases(), golden.model),
    **{
        suite: Base(partial(_apart, suite), BASES[priority_matters.SUITE].model)
        for suite in apart.SUITES
    },
    pooled.SUITE: Base(_pools, BASES[priority_matters.SUITE].model),
    preemption.SUITE: Base(_crowds, lambda _: preemption.preemption_model()),
    arrivals.SUITE: Base(_arrivals, shipped("mixed", counts=False)),
    backlog.SUITE: Base(_backlog, shipped("mixed", counts=False)),
    victims.SUITE: Base(_victims, shipped("mixed", counts=False)),
    busy.SUITE: Base(_everyday, shipped("mixed", counts=False)),
}


def cases(grid: Grid) -> list[Case]:
    """List for each instance a run with all techniques, one more, and one without each.

    Raises
    ------
    UsageError
        If a suite or a technique is none, or a suite needs data.
    """
    names = [each.name for each in techniques()]
    runs = (ALL, AGAIN, *chosen_names("--feature", grid.features, names))
    found = []
    for name in chosen_names("--of", grid.of, list(_OF)):
        if _OF[name].needs_data and grid.data is None:
            raise UsageError(
                f"bench {SUITE}: {name} needs data: give --data DIR, set KANTOPT_DATA or say --of"
            )
        for case in _OF[name].cases(grid):
            found += _runs(case, _OF[name].model, runs)
    return found


def model(_: str) -> MakeModel:
    """Return what says the model that a question is stated with."""
    return own_model


def _runs(case: Case, make: MakeModel, runs: Sequence[str]) -> list[Case]:
    stated = stated_by(case, make)
    return [
        replace(
            case,
            suite=SUITE,
            instance=f"{case.suite}/{case.instance}/{run}",
            parameters={**case.parameters, BASE: case.suite, RUN: run},
            make=stated,
            for_pending=False,
            one_model=True,
            without=() if run in (ALL, AGAIN) else (run,),
        )
        for run in runs
    ]


def ablation_blocks(rows: Sequence[Row]) -> list[Block]:
    """Lay out for each technique and suite what is lost without it."""
    with_all = {_question(row): row for row in rows if row.parameters[RUN] == ALL}
    lines = []
    for (run, base), group in grouped(
        rows, lambda row: (row.parameters[RUN], row.parameters[BASE])
    ):
        pairs = [(with_all[_question(row)], row) for row in group if _question(row) in with_all]
        if run != ALL and pairs:
            lines.append((run, base, *_compared(pairs)))
    if not lines:
        return [Paragraph("No pairs.")]
    order = [AGAIN, *(each.name for each in techniques())]
    lines.sort(key=lambda line: order.index(line[0]))
    columns = (
        "WITHOUT",
        "SUITE",
        "RUNS",
        "WORSE",
        "FIRST IN",
        "BETTER",
        "PROVED",
        "PROOF",
        "FIRST",
    )
    title = (
        "Without one technique, beside all of them: runs with worse and with better values, and "
        "the tiers in which the worse are so first; proofs of those there are with all; medians "
        f"of the time to proof and to the first plan over those with all. {AGAIN}: nothing is left "
        "out, which is what chance does"
    )
    return [Table(title, columns, tuple(lines), frozenset({2, 3, 5, 7, 8}))]


def _compared(pairs: Sequence[tuple[Row, Row]]) -> tuple[str, ...]:
    worse = [(a, b) for a, b in pairs if b.verified != "yes" or b.outcome > a.outcome]
    better = sum(b.verified == "yes" and b.outcome < a.outcome for a, b in pairs)
    first = Counter(_first(a, b) for a, b in worse)
    proved = [(a, b) for a, b in pairs if a.proof_seconds is not None]
    kept = sum(b.proof_seconds is not None for _, b in proved)
    return (
        str(len(pairs)),
        str(len(worse)),
        ", ".join(tier for tier, _ in first.most_common(3)) or "-",
        str(better),
        share(kept, len(proved)),
        ratio([times(a.proof_seconds, b.proof_seconds) for a, b in pairs]),
        ratio([times(a.first_seconds, b.first_seconds) for a, b in pairs]),
    )


def _first(a: Row, b: Row) -> str:
    """Most important tier in which a run is worse."""
    pairs = zip(("required", *a.tiers), a.outcome, b.outcome, strict=False)
    return next((tier for tier, ours, theirs in pairs if ours != theirs), "no plan")


def _question(row: Row) -> tuple[str, int, str, float]:
    return row.instance.rpartition("/")[0], row.seed, row.engine, row.limit_seconds
