"""The greedy heuristic: single moves, the best first, until none makes a slot."""

from __future__ import annotations

import numpy as np

from scripts.bench.case import Documents
from scripts.bench.vm_cluster import MACHINES, SLOTS, START, STUCK, vm_cluster
from scripts.bench.vm_greedy import Zones, greedy, slots_by_moves, zones_of
from scripts.bench.vm_rescheduling import walled

GIB = 2**30


def zones(cores: list[list[int]], vms: list[tuple[int, list[int], int, int]]) -> Zones:
    """Free cores of the zones of each machine, 32 GiB of each; VMs: machine, zones, cores, GiB."""
    return Zones(
        np.array(cores),
        np.full((len(cores), 2), 32),
        np.zeros(len(cores), dtype=np.int64),
        np.array([machine for machine, _, _, _ in vms]),
        np.array([[zone in on for zone in range(2)] for _, on, _, _ in vms]),
        np.array([ask for *_, cores, gib in vms for ask in [(cores, gib)]]),
    )


def test_the_move_that_makes_most_slots_comes_first() -> None:
    both = zones([[12, 12], [12, 12], [6, 6]], [(0, [0], 4, 8), (1, [0, 1], 4, 8)])
    assert greedy(both, 1) == 1
    assert both.slots() == 2
    assert both.machine.tolist() == [0, 0]
    assert both.cores.tolist() == [[8, 8], [16, 16], [6, 6]]


def test_memory_is_a_limit() -> None:
    cluster = zones([[12, 0], [4, 0]], [(0, [0], 4, 40)])
    assert greedy(cluster) == 0
    cluster.memory += 8
    assert greedy(cluster) == 1


def test_a_wall_is_a_limit() -> None:
    open_, apart = (
        zones([[12, 12], [12, 12], [6, 6]], [(0, [0], 4, 8), (1, [0, 1], 4, 8)]) for _ in range(2)
    )
    apart.part[:] = [0, 1, 1]
    assert slots_by_moves(open_) == slots_by_moves(apart) == [0, 2]
    assert open_.machine.tolist() == [0, 0]
    assert apart.machine.tolist() == [0, 2]


def test_node_selectors_are_walls() -> None:
    made = Documents(vm_cluster(0, 20, 78))
    assert set(zones_of(made.snapshot).part.tolist()) == {0}
    apart = zones_of(walled(made).snapshot)
    assert apart.part.tolist() == [0] * 17 + [1] * 3


def test_a_generated_cluster_is_hard_for_it() -> None:
    made = zones_of(vm_cluster(2))
    assert made.slots() == 547
    assert START[0] <= made.fragment_rate() <= START[1]
    assert SLOTS[0] * MACHINES <= made.slots() <= SLOTS[1] * MACHINES
    assert greedy(made) == 20 <= STUCK * MACHINES
    assert made.slots() == 571
    assert made.cores.min() >= 0
    assert 0 <= made.memory.min() <= made.memory.sum() < 0.15 * MACHINES * 2 * 180 * GIB
