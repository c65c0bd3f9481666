"""A generated cluster of virtual machines on NUMA zones, fragmented, short of memory.

Made after what is known of the larger of the two clusters of VM2RL (EuroSys'25): 1,176 machines,
4,546 VMs, a fragment rate of 0.60 at the start, memory that binds. VMs arrive by chance where there
is room, big ones first and ones with much memory last, and some leave. Then, as in production, the
cluster has been tended: single VMs were moved as long as that made slots. After a few more have
come and gone it is a question: what is easy has been done.
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

MACHINES, VMS = 1176, 4546
ZONES = 2
CORES, MEMORY_GIB = 44, 180
"""Of each zone."""
SLOT = 16
START = (0.58, 0.62)
"""Fragment rates of 16-core slots to begin with."""

_NARROW = {2: 10, 4: 20, 8: 30, 16: 30, 32: 10}
_WIDE = {4: 4, 8: 10, 16: 35, 32: 35, 44: 2}
"""Weights by cores per zone, of VMs on one zone and on both."""
_GIB_PER_CORE = {2: 4, 4: 6, 8: 2}
_WIDE_SHARE = 0.45
_LATE = {(2, 16): 3, (4, 32): 4, (2, 32): 2, (8, 64): 3}
"""Weights by cores and GiB of the VMs that fill up the zones with least memory left."""
_EARLY_SHARE, _GONE_SHARE = 0.81, 0.04
"""Of the VMs, those that come before the late ones, and those of them that leave."""
_CHANGED_SHARE = 0.015
"""Of the VMs, those that come and go since the cluster was tended."""
_TRIES = 300
_FIRST_CLUSTER = 0.85
"""Share of the machines in the first of two clusters."""


@dataclass(slots=True)
class _Vm:
    machine: int
    zones: tuple[int, ...]
    cores: int
    gib: int


def vm_cluster(seed: int, machines: int = MACHINES, vms: int = VMS) -> ClusterSnapshot:
    """Make a cluster whose fragment rate is within :data:`START`; the same for the same seed.

    Parameters
    ----------
    seed
        Of the random numbers; drawn again until the fragment rate is right.
    machines, vms
        How many; the fragment rate needs about four VMs per machine.
    """
    rng = random.Random(seed)
    while True:
        cluster = _Cluster(rng, machines)
        cluster.fill(vms)
        cluster.tend()
        cluster.change(round(_CHANGED_SHARE * vms))
        if START[0] <= cluster.fragment_rate() <= START[1]:
            return _snapshot(f"vm-cluster-{seed}", machines, cluster.vms)


class _Cluster:
    """VMs and what is free of each zone, the zones of a machine side by side."""

    def __init__(self, rng: random.Random, machines: int) -> None:
        self._rng = rng
        self._machines = machines
        self._free = [[CORES, MEMORY_GIB] for _ in range(machines * ZONES)]
        self.vms: list[_Vm] = []

    def fragment_rate(self) -> float:
        """Share of the free cores that are in no whole slot."""
        free = [cores for cores, _ in self._free]
        return 1 - SLOT * sum(map(_slots, free)) / sum(free)

    def fill(self, vms: int) -> None:
        """Let VMs come by chance, let some leave, then fill up with VMs that need much memory."""
        early = round(_EARLY_SHARE * vms)
        while len(self.vms) < early:
            self._arrive(*self._drawn())
        self._leave(round(_GONE_SHARE * vms))
        while len(self.vms) < vms:
            cores, gib = self._rng.choices(list(_LATE), list(_LATE.values()))[0]
            zones = [self._rng.randrange(len(self._free)) for _ in range(_TRIES)]
            fitting = [z for z in zones if self._fits((z,), cores, gib)]
            if fitting:
                z = min(fitting, key=lambda z: self._free[z][1])
                self._put(_Vm(z // ZONES, (z % ZONES,), cores, gib))

    def tend(self) -> None:
        """Move single VMs as long as that makes slots, each time where it makes most."""
        while True:
            homes: dict[tuple[int, int, int], tuple[int, int, tuple[int, ...]] | None] = {}
            best: tuple[int, _Vm, int, tuple[int, ...]] | None = None
            for vm in self.vms:
                gain = sum(
                    _slots(self._free[z][0] + vm.cores) - _slots(self._free[z][0])
                    for z in _places(vm.machine, vm.zones)
                )
                shape = (len(vm.zones), vm.cores, vm.gib)
                if gain <= (best[0] if best else 0):
                    continue
                if shape not in homes:
                    homes[shape] = self._home(*shape)
                home = homes[shape]
                if home and home[1] != vm.machine and gain - home[0] > (best[0] if best else 0):
                    best = (gain - home[0], vm, home[1], home[2])
            if best is None:
                return
            _, vm, machine, zones = best
            self._take(vm, -1)
            vm.machine, vm.zones = machine, zones
            self._take(vm, 1)

    def change(self, vms: int) -> None:
        """Let some VMs leave and as many come."""
        total = len(self.vms)
        self._leave(vms)
        while len(self.vms) < total:
            self._arrive(*self._drawn())
        self.vms.sort(key=lambda vm: (vm.machine, vm.zones, vm.cores, vm.gib))

    def _home(self, width: int, cores: int, gib: int) -> tuple[int, int, tuple[int, ...]] | None:
        """Slots lost, machine and zones, where a VM costs fewest slots."""
        best = None
        sides = [tuple(range(ZONES))] if width > 1 else [(z,) for z in range(ZONES)]
        for machine in range(self._machines):
            for zones in sides:
                places = _places(machine, zones)
                if self._fits(places, cores, gib):
                    free = [self._free[z][0] for z in places]
                    lost = sum(_slots(x) - _slots(x - cores) for x in free)
                    if best is None or lost < best[0]:
                        best = (lost, machine, zones)
                    if lost == 0:
                        return best
        return best

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


def _slots(cores: int) -> int:
    return cores // SLOT


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
