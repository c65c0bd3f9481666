"""What reading another system's files comes to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import ValidationError

from kantopt.errors import BadDataError, Problem
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Job, JobList
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import ClusterSnapshot, Node, QueueResource, SnapshotMetadata, Topology


class Aside(NamedTuple):
    """Pods of one job that wait and were not asked for."""

    priority: int
    pods: int


@dataclass(frozen=True, slots=True)
class Unnamed:
    """What a pod gets that names no CPUs, or no memory: memory of GPUs before that of CPUs.

    Memory is in bytes. Each has a CPU at least.
    """

    cpus_per_gpu: int = 0
    memory_per_gpu: int = 0
    memory_per_cpu: int = 0
    memory: int = 0

    def cpus_for(self, gpus: int) -> int:
        """Return the CPUs of a pod with so many GPUs."""
        return max(1, gpus * self.cpus_per_gpu)

    def memory_for(self, gpus: int, cpus: int) -> int:
        """Return the memory of a pod with so many GPUs and CPUs, in bytes."""
        return gpus * self.memory_per_gpu or cpus * self.memory_per_cpu or self.memory


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFacts:
    """What reading another system's files comes to know besides documents; nothing by default."""

    known_as: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Jobs, by the names of those who own their pods; all are NAMESPACE/NAME."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why pods and jobs are left out that have ended or may not start yet, by NAMESPACE/NAME."""
    aside: tuple[Aside, ...] = ()
    """What was left out as nobody asked for it."""
    held_back: Mapping[str, int] = field(default_factory=dict)
    """Pods left out that may not start yet, by NAMESPACE/NAME of their job."""
    tied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Claims that keep pods of a job on one node, by NAMESPACE/NAME of the job."""
    unnamed: Unnamed | None = None
    """What pods get of CPUs and memory if they name none; ``None``: nothing."""


@dataclass(frozen=True, slots=True)
class Imported(ImportFacts):
    """A cluster as read, and what was left out or taken for granted, one line per kind."""

    snapshot: ClusterSnapshot
    pending: JobList
    notes: tuple[str, ...]


def cluster_of(
    name: str, nodes: Iterable[Node], jobs: Iterable[Job] = (), topology: Topology | None = None
) -> tuple[ClusterSnapshot, JobList]:
    """Return the documents of a cluster: jobs of one pod set, with a place where they run."""
    running: list[Job] = []
    waiting: list[Job] = []
    for job in jobs:
        (running if job.pod_sets[0].assignments else waiting).append(job)
    snapshot = ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=name),
        topology=topology or Topology(),
        nodes=tuple(nodes),
        jobs=tuple(running),
    )
    return snapshot, JobList(api_version=API_VERSION, kind="JobList", jobs=tuple(waiting))


def quotas_of(amounts: Mapping[str, int]) -> tuple[QueueResource, ...]:
    """Return quotas of amounts in base units, without limits to what is borrowed or lent."""
    return tuple(
        QueueResource(name=name, nominal_quota=from_base(name, amount))
        for name, amount in amounts.items()
    )


@contextlib.contextmanager
def reporting(problems: list[Problem], file: str) -> Iterator[None]:
    """Say all that is wrong with an input, once it has been read as far as that goes.

    Raises
    ------
    BadDataError
        With the problems that were noted, or with what does not fit into our documents.
    """
    try:
        yield
    except ValidationError as error:
        # What was replaced after its problem was noted may still not fit; else it is our limits.
        detail = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in detail["loc"])
        if not problems:
            message = f"a {error.title} whose {place} does not fit ({detail['msg']})"
            problems.append(Problem(file, "", message, "amounts and names within limits"))
        raise BadDataError(list(dict.fromkeys(problems))) from None
    if problems:
        raise BadDataError(list(dict.fromkeys(problems)))
