"""Shapes of pods as the fast path wants them: what one pod takes, without zeros."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed
from kantopt.problem.kept import kept_with_instance
from kantopt.schema.model import Rule

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
MANY = 2**31
"""More pods than a node ever holds."""


def mask_of(size: int, chosen: Collection[int]) -> Mask:
    """Return which of so many are chosen."""
    mask: Mask = np.zeros(size, dtype=np.bool_)
    mask[list(chosen)] = True
    return mask


@dataclass(frozen=True, slots=True)
class ClassNeed:
    """``count`` distinct devices of a class, by index, and what each gives up."""

    device_class: int
    count: int
    ask: tuple[tuple[int, int], ...]
    """Row of the device resource and amount."""


@dataclass(frozen=True, slots=True, eq=False)
class PodShape:
    """What one pod takes; pods of one shape share one object."""

    index: int
    request: Ints
    demand: Ints
    asks: tuple[tuple[int, int], ...]
    """Resource and amount of what is asked of the node itself."""
    takes: tuple[tuple[int, int], ...]
    """The same of node and devices together."""
    needs: tuple[ClassNeed, ...]


class Shapes:
    """Shapes by what they ask for, each made once."""

    def __init__(self, classes: tuple[str, ...], device_resources: tuple[int, ...]) -> None:
        self._classes = {name: c for c, name in enumerate(classes)}
        self._rows = {r: row for row, r in enumerate(device_resources)}
        self._known: dict[tuple[Amounts, tuple[DeviceNeed, ...]], PodShape] = {}

    def of(self, requests: Amounts, devices: tuple[DeviceNeed, ...], demand: Amounts) -> PodShape:
        """Return the shape of pods with these requests and devices."""
        key = (requests, devices)
        if key not in self._known:
            needs = tuple(
                ClassNeed(
                    self._classes.get(need.device_class, -1),
                    need.count,
                    tuple((self._rows[r], a) for r, a in enumerate(need.request) if a),
                )
                for need in devices
            )
            self._known[key] = PodShape(
                index=len(self._known),
                request=np.array(requests, dtype=np.int64),
                demand=np.array(demand, dtype=np.int64),
                asks=tuple((r, a) for r, a in enumerate(requests) if a),
                takes=tuple((r, a) for r, a in enumerate(demand) if a),
                needs=needs,
            )
        return self._known[key]

    def without(self, shape: PodShape, kept: Ints) -> PodShape:
        """Return a shape that asks nodes for nothing but some resources, devices included."""
        keeps = set(kept.tolist())

        def only(amounts: Ints) -> tuple[int, ...]:
            return tuple(a if r in keeps else 0 for r, a in enumerate(amounts.tolist()))

        devices = next(needs for (_, needs), known in self._known.items() if known is shape)
        return self.of(only(shape.request), devices, only(shape.demand))

    def table(self, of: Literal["request", "demand"]) -> Ints:
        """Return requests or demands of all shapes so far, a row each."""
        resources = max((len(requests) for requests, _ in self._known), default=0)
        rows = [getattr(shape, of) for shape in self._known.values()]
        return np.array(rows, dtype=np.int64).reshape(len(rows), resources)


@kept_with_instance(most=1)
def shapes_of(
    instance: Instance, classes: tuple[str, ...], device_resources: tuple[int, ...]
) -> tuple[Shapes, Sequence[PodShape]]:
    """Return all shapes, and that of each pod set."""
    shapes, needs = Shapes(classes, device_resources), instance.on(Rule.DEVICES)
    return shapes, [
        shapes.of(p.requests, p.devices if needs else (), p.demand) for p in instance.podsets
    ]
