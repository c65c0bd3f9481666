"""What a picture of a cluster shows; no document, only what those who draw are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kantopt.schema.answers.plan import Unplaced

Fate = Literal["stays", "evicted", "moved", "bound"]
"""What becomes of pods, and on the other side of a plan what became of them."""


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of one pod set; what one takes of each resource of the picture.

    ``rank`` is 0 for the least and 1 for the most important pods of the cluster.
    """

    job: str
    pod_set: str
    takes: tuple[int, ...]
    priority: int
    rank: float


@dataclass(frozen=True, slots=True)
class Stay:
    """Pods that are on a node from one wave of a plan to another.

    ``since`` is the wave that brings them, counted from 1 in the order of the plan, 0 for those
    that run already; ``until`` the wave that takes them away, ``None`` if they are there at the
    end. ``came`` is ``stays`` for those that run already, ``goes`` for those that are there at
    the end.
    """

    pods: Pods
    count: int
    came: Fate = "stays"
    goes: Fate = "stays"
    since: int = 0
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """A node: where it is, what it offers of each resource of the picture, who is on it.

    ``domain`` is the path of its topology domain, ``kind`` what sort of node its labels call it,
    ``marks`` say what keeps pods away from it.
    """

    name: str
    domain: tuple[str, ...]
    offers: tuple[int, ...]
    stays: tuple[Stay, ...] = ()
    kind: str = ""
    marks: tuple[str, ...] = ()

    @property
    def before(self) -> tuple[Stay, ...]:
        """Pods that run before the plan."""
        return tuple(stay for stay in self.stays if not stay.since)

    @property
    def after(self) -> tuple[Stay, ...]:
        """Pods that run after it."""
        return tuple(stay for stay in self.stays if stay.until is None)


@dataclass(frozen=True, slots=True)
class Step:
    """A wave of the plan: its number there, and those it waits for."""

    id: int
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A cluster before and, if ``planned``, after a plan and in between."""

    name: str
    captured_at: str
    resources: tuple[str, ...]
    """What is drawn, as units of :func:`kantopt.report.units.in_unit`: ``milli-GPU`` for GPUs of
    all kinds, else names of resources."""
    accelerators: int
    """So many resources, the first ones, are GPUs, parts of them or devices to be claimed."""
    planned: bool
    levels: tuple[str, ...]
    """Names of the levels of the topology, coarse to fine."""
    bars: tuple[Bar, ...]
    """Nodes by domain; those outside of all come last."""
    steps: tuple[Step, ...]
    waiting: tuple[Unplaced, ...]
    """Jobs that wait: with a plan at its end."""
    partly_used: tuple[int, ...]
    """GPU nodes of which some GPUs are taken and some are free, before and after."""
    fault: str
    """Why the plan is not legal here; empty if it is."""

    def drawn(self, bar: Bar) -> int | None:
        """Resource by which a node is drawn: the first accelerator it has; without any, cores.

        ``None`` if it has none of it: accelerators where any node has some, else cores.
        """
        cores = [r for r, name in enumerate(self.resources) if name == "cpu"]
        wanted = range(self.accelerators) if self.accelerators else cores
        return next((r for r in wanted if bar.offers[r]), None)

    @property
    def left_out(self) -> int:
        """Nodes that have nothing of what is drawn."""
        return sum(self.drawn(bar) is None for bar in self.bars)
