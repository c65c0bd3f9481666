"""What ``simulate --sweep`` answers: waiting times over a grid of clusters, loads and policies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kantopt.schema.answers.simulation import Unit
from kantopt.schema.base import Count, Name, Part, PositiveCount
from kantopt.schema.read_as import ClusterAnswer


class SweepCell(Part):
    """One simulation of the grid."""

    nodes: Count = Field(description="nodes added")
    load: str = Field(description="factor by which jobs come faster")
    policy: str = Field(description="name of the policy")
    trace: str = Field(description="name of the trace")


class FailedCell(SweepCell):
    """A simulation that came to nothing."""

    reason: str = Field(description="what went wrong")


class SweepValue(Part):
    """A metric at one point of the grid, over the traces."""

    nodes: Count = Field(description="nodes added")
    load: str = Field(description="factor by which jobs come faster")
    policy: str = Field(description="name of the policy")
    metric: str = Field(description="name of the metric")
    scope: str = Field(default="", description="size class in GPUs; empty: the whole cluster")
    unit: Unit = Field(description="unit of the numbers")
    values: tuple[int | float | None, ...] = Field(
        description="one per trace; null: the simulation failed, or there is nothing to measure"
    )
    at_least: tuple[bool, ...] = Field(
        description="of each value, whether the true one may be larger, since jobs were waiting "
        "when the simulation ended"
    )
    mean: float | None = Field(default=None, description="mean over the traces that have a value")
    half_width: float | None = Field(
        default=None,
        description="half of the 95% confidence interval of the mean (Student t); null for fewer "
        "than two traces, and if any value is only a lower bound",
    )


class Sweep(ClusterAnswer):
    """Waiting times and allocation over a grid: nodes added, offered loads, policies."""

    kind: Literal["Sweep"] = Field(description="Sweep")
    like: Name | None = Field(default=None, description="the node that added ones are copies of")
    leaves: Literal["new", "existing"] = Field(
        default="new",
        description="where added nodes are: in new domains of the finest level, each as large as "
        "that of the node copied, or all in its own",
    )
    nodes: tuple[Count, ...] = Field(description="numbers of nodes added")
    loads: tuple[str, ...] = Field(
        description="factors of the offered load: a job that comes at t comes at t / factor; how "
        "long jobs run, outages and endings stay as they are"
    )
    policies: tuple[str, ...] = Field(description="names of the policies")
    traces: tuple[str, ...] = Field(description="names of the traces, over which means are taken")
    begin: int = Field(ge=0, description="end of the warm-up, milliseconds")
    confidence: PositiveCount = Field(default=95, description="of intervals, percent")
    events: Count = Field(default=0, description="events simulated, in all cells")
    judged: Count = Field(default=0, description="states judged, all of them legal")
    values: tuple[SweepValue, ...] = Field(default=(), description="what was measured")
    failed: tuple[FailedCell, ...] = Field(default=(), description="cells without a result")
    notes: tuple[str, ...] = Field(default=(), description="what the reader should know")
