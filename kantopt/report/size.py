"""How much was read: so that whoever reads an answer sees what it is an answer about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kantopt.report.blocks import Paragraph
from kantopt.schema.hints import plural
from kantopt.schema.jobs import Job


@dataclass(frozen=True, slots=True)
class Size:
    """Nodes, jobs and pods of a question."""

    nodes: int
    jobs: int
    running_pods: int
    pending_pods: int

    def __str__(self) -> str:
        return (
            f"{plural(self.nodes, 'node')}, {plural(self.jobs, 'job')}: "
            f"{plural(self.running_pods, 'running pod')}, "
            f"{plural(self.pending_pods, 'pending pod')}"
        )


def size_of(nodes: int, jobs: Iterable[Job]) -> Size:
    """Count what documents hold.

    Parameters
    ----------
    nodes
        How many nodes there are.
    jobs
        All jobs, those that run and those that wait.
    """
    listed = list(jobs)
    running = sum(job.running for job in listed)
    pods = sum(podset.count for job in listed for podset in job.pod_sets)
    return Size(nodes, len(listed), running, pods - running)


def size_blocks(size: Size | None, *, wide: bool) -> list[Paragraph]:
    """Say what was read, where all that there is to say is asked for."""
    return [Paragraph(f"{size}.", "dim")] if wide and size is not None else []
