"""A placement is a solution of relaxations, in which who moved and who is gone is said exactly."""

from __future__ import annotations

import pytest

from kantopt.cp.relaxed.domains import DomainRelaxation
from kantopt.cp.relaxed.hints import hint
from kantopt.cp.relaxed.model import Relaxation
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from tests.campaign import some
from tests.generate import random_instance
from tests.oracle import best

SEEDS = 240
BLOCKS = 8


def moved_and_lost(instance: Instance, placement: Placement) -> tuple[int, int]:
    """Pods that run and are on another spot, and pods that ran and are on none."""
    moved = lost = 0
    for podset in instance.podsets:
        if podset.running:
            spots, placed = placement.podsets[podset.index], placement.placed(podset.index)
            moved += placed - sum(min(k, spots.get(at, 0)) for at, k in podset.current.items())
            lost += podset.count - placed
    return moved, lost


@pytest.mark.parametrize("block", some(range(BLOCKS)))
@pytest.mark.parametrize("kind", [Relaxation, DomainRelaxation])
def test_an_optimal_placement_is_a_solution(kind: type[Relaxation], block: int) -> None:
    disturbed = 0
    for seed in range(block, SEEDS, BLOCKS):
        instance = random_instance(seed)
        _, placement = best(instance)
        if placement is None:
            continue
        m = kind(instance, tiers_of(instance))
        hint(m, placement)
        told = m.cp.proto.solution_hint
        value = dict(zip(told.vars, told.values, strict=True))
        assert len(value) == len(m.cp.proto.variables), seed
        moved = sum(value[var.index] for var in m.moved.values())
        evicted = (k for k in m.kinds.pods if k.evictable)
        lost = sum(k.count - sum(value[v.index] for v in m.at[k.index].values()) for k in evicted)
        assert (moved, lost) == moved_and_lost(instance, placement), seed
        disturbed += moved + lost > 0
    assert disturbed
