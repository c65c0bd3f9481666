"""Dense vectors of amounts, one entry per resource of the instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from kantopt.problem.cluster import Amounts, Node
from kantopt.problem.job import DeviceNeed
from kantopt.schema.quantity import gpu_milli, to_base


def amounts(
    resources: tuple[str, ...], values: Mapping[str, str | int], *, up: bool = True
) -> Amounts:
    """Return quantities by name as a dense vector in base units; what is absent is 0."""
    found, index = [0] * len(resources), _index(resources)
    for name, value in values.items():
        if (r := index.get(name)) is not None:
            found[r] = to_base(name, value, up=up)
    return tuple(found)


@lru_cache(maxsize=4)
def _index(resources: tuple[str, ...]) -> Mapping[str, int]:
    return {name: r for r, name in enumerate(resources)}


def offered_by(nodes: Sequence[Node], resources: Sequence[str]) -> list[int]:
    """Return what all nodes and their devices offer together, by resource."""
    capacities = Counter(node.capacity for node in nodes)
    devices = Counter(device.capacity for node in nodes for device in node.devices)
    return [
        sum(count * (each[r] or 0) for each, count in capacities.items())
        + sum(count * each[r] for each, count in devices.items())
        for r in range(len(resources))
    ]


def demand_of(requests: Amounts, devices: Iterable[DeviceNeed]) -> Amounts:
    """Return what one pod takes in all: its requests and those of its devices."""
    demand = list(requests)
    for need in devices:
        for r, amount in enumerate(need.request):
            demand[r] += need.count * amount
    return tuple(demand)


def gpu_milli_of(resources: tuple[str, ...], vector: Sequence[int | None]) -> int:
    """Milli-GPU in a vector of amounts."""
    return sum(milli * (vector[r] or 0) for r, milli in gpus_among(resources))


@lru_cache(maxsize=4)
def gpus_among(resources: tuple[str, ...]) -> Sequence[tuple[int, int]]:
    """Index of each resource that is GPUs, and the milli-GPU in one of its units."""
    return [(r, milli) for r, name in enumerate(resources) if (milli := gpu_milli(name, 1))]
