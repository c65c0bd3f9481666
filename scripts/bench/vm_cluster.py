"""A generated cluster of virtual machines on NUMA zones, fragmented, short of memory.

Made after what is known of the larger of the two clusters of VM2RL (EuroSys'25): 1,176 machines,
4,546 VMs, 469 free slots and a fragment rate of 0.6003 at the start, where the greedy heuristic is
stuck after 16 moves; memory binds. VMs arrive by chance where there is room, and some leave; ones
with much memory come last, where cores are left beside whole slots. Then, as in production, the
cluster has been tended: single VMs were moved as long as that made slots. After some more have
come and gone it is a question: what is easy has been done.

What is checked of every cluster that is made: its fragment rate (:data:`START`), its slots
(:data:`SLOTS`), and that the greedy heuristic is stuck early (:data:`STUCK`). Of seeds 0 to 2
at full size: 552, 561 and 547 slots, fragment rates of 0.605 to 0.608, the heuristic stuck after
18, 20 and 20 moves at 0.594, 0.593 and 0.587; nine tenths of the memory taken. With three times
the memory 25 moves could make 12 to 17 slots more and 100 moves 14 to 24 (bounds): it binds.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Assignment, DeviceRequest, Job, PodSet
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    Node,
    NodeDevices,
    SnapshotMetadata,
    Topology,
    TopologyLevel,
)
from scripts.bench.vm_greedy import SLOT, Zones, greedy

MACHINES, VMS = 1176, 4546
ZONES = 2
CORES, MEMORY_GIB = 44, 180
"""Of each zone."""
START = (0.58, 0.62)
"""Fragment rates of 16-core slots to begin with."""
SLOTS = (0.38, 0.48)
"""Slots per machine to begin with."""
STUCK = 0.02
"""Moves per machine after which the greedy heuristic is stuck at the latest."""
SMALL = 500
"""Machines below which only the fragment rate is checked: chance decides the rest."""

_NARROW = {2: 10, 4: 20, 8: 30, 16: 30, 32: 10}
_WIDE = {4: 4, 8: 10, 16: 35, 32: 35, 44: 2}
"""Weights by cores per zone, of VMs on one zone and on both."""
_GIB_PER_CORE = {2: 2, 4: 6, 8: 4}
_WIDE_SHARE = 0.64
_LATE = {(2, 32): 2, (2, 64): 3, (4, 64): 4}
"""Weights by cores and GiB of the VMs that come where most cores are free beside whole slots."""
_EARLY_SHARE, _GONE_SHARE = 0.75, 0.03
"""Of the VMs, those that come before the late ones, and those of them that leave."""
_CHANGED_SHARE = 0.008
"""Of the VMs, those that come and go since the cluster was tended."""
_TRIES = 300
"""Places looked at for each VM that comes."""
_PATIENCE = 1000
"""VMs in a row that find no place before a cluster counts as full."""
_FIRST_CLUSTER = 0.85
"""Share of the machines in the first of two clusters."""


@dataclass(slots=True)
class _Vm:
    machine: int
    zones: tuple[int, ...]
    cores: int
    gib: int


def vm_cluster(seed: int, machines: int = MACHINES, vms: int = VMS) -> ClusterSnapshot:
    """Make a cluster as hard as :data:`START`, :data:`SLOTS` and :data:`STUCK` say.

    The same for the same seed.

    Parameters
    ----------
    seed
        Of the random numbers; drawn again until the cluster is as it should be.
    machines, vms
        How many; the fragment rate needs about four VMs per machine.
    """
    rng = random.Random(seed)
    while True:
        cluster = _Cluster(rng, machines)
        if not cluster.fill(vms):
            continue
        cluster.tend()
        cluster.change(round(_CHANGED_SHARE * vms))
        if _hard(cluster.zones()):
            return _snapshot(f"vm-cluster-{seed}", machines, cluster.vms)


def _hard(zones: Zones) -> bool:
    """Whether a cluster is as fragmented as it should be, and the greedy heuristic soon stuck."""
    machines = len(zones.cores)
    if not START[0] <= zones.fragment_rate() <= START[1]:
        return False
    if machines < SMALL:
        return True
    if not SLOTS[0] * machines <= zones.slots() <= SLOTS[1] * machines:
        return False
    most = round(STUCK * machines)
    return greedy(zones, most + 1) <= most


class _Cluster:
    """VMs and what is free of each zone, the zones of a machine side by side."""

    def __init__(self, rng: random.Random, machines: int) -> None:
        self._rng = rng
        self._machines = machines
        self._free = [[CORES, MEMORY_GIB] for _ in range(machines * ZONES)]
        self.vms: list[_Vm] = []

    def fill(self, vms: int) -> bool:
        """Let VMs come by chance, let some leave, then fill up with VMs that need much memory.

        Returns whether there was room for all of them.
        """
        early = round(_EARLY_SHARE * vms)
        while len(self.vms) < early:
            self._arrive(*self._drawn())
        self._leave(round(_GONE_SHARE * vms))
        missed = 0
        while len(self.vms) < vms and missed < _PATIENCE:
            missed += 1
            cores, gib = self._rng.choices(list(_LATE), list(_LATE.values()))[0]
            zones = [self._rng.randrange(len(self._free)) for _ in range(_TRIES)]
            fitting = [z for z in zones if self._fits((z,), cores, gib)]
            if fitting:
                z = max(fitting, key=lambda z: self._free[z][0] % SLOT)
                self._put(_Vm(z // ZONES, (z % ZONES,), cores, gib))
                missed = 0
        return len(self.vms) == vms

    def zones(self) -> Zones:
        """The cluster as the greedy heuristic sees it."""
        import numpy as np

        free = np.array(self._free, dtype=np.int64).reshape(self._machines, ZONES, 2)
        return Zones(
            free[:, :, 0].copy(),
            free[:, :, 1].copy(),
            np.zeros(self._machines, dtype=np.int64),
            np.array([vm.machine for vm in self.vms], dtype=np.int64),
            np.array([[z in vm.zones for z in range(ZONES)] for vm in self.vms], dtype=np.bool_),
            np.array([(vm.cores, vm.gib) for vm in self.vms], dtype=np.int64),
        )

    def tend(self) -> None:
        """Move single VMs as long as that makes slots, each time where it makes most."""
        zones = self.zones()
        greedy(zones)
        for vm, machine, on in zip(self.vms, zones.machine.tolist(), zones.on, strict=True):
            self._take(vm, -1)
            vm.machine, vm.zones = machine, tuple(on.nonzero()[0].tolist())
            self._take(vm, 1)

    def change(self, vms: int) -> None:
        """Let some VMs leave and as many come."""
        total = len(self.vms)
        self._leave(vms)
        while len(self.vms) < total:
            self._arrive(*self._drawn())
        self.vms.sort(key=lambda vm: (vm.machine, vm.zones, vm.cores, vm.gib))

    def _drawn(self) -> tuple[int, int, int]:
        """Draw zones, cores and GiB of a VM."""
        wide = self._rng.random() < _WIDE_SHARE
        shapes = {
            (cores, cores * ratio): weight * share
            for cores, weight in (_WIDE if wide else _NARROW).items()
            for ratio, share in _GIB_PER_CORE.items()
            if cores * ratio <= MEMORY_GIB
        }
        cores, gib = self._rng.choices(list(shapes), list(shapes.values()))[0]
        return (ZONES if wide else 1), cores, gib

    def _arrive(self, width: int, cores: int, gib: int) -> None:
        """Put a VM where there is room by chance; without luck it goes elsewhere."""
        for _ in range(_TRIES):
            machine = self._rng.randrange(self._machines)
            zones = tuple(range(ZONES)) if width > 1 else (self._rng.randrange(ZONES),)
            if self._fits(_places(machine, zones), cores, gib):
                self._put(_Vm(machine, zones, cores, gib))
                return

    def _leave(self, vms: int) -> None:
        self._rng.shuffle(self.vms)
        for vm in self.vms[:vms]:
            self._take(vm, -1)
        del self.vms[:vms]

    def _put(self, vm: _Vm) -> None:
        self.vms.append(vm)
        self._take(vm, 1)

    def _fits(self, places: Sequence[int], cores: int, gib: int) -> bool:
        return all(self._free[z][0] >= cores and self._free[z][1] >= gib for z in places)

    def _take(self, vm: _Vm, sign: int) -> None:
        for z in _places(vm.machine, vm.zones):
            self._free[z][0] -= sign * vm.cores
            self._free[z][1] -= sign * vm.gib


def _places(machine: int, zones: Sequence[int]) -> list[int]:
    return [machine * ZONES + zone for zone in zones]


def _snapshot(name: str, machines: int, placed: list[_Vm]) -> ClusterSnapshot:
    """Write the cluster down; its machines are in two clusters, a level of the topology."""
    zones = NodeDevices(
        device_class="numa",
        count=ZONES,
        capacity={"cpu": CORES, "memory": f"{MEMORY_GIB}Gi"},
    )
    first = round(_FIRST_CLUSTER * machines)
    nodes = tuple(
        Node(
            name=_machine(i),
            labels={"cluster": "a" if i < first else "b"},
            devices=(zones,),
        )
        for i in range(machines)
    )
    return ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=name),
        topology=Topology(levels=(TopologyLevel(name="cluster", node_label="cluster"),)),
        nodes=nodes,
        jobs=tuple(_job(i, vm) for i, vm in enumerate(placed)),
    )


def _job(i: int, vm: _Vm) -> Job:
    request = DeviceRequest(
        device_class="numa",
        count=len(vm.zones),
        requests={"cpu": vm.cores, "memory": f"{vm.gib}Gi"},
    )
    place = Assignment(node=_machine(vm.machine), devices=vm.zones)
    return Job(
        name=f"vm-{i:05d}",
        preemptible=False,
        movable=True,
        move_mode="live",
        pod_sets=(PodSet(name="vm", count=1, devices=(request,), assignments=(place,)),),
    )


def _machine(i: int) -> str:
    return f"machine-{i:04d}"
