"""Small crowded clusters for tests of column generation, and what is true of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from ortools.sat.python import cp_model

from kantopt.cp.model import PlacementModel
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from tests.verify.world import HOST, job, node, pods, question

PLACEMENT_FIRST = ({"unplaced": {"unit": "pod"}}, {"evictions": {"by": "all"}}, "moves")
TIER_BY_TIER = ({"each_priority": [{"unplaced": {"unit": "pod"}}, "disruption_cost"]},)
MOVES_FIRST = (
    {"unplaced": {"unit": "job"}},
    "moves",
    "disruption_cost",
    {"evictions": {"by": "all"}},
)
ORDERS = (PLACEMENT_FIRST, TIER_BY_TIER, MOVES_FIRST)
MEMORY = "memory"


def crowded(seed: int, objectives: Sequence[Any] | None = None, *, apart: float = 0.0) -> Instance:
    """Two to four nodes nearly as large as all pods together; some pods run, some wait.

    Some may not move, some may not be evicted, some may not run everywhere; of a share of the jobs
    a node holds one pod.
    """
    rng, keeps = random.Random(seed), random.Random(seed)
    names = [f"n{k}" for k in range(rng.randint(2, 4))]
    sizes = [
        (rng.randint(1, 4), rng.randint(1, 3), rng.randint(2, 9), rng.randint(2, 9))
        for _ in range(rng.randint(3, 6))
    ]
    room = [
        sum(count * size[r] for _, count, *size in sizes)
        * rng.randint(95, 115)
        // 100
        // len(names)
        + 1
        for r in (0, 1)
    ]
    nodes = [
        node(name, cpu=room[0], offers={MEMORY: room[1]}, labels={"name": name}) for name in names
    ]
    left = {name: list(room) for name in names}
    jobs = []
    for i, (priority, count, cpu, memory) in enumerate(sizes):
        on = []
        waiting = rng.random() < 0.35
        alone = keeps.random() < apart
        for _ in range(0 if waiting else rng.randint(1, count)):
            fits = [x for x in names if left[x][0] >= cpu and left[x][1] >= memory]
            fits = [x for x in fits if not (alone and x in on)]
            if fits:
                x = rng.choice(fits)
                left[x] = [left[x][0] - cpu, left[x][1] - memory]
                on.append(x)
        podset = pods(count=count, cpu=cpu, on=on, minCount=0)
        podset["requests"][MEMORY] = memory
        if alone:
            selector = {"matchLabels": {"job": f"j{i}"}}
            podset["podAntiAffinity"] = [{"topologyKey": HOST, "labelSelector": selector}]
        if rng.random() < 0.15:
            podset["movable"] = False
        if rng.random() < 0.1:
            podset["nodeSelector"] = {"name": rng.choice(names)}
        more = {"preemptible": False} if rng.random() < 0.15 else {}
        jobs.append(job(f"j{i}", podset, priority=priority, **more))
    return question(
        nodes,
        jobs,
        objectives=ORDERS[seed % 3] if objectives is None else objectives,
        rules={"priority": "counts" if seed % 2 else "strict"},
    )


def least(instance: Instance, tiers: Sequence[Tier], locked: Sequence[int], t: int) -> int:
    """Least value of a tier over the plans that are no worse than ``locked`` in those above."""
    model = PlacementModel(instance)
    for tier, value in zip(tiers[:t], locked, strict=False):
        model.cp.add(model.expression(tier) <= value)
    model.cp.minimize(model.expression(tiers[t]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model.cp) == cp_model.OPTIMAL
    return round(solver.objective_value)
