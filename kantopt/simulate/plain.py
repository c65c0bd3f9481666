"""Places as plain data: numbers in lists, as they are written down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kantopt.problem.cluster import Spot
from kantopt.search.state import Change

Data = dict[str, Any]


def spot_data(spot: Spot) -> list[Any]:
    """Write a spot down."""
    return [spot.node, list(spot.devices)]


def spot_of(data: Iterable[Any]) -> Spot:
    """Read a spot that was written down."""
    node, devices = data
    return Spot(node, tuple(devices))


def pods_data(pods: Iterable[Change]) -> list[Any]:
    """Write down where pods are."""
    return [[s, *spot_data(spot), k] for s, spot, k in pods]


def pods_of(data: Iterable[Any]) -> tuple[Change, ...]:
    """Read where pods are."""
    return tuple((s, spot_of(spot), k) for s, *spot, k in data)
