"""What happened in one simulation: long tables of jobs, of the times they ran, and of moments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Ended = Literal["finished", "evicted", "failed", "moved", "horizon"]
"""Why a stay of a job ended: done; evicted by the policy; its node failed; some of its pods moved,
and it goes on elsewhere; the simulation ended."""


@dataclass(slots=True)
class JobRecord:
    """One job of the trace. Times in milliseconds since the start, GPUs in milli-GPU."""

    name: str
    """NAMESPACE/NAME."""
    user: str
    queue: str
    priority: int
    pods: int
    gpus: int
    """Of all its pods."""
    arrival: int
    duration: int
    """Time that it works if nobody disturbs it."""
    estimate: int
    started: int | None = None
    """First start."""
    ended: int | None = None
    """When it was done, or left; ``None`` if neither has happened."""
    withdrawn: int | None = None
    """When it was told to leave while it waited; ``None`` if it was not."""
    left_early: bool = False
    """Whether it was told to leave while it ran, before it was done."""
    starts: int = 0
    evictions: int = 0
    moves: int = 0
    """Pods moved."""
    lost: int = 0
    """Work lost to evictions, failures and moves, of the pods that had done it, restarts included,
    milli-GPU x ms."""
    nodes: int = 0
    """Nodes on which it was last, and the fewest that hold each of its roles, and the sum of what
    they ask for, in an empty cluster; 0 for a job that runs with fewer pods as well."""
    least_nodes: int = 0
    groups: int = 0
    """Domains of the finest topology level in which it was last, and the fewest; 0 without."""
    least_groups: int = 0
    backfilled: bool = False
    """Whether it passed one that waited longer at its last start."""
    refused: str = ""
    """Why it could not start on the empty cluster, so that it never will; else empty."""


@dataclass(frozen=True, slots=True)
class Stay:
    """Pods of a job in one place from one time to another."""

    job: int
    """Index in :attr:`History.jobs`."""
    begin: int
    working: int
    """When it began to work: later than ``begin`` after a restart; at most ``end``."""
    end: int
    gpus: int
    """Of the pods that were there, milli-GPU."""
    reason: Ended


@dataclass(frozen=True, slots=True)
class Sample:
    """The cluster from one moment to that of the next sample; GPUs in milli-GPU.

    ``capacity`` = (capacity - ``healthy``) of failed nodes, and free on those that take no pods,
    + ``reserved`` + what is free;
    ``reserved`` = ``running`` + what is restarting; what is free = ``lost_quota`` +
    ``lost_topology`` + ``lost_fragmentation`` + ``lost_waiting`` + ``idle``.
    """

    at: int
    """Milliseconds since the start."""
    capacity: int
    healthy: int
    reserved: int
    """Bound to pods."""
    running: int
    """Of those, to pods that work."""
    nodes: int
    """Nodes with GPUs that are healthy: they have not failed, and take pods."""
    fragmented: int
    """Of those, nodes whose GPUs are partly bound."""
    stranded: int
    """Free GPUs of those."""
    waiting_jobs: int
    lost_quota: int
    """Free, and wanted by a waiting job whose quota is used up."""
    lost_topology: int
    """Free, and wanted by a waiting job that has room, but not as close together as it must be."""
    lost_fragmentation: int
    """Free, and wanted by a waiting job whose pods do not fit, though there are GPUs enough."""
    lost_waiting: int
    """Free, and wanted by a waiting job that fits and is held back, or that is larger than all
    that is free."""
    idle: int
    """Free, and wanted by nobody."""
    largest_gang: int
    """GPUs of the largest gang of whole nodes that would fit."""


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A plan that was made: by a cycle of the planner or a round of defragmentation."""

    at: int
    """Milliseconds since the start."""
    proved: bool
    """Whether no plan is better by the objectives of its model."""


@dataclass(slots=True)
class History:
    """One simulation: a policy on a trace."""

    policy: str
    trace: str
    horizon: int = 0
    """Milliseconds simulated."""
    capacity: int = 0
    """GPUs of all nodes, milli-GPU."""
    jobs: list[JobRecord] = field(default_factory=list)
    stays: list[Stay] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    events: int = 0
    judged: int = 0
    """States that the judge looked at, all of which it found legal."""
    plans: list[PlanRecord] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    """Jobs that wait in the snapshot, or a job list, and could not even start on the empty cluster:
    they have no record."""
