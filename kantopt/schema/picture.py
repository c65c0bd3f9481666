"""What a picture of a cluster shows; no document, only what those who draw are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fate = Literal["stays", "evicted", "moved", "bound"]


@dataclass(frozen=True, slots=True)
class Piece:
    """What the pods of a pod set take of a node, in the unit of the picture.

    ``rank`` is 0 for the least and 1 for the most important pods of the cluster.
    """

    name: str
    amount: int
    fate: Fate
    rank: float
    priority: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A node: what it has, what is on it before and after."""

    name: str
    capacity: int
    before: tuple[Piece, ...]
    after: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """Nodes of one topology domain."""

    name: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A cluster before and, if ``planned``, after a plan."""

    name: str
    unit: Literal["milli-GPU", "cpu"]
    """Unit of all amounts; ``cpu`` is milli-CPU."""
    planned: bool
    boxes: tuple[Box, ...]
    partly_used: tuple[int, ...]
    """GPU nodes of which some GPUs are taken and some are free, before and after."""
    left_out: int
    """Nodes that have nothing of what is drawn."""
    fault: str
    """Why the plan is not legal here; empty if it is."""
