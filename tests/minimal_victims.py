"""Tiny full clusters on which one job needs room: the fewest victims by trying all sets.

``python -m tests.minimal_victims 300`` plans as many of them with the whole planner.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from math import prod
from typing import Any

from kantopt.clock import Deadline
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Model
from kantopt.search.construct import How, construct, missing_jobs
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from tests.oracle import Value, best, job_options
from tests.questions import model, question

GPU = "nvidia.com/gpu"
MOST_PLACEMENTS = 60_000
OBJECTIVES = ("evictions", {"evictions": {"by": "all", "unit": "pod"}}, "lost_gpu_seconds", "moves")


def victims_question(seed: int) -> tuple[Question, Model]:
    """A cluster without much room and a job that must be placed; the same for the same seed."""
    rng = random.Random(seed)
    while True:
        asked, rules = _drawn(rng)
        instance = asked.instance(rules)
        if prod(len(job_options(instance, job)) for job in instance.jobs) <= MOST_PLACEMENTS:
            return asked, rules


def _drawn(rng: random.Random) -> tuple[Question, Model]:
    free = [4] * rng.choice((2, 2, 3))
    spare = rng.randint(0, 2)
    running: list[dict[str, Any]] = []
    while sum(free) > spare and len(running) < 7:
        gpus = rng.choice((1, 1, 2, 2, 4))
        fitting = [n for n, left in enumerate(free) if left >= gpus]
        if not fitting:
            break
        pods = rng.choice((1, 1, 1, 2))
        nodes = rng.sample(fitting, min(pods, len(fitting)))
        for n in nodes:
            free[n] -= gpus
        running.append(_job(rng, len(running), gpus, nodes))
    wanted = {
        "name": "wanted",
        "priority": rng.choice((40, 60, 1000)),
        "podSets": [{"count": rng.choice((1, 1, 2)), "requests": {GPU: rng.choice((2, 3, 4))}}],
    }
    if rng.random() < 0.3:
        wanted["podSets"][0]["topologyRequest"] = {"required": "host"}
    budget = {
        "name": "b",
        "selector": {"matchLabels": {"guarded": "yes"}},
        "disruptionsAllowed": rng.randint(0, 1),
    }
    asked = question(
        [{"name": f"n{n}", "allocatable": {GPU: 4}} for n in range(len(free))],
        running,
        [wanted],
        topology={"levels": [{"name": "host", "nodeLabel": "kubernetes.io/hostname"}]},
        podDisruptionBudgets=[budget],
        metadata={"capturedAt": "2026-01-01T10:00:00Z"},
    )
    return asked, model(*OBJECTIVES, required=["wanted"])


def _job(rng: random.Random, i: int, gpus: int, nodes: list[int]) -> dict[str, Any]:
    places = [{"node": f"n{n}"} for n in nodes]
    podset: dict[str, Any] = {"count": len(nodes), "requests": {GPU: gpus}, "assignments": places}
    if rng.random() < 0.5:
        podset["minCount"] = 0
    if rng.random() < 0.2:
        podset["labels"] = {"guarded": "yes"}
    return {
        "name": f"r{i}",
        "priority": rng.choice((10, 10, 50, 100)),
        "disruptionCost": rng.choice((1, 1, 1, 0, 2, 3)),
        "disruptionMode": rng.choice(("single", "single", "all")),
        "preemptible": rng.random() < 0.9,
        "movable": rng.random() < 0.25,
        "startTime": f"2026-01-01T{rng.randint(0, 9):02}:00:00Z",
        "podSets": [podset],
    }


def expected(seed: int) -> Value | None:
    """Value of the best plan by brute force; ``None`` if there is none."""
    asked, rules = victims_question(seed)
    return best(asked.instance(rules))[0]


def planned(seed: int) -> Result:
    """Answer of the whole planner, which counts work: the clock must not decide what is proved.

    Some of these the fast path alone gets wrong, and on a busy machine the exact search may find no
    time to begin in.
    """
    asked, rules = victims_question(seed)
    return make_plan(asked, rules, Options(), Deadline.within(120.0, deterministic=True))


def trimmed(seed: int) -> Value | None:
    """Value of what greedy-with-reverse-trim finds; ``None`` if nothing."""
    asked, rules = victims_question(seed)
    instance = asked.instance(rules)
    placement = construct(instance, Deadline(None), How(Strategy.REVERSE_TRIM))
    if missing_jobs(instance, placement):
        return None
    return measure(instance, placement, tiers_of(instance))


def main(count: int) -> None:
    """Plan some questions and print how they compare."""
    found: Counter[str] = Counter()
    for seed in range(count):
        value, result, greedy = expected(seed), planned(seed), trimmed(seed)
        ours = tuple(tier.value for tier in result.plan.objectives)
        if value is None:
            found["impossible, proved" if result.infeasible else "IMPOSSIBLE, NOT PROVED"] += 1
            continue
        found["equal to brute force" if ours == value else f"NOT EQUAL (seed {seed})"] += 1
        found["proved optimal"] += result.plan.solver.status == "OPTIMAL"
        found["with victims"] += result.plan.summary.evicted_pods > 0
        found["reverse-trim finds nothing"] += greedy is None
        found["reverse-trim is worse"] += greedy is not None and greedy > ours
        found["reverse-trim is as good"] += greedy == ours
    for what, times in sorted(found.items()):
        print(f"{what:<28}{times:5}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
