"""Limits of moves by job, namespace and node: counted on the way, and kept by searches."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.chains.guards import Guards
from kantopt.search.chains.improve import improve as chains
from kantopt.search.chains.scope import scope_of
from kantopt.search.repair.improve import improve as repair
from kantopt.search.state import State
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.step import Step
from tests.campaign import some
from tests.generate import random_instance
from tests.placements import random_placement
from tests.search.helpers import searching
from tests.search.repair_questions import full_cluster
from tests.search.test_chains_random import hard

BRIEF = Deadline(1.0, deterministic=True)
LONGER = Deadline(3.0, deterministic=True)
LIMITS = ("moves", "moves_per_namespace", "arrivals_per_node", "departures_per_node")


def limited(instance: Instance, **limits: int | None) -> Instance:
    """The same question under other limits."""
    changed = instance.model.limits.model_copy(update=limits)
    return replace(instance, model=instance.model.model_copy(update={"limits": changed}))


@pytest.mark.parametrize("seeds", [range(k, k + 40) for k in some(range(0, 240, 40))], ids=str)
def test_what_is_counted_on_the_way_is_what_the_judge_counts(seeds: range) -> None:
    broken = 0
    for seed in seeds:
        rng = random.Random(seed)
        instance = limited(random_instance(seed), **{rng.choice(LIMITS): rng.randint(0, 2)})
        if seed % 3 == 0:
            jobs = tuple(replace(job, max_moves=1, most_moves=1) for job in instance.jobs)
            instance = replace(instance, jobs=jobs)
        state = State(instance, random_placement(rng, instance))
        for _ in range(20):
            mark, goal = state.mark(), random_placement(rng, instance)
            for s, spots in enumerate(goal.podsets):
                for spot in sorted({*spots, *state.spots[s]}):
                    more = spots.get(spot, 0) - state.spots[s].get(spot, 0)
                    if more:
                        state.add(s, spot, more)
            step = Step(instance, instance.current, state.placement())
            running = [podset.index for podset in instance.podsets if podset.running]
            assert state.pace.moves == sum(step.moved(s) for s in running)
            faults = check(instance, state.placement(), [Rule.LIMITS])
            # Of a job that may not move all its pods at once none may move (problem/freedom.py).
            faults = [fault for fault in faults if not fault.subject.endswith("at once")]
            if not any(fault.subject == "evictions" for fault in faults):
                assert state.pace.kept() is not bool(faults)
                broken += bool(faults)
            if rng.random() < 0.5:
                state.undo(mark)
    assert broken >= 10


@pytest.mark.parametrize("seed", range(4))
def test_chains_keep_a_limit_of_the_only_namespace_like_one_of_all(seed: int) -> None:
    instance, found = hard(seed, "counts"), []
    for limit in ("moves", "moves_per_namespace"):
        asked = limited(instance, **{limit: 1})
        tiers = tiers_of(asked)
        best = searching(chains)(asked, asked.current, tiers, LONGER, seed)
        assert not check(asked, best)
        assert measure(asked, best, tiers) < measure(asked, asked.current, tiers)
        found.append(best)
    assert found[0] == found[1]


@pytest.mark.parametrize("limits", [{"moves_per_namespace": 2}, {"arrivals_per_node": 1}], ids=str)
def test_repairs_keep_limits_of_namespaces_and_nodes(limits: dict[str, Any]) -> None:
    better = 0
    for seed in range(8):
        asked = limited(full_cluster(seed, 8, 2, 40, 12, 6), **limits)
        tiers = tiers_of(asked)
        best = searching(repair)(asked, asked.current, tiers, BRIEF, seed)
        assert not check(asked, best)
        still = searching(repair)(limited(asked, moves=0), asked.current, tiers, BRIEF, seed)
        better += measure(asked, best, tiers)[0] < measure(asked, still, tiers)[0]
    assert better >= 5


def test_a_limit_that_binds_nobody_makes_no_guard() -> None:
    free = hard(0, "counts")
    for limit, guarded in ((36, False), (2, True)):
        asked = limited(free, moves_per_namespace=limit)
        assert Guards(scope_of(asked, asked.current)).none is not guarded
