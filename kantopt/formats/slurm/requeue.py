"""Whether jobs of Slurm's that run can be put back into the queue, and moved so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.states import is_suspended
from kantopt.schema.jobs import PodSet
from kantopt.schema.stays import Fixed


def may_requeue(record: Record) -> bool:
    """Whether a job can be put back into the queue: a batch job whose user allows it."""
    return record.number("Requeue", 1) == 1 and record.number("BatchFlag", 1) == 1


def with_causes(
    podsets: Iterable[PodSet], records: Sequence[Record], *, shares: bool
) -> tuple[PodSet, ...]:
    """Say of the pod sets of a job that runs why it is not moved, if anything speaks against it.

    ``shares``: it shares CPUs with others.
    """
    sets = tuple(podsets)
    causes: list[Fixed] = []
    if not all(map(may_requeue, records)):
        causes.append("not-requeued")
    if any(map(is_suspended, records)):
        causes.append("suspended")
    if shares:
        causes.append("shared-cpus")
    if sum(podset.count for podset in sets) > 1:
        causes.append("several-nodes")
    return tuple(
        podset.model_copy(update={"stays": ("terminating",) if podset.terminating else (*causes,)})
        for podset in sets
    )
