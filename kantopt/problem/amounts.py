"""Dense vectors of amounts, one entry per resource of the instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kantopt.problem.cluster import Amounts
from kantopt.problem.job import DeviceNeed
from kantopt.schema.quantity import gpu_milli, to_base


def amounts(
    resources: Sequence[str], values: Mapping[str, str | int], *, up: bool = True
) -> Amounts:
    """Return quantities by name as a dense vector in base units; what is absent is 0."""
    return tuple(to_base(name, values[name], up=up) if name in values else 0 for name in resources)


def demand_of(requests: Amounts, devices: Iterable[DeviceNeed]) -> Amounts:
    """Return what one pod takes in all: its requests and those of its devices."""
    demand = list(requests)
    for need in devices:
        for r, amount in enumerate(need.request):
            demand[r] += need.count * amount
    return tuple(demand)


def gpu_milli_of(resources: Sequence[str], vector: Iterable[int | None]) -> int:
    """Milli-GPU in a vector of amounts."""
    return sum(
        gpu_milli(name, amount) for name, amount in zip(resources, vector, strict=True) if amount
    )
