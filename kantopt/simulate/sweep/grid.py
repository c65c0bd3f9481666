"""The grid of a sweep: nodes added, factors of the offered load, policies, traces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from kantopt.planning.fresh_nodes import fresh_nodes, with_daemons
from kantopt.schema.duration import duration_seconds, duration_text
from kantopt.schema.hints import plural
from kantopt.schema.snapshot import ClusterSnapshot, Node
from kantopt.schema.trace import Trace, TraceJob
from kantopt.simulate.asked import Asked
from kantopt.simulate.runs import How

Leaves = Literal["new", "existing"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One simulation, by the numbers of its axes."""

    nodes: int
    """Nodes added."""
    load: str
    """Factor by which jobs come faster, as it was written."""
    policy: int
    trace: int


@dataclass(frozen=True, slots=True)
class Grid:
    """What is asked for in all cells; cheap to send to other processes."""

    asked: Asked
    how: How
    nodes: tuple[int, ...] = (0,)
    like: str | None = None
    leaves: Leaves = "new"
    loads: tuple[str, ...] = ("1",)
    warm_up: int = 0
    """Milliseconds that are not measured."""

    @property
    def cells(self) -> list[Cell]:
        """All cells in their order: nodes, loads, policies, traces."""
        return [
            Cell(nodes, load, policy, trace)
            for nodes in self.nodes
            for load in self.loads
            for policy in range(len(self.asked.policies))
            for trace in range(len(self.asked.traces))
        ]

    def name(self, cell: Cell) -> str:
        """Name a cell."""
        policy = self.asked.policies[cell.policy].metadata.name
        trace = self.asked.traces[cell.trace].metadata.name
        nodes = plural(cell.nodes, "node")
        return f"{nodes} more, load x {cell.load}, {policy} on {trace}"

    def asked_in(self, cell: Cell) -> Asked:
        """Return the documents of one simulation."""
        question = self.asked.question
        if cell.nodes:
            snapshot = with_nodes(question.snapshot, self.like or "", cell.nodes, self.leaves)
            question = replace(question, snapshot=snapshot)
        trace = faster(self.asked.traces[cell.trace], Fraction(cell.load))
        policy = self.asked.policies[cell.policy]
        return replace(self.asked, question=question, traces=(trace,), policies=(policy,))


def with_nodes(snapshot: ClusterSnapshot, like: str, count: int, leaves: Leaves) -> ClusterSnapshot:
    """Return the cluster with copies of a node, on which nothing runs but daemons.

    New leaves, domains of the finest level, have as many nodes as that of the node copied; what
    is left over makes a smaller one. The levels above are those of the node copied.
    """
    levels = [level.node_label for level in snapshot.topology.labelled]
    first = next(node for node in snapshot.nodes if node.name == like)
    fresh = fresh_nodes(snapshot.nodes, first, count)
    if leaves == "new" and levels and levels[-1] in first.labels:

        def path(node: Node) -> list[str | None]:
            return [node.labels.get(label) for label in levels]

        size = sum(path(node) == path(first) for node in snapshot.nodes)
        known = {node.labels.get(levels[-1]) for node in snapshot.nodes}
        names = (f"{first.labels[levels[-1]]}-new-{i}" for i in range(1, count + len(known) + 2))
        new = [name for name in names if name not in known]
        fresh = [
            node.model_copy(update={"labels": {**node.labels, levels[-1]: new[i // size]}})
            for i, node in enumerate(fresh)
        ]
    jobs = tuple(with_daemons(snapshot.jobs, first, fresh))
    return snapshot.model_copy(update={"nodes": (*snapshot.nodes, *fresh), "jobs": jobs})


def faster(trace: Trace, factor: Fraction) -> Trace:
    """Return a trace whose jobs come so many times as fast: each at its time over the factor.

    Rounded to whole seconds. The offered load is so many times what it was; run times, outages
    and endings stay.
    """
    if factor == 1:
        return trace

    def at(job: TraceJob) -> str:
        return duration_text(round(Fraction(duration_seconds(job.arrival)) / factor))

    jobs = tuple(job.model_copy(update={"arrival": at(job)}) for job in trace.jobs)
    return trace.model_copy(update={"jobs": jobs})
