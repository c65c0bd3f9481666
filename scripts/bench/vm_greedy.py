"""The greedy heuristic that VM rescheduling is compared with: one VM at a time, by what it makes.

The published one (VM2RL, EuroSys'25) moves the VM whose leaving makes most slots to the machine
where it costs fewest, and stops where no single move makes one. Here the two are chosen together,
which is never worse at one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot

if TYPE_CHECKING:
    from kantopt.search.shapes import Ints, Mask

SLOT = 16
"""Cores of a slot, on one zone."""
_NEVER = 2**40


@dataclass(slots=True)
class Zones:
    """What is free of the zones of each machine, and the VMs on them.

    Attributes
    ----------
    cores, memory
        Free, (machines, zones).
    part
        Of each machine: VMs stay within theirs.
    machine, on
        Of each VM: its machine, and which of the zones it is on, (VMs, zones).
    asks
        Cores and memory that each VM takes of each of its zones, (VMs, 2).
    """

    cores: Ints
    memory: Ints
    part: Ints
    machine: Ints
    on: Mask
    asks: Ints

    def slots(self) -> int:
        """Free slots."""
        return int((self.cores // SLOT).sum())

    def fragment_rate(self) -> float:
        """Share of the free cores that are in no whole slot."""
        return 1 - SLOT * self.slots() / int(self.cores.sum())

    def move(self, vm: int, machine: int, on: Sequence[bool] | Mask) -> None:
        """Move a VM."""
        cores, memory = self.asks[vm]
        self.cores[self.machine[vm]] += cores * self.on[vm]
        self.memory[self.machine[vm]] += memory * self.on[vm]
        self.machine[vm], self.on[vm] = machine, on
        self.cores[machine] -= cores * self.on[vm]
        self.memory[machine] -= memory * self.on[vm]


def zones_of(snapshot: ClusterSnapshot) -> Zones:
    """Read a cluster of one class of devices, of which each VM takes one or all of a machine.

    Machines that node selectors keep apart are in parts of their own.
    """
    import numpy as np

    place = {node.name: i for i, node in enumerate(snapshot.nodes)}
    offered = [
        (node.devices[0].count, *_amounts(node.devices[0].capacity)) for node in snapshot.nodes
    ]
    several = max(count for count, _, _ in offered)
    free = np.array([[each[1:]] * several for each in offered], dtype=np.int64)
    machine, on, asks = [], [], []
    for job in snapshot.jobs:
        (podset,) = job.pod_sets
        (assignment,) = podset.assignments
        machine.append(place[assignment.node])
        on.append([zone in assignment.devices for zone in range(several)])
        asks.append(_amounts(podset.devices[0].requests))
        free[machine[-1], on[-1]] -= asks[-1]
    return Zones(
        free[:, :, 0].copy(),
        free[:, :, 1].copy(),
        _parts(snapshot),
        np.array(machine, dtype=np.int64),
        np.array(on, dtype=np.bool_),
        np.array(asks, dtype=np.int64),
    )


def _parts(snapshot: ClusterSnapshot) -> Ints:
    import numpy as np

    keys = sorted({key for job in snapshot.jobs for key in job.pod_sets[0].node_selector})
    sides = [tuple(node.labels.get(key) for key in keys) for node in snapshot.nodes]
    number = {side: i for i, side in enumerate(dict.fromkeys(sides))}
    return np.array([number[side] for side in sides], dtype=np.int64)


def _amounts(quantities: Mapping[str, str | int]) -> tuple[int, int]:
    """Cores, and memory in bytes."""
    return to_base("cpu", quantities["cpu"]) // 1000, to_base("memory", quantities["memory"])


def slots_by_moves(zones: Zones) -> list[int]:
    """Free slots at first and after each move of :func:`greedy`; changes the zones."""
    found = [zones.slots()]
    while greedy(zones, 1):
        found.append(zones.slots())
    return found


def greedy(zones: Zones, most: int | None = None) -> int:
    """Move single VMs to other machines as long as that makes slots; return how many moves.

    Each time the move is made that makes most; of equal ones that of the first VM.

    Parameters
    ----------
    zones
        Is changed.
    most
        Most moves; ``None`` for as many as make slots.
    """
    import numpy as np

    told = (zones.on.sum(axis=1), zones.asks, zones.part[zones.machine])
    shapes, kind = np.unique(np.column_stack(told), axis=0, return_inverse=True)
    moves = 0
    while most is None or moves < most:
        found = _best(zones, shapes, kind.reshape(-1))
        if found is None:
            break
        zones.move(*found)
        moves += 1
    return moves


def _best(zones: Zones, shapes: Ints, kind: Ints) -> tuple[int, int, Mask] | None:
    """VM, machine and zones of the move that makes most slots, if any does."""
    import numpy as np

    slots = zones.cores // SLOT
    left = (zones.cores[zones.machine] + zones.asks[:, :1]) // SLOT - slots[zones.machine]
    gains = (left * zones.on).sum(axis=1)
    best: tuple[int, int, int, int] | None = None
    for k, (width, cores, memory, part) in enumerate(shapes.tolist()):
        members = np.flatnonzero(kind == k)
        vm = int(members[gains[members].argmax()])
        fits = (zones.cores >= cores) & (zones.memory >= memory) & (zones.part == part)[:, None]
        costs = np.where(fits, slots - (zones.cores - cores) // SLOT, _NEVER)
        if width > 1:
            costs = costs.sum(axis=1, keepdims=True)
        costs[zones.machine[vm]] = _NEVER
        place = int(costs.argmin())
        made = int(gains[vm]) - int(costs.flat[place])
        if made > (best[0] if best else 0):
            best = made, vm, place // costs.shape[1], place % costs.shape[1]
    if best is None:
        return None
    _, vm, machine, zone = best
    on = np.arange(zones.on.shape[1]) == zone
    return vm, machine, on if zones.on[vm].sum() == 1 else np.ones_like(on)
