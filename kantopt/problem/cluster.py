"""The cluster's side of a question: nodes, devices, domains, quotas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kantopt.schema.eligibility import LEAVING

Amounts = tuple[int, ...]
"""Amount of each resource of the instance, in base units and in the instance's order."""


class Spot(NamedTuple):
    """A place for one pod: a node and the indices of the devices it occupies there."""

    node: int
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU that can be shared, a NUMA zone: something below the node with its own capacity."""

    device_class: str
    capacity: Amounts


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark that keeps pods away which do not tolerate it."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Node:
    """A machine; ``capacity`` holds ``None`` for a resource without limit."""

    index: int
    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    ready: bool
    capacity: tuple[int | None, ...]
    devices: tuple[Device, ...]
    gpu_milli: int
    drained: bool = False
    """To be emptied: nothing arrives, and pods may move off it even if it is not ready."""
    price: int = 0
    """Of the node in use, in millionths."""
    idle_power: int = 0
    """Of the node in use without its GPUs, in watts."""
    power_per_gpu: int = 0
    """Of each GPU that a pod holds, in watts."""

    @property
    def usable(self) -> bool:
        """Whether pods may arrive, as far as that is for the node to say."""
        leaving = any(t.key in LEAVING and t.effect != "PreferNoSchedule" for t in self.taints)
        return self.ready and not (self.unschedulable or self.drained or leaving)

    @property
    def holds(self) -> bool:
        """Whether pods are not moved off it: nobody knows how they are, and nobody has asked."""
        return not self.ready and not self.drained

    def devices_of(self, device_class: str) -> tuple[int, ...]:
        """Indices of the devices of a class."""
        return tuple(
            i for i, device in enumerate(self.devices) if device.device_class == device_class
        )


@dataclass(frozen=True, slots=True)
class Domain:
    """A vertex of the topology above nodes. Its identity is the path, not the last label."""

    level: int
    path: tuple[str, ...]
    nodes: tuple[int, ...]

    def __str__(self) -> str:
        return "/".join(self.path)


@dataclass(frozen=True, slots=True)
class Topology:
    """Levels from coarse to fine and the domains that the nodes' labels make."""

    levels: tuple[str, ...]
    labels: tuple[str, ...]
    domains: tuple[tuple[Domain, ...], ...]
    """Domains of each level, by path."""
    domain_of: tuple[tuple[int | None, ...], ...]
    """Index of each node's domain at each level; ``None`` where a label on the path is missing."""

    def level(self, name: str) -> int:
        """Index of a level given by its name or its node label."""
        return self.levels.index(name) if name in self.levels else self.labels.index(name)


@dataclass(frozen=True, slots=True)
class Quota:
    """Share of one queue in one resource, in base units; ``None`` means no limit.

    ``nominal`` is less what jobs hold whether they run or wait, so that it can be below 0: in a
    cohort they may have borrowed it.
    """

    resource: int
    nominal: int
    borrowing_limit: int | None
    lending_limit: int | None
    held: int = 0
    """What is taken off ``nominal``: jobs hold it for which it is reserved, which are in no queue,
    or it is in use by other names."""

    @property
    def guaranteed(self) -> int:
        """Part of the nominal quota that is never lent."""
        if self.lending_limit is None:
            return 0
        return max(0, self.nominal - self.lending_limit)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue and its quotas, one per limited resource."""

    index: int
    name: str
    cohort: str
    quotas: tuple[Quota, ...]


@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget: of these pod sets at most ``allowed`` pods may be away at once.

    Pods that it lets go in any number are none of its pod sets.
    """

    index: int
    name: str
    allowed: int
    podsets: tuple[int, ...]
