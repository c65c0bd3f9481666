"""The job mix: shapes of pods that fragmentation is measured against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kantopt.problem.amounts import amounts, demand_of, gpu_milli_of
from kantopt.problem.cluster import Amounts
from kantopt.problem.job import DeviceNeed, PodSet
from kantopt.schema.objectives import MixShape


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """One shape of pod and its weight: the number of pods in the mix that have it."""

    weight: int
    requests: Amounts
    devices: tuple[DeviceNeed, ...]
    gpu_milli: int


def shape_of(resources: tuple[str, ...], shape: MixShape) -> Shape:
    """Return a shape of a model document in base units: of one pod, as those that wait are."""
    requests = amounts(resources, {"pods": 1, **shape.requests})
    devices = tuple(
        DeviceNeed(need.device_class, need.count, amounts(resources, need.requests))
        for need in shape.devices
    )
    gpus = gpu_milli_of(resources, demand_of(requests, devices))
    return Shape(shape.count, requests, devices, gpus)


def commonest_shapes(
    podsets: Iterable[PodSet],
    *,
    share: int = 60,
    step: int = 10,
    only_gpus: bool = True,
    resources: int | None = None,
) -> tuple[Shape, ...]:
    """Return the commonest shapes of pods, ``step`` at a time until ``share`` % are covered.

    The rule by which FGD's simulator picks its typical pods (ATC'23), with its defaults; the
    published runs take 95 %, shape by shape, pods without GPUs among them. Of the requests only
    the first ``resources`` are looked at, all by default.
    """
    count: Counter[tuple[Amounts, tuple[DeviceNeed, ...], int]] = Counter()
    for podset in podsets:
        if podset.gpu_milli or not only_gpus:
            requests = podset.requests
            if resources is not None:
                requests = (*requests[:resources], *(0 for _ in requests[resources:]))
            count[requests, podset.devices, podset.gpu_milli] += podset.count
    ranked = sorted(count.items(), key=lambda item: (-item[1], item[0]))
    total, taken = sum(count.values()), 0
    shapes: list[Shape] = []
    for (requests, devices, gpus), pods in ranked:
        if len(shapes) % step == 0 and 100 * taken >= share * total:
            break
        shapes.append(Shape(pods, requests, devices, gpus))
        taken += pods
    return tuple(shapes)
