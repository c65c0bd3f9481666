"""What ``simulate`` answers: policies on traces, measured and compared."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kantopt.schema.base import Count, Part, PositiveCount
from kantopt.schema.read_as import ClusterAnswer

Unit = Literal[
    "share",
    "ratio",
    "milli-GPU",
    "milli-GPU x ms",
    "ms",
    "jobs",
    "pods",
    "evictions",
    "failures",
    "plans",
]
Milliseconds = int


class Estimate(Part):
    """A metric under one policy, trace by trace, and what to expect of further traces."""

    policy: str = Field(description="name of the policy")
    values: tuple[int | float | None, ...] = Field(
        description="one per trace of the document, in its order; null: the policy was not tried "
        "on it, or there is nothing to measure"
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
    difference: float | None = Field(
        default=None,
        description="mean difference from the first policy, over the traces that both have",
    )
    difference_half_width: float | None = Field(
        default=None, description="half of its 95% confidence interval, trace by trace (paired t)"
    )


class Measure(Part):
    """One metric under each policy."""

    metric: str = Field(description="name of the metric")
    scope: str = Field(
        default="", description="size class in GPUs or owner; empty: the whole cluster"
    )
    text: str = Field(description="the metric in words")
    unit: Unit = Field(description="unit of the numbers")
    estimates: tuple[Estimate, ...] = Field(description="one per policy of the document")


class MeasureGroup(Part):
    """Metrics that belong together, with how they are computed."""

    name: str = Field(description="name of the group")
    title: str = Field(description="what it is about")
    by: Literal["", "size", "owner"] = Field(
        default="", description="what the scopes are; empty: there are none"
    )
    formulas: tuple[str, ...] = Field(description="how the metrics are computed")
    measures: tuple[Measure, ...] = Field(default=(), description="the metrics")


Means = tuple[int | None, ...]


class Course(Part):
    """The cluster over time under one policy, in equal steps, for pictures.

    All are means over a step and over the traces, milli-GPU unless told otherwise; null where no
    simulation was running any more. The first eight add up to the capacity, but for rounding.
    """

    policy: str = Field(description="name of the policy")
    step: Milliseconds = Field(ge=1, description="length of a step, milliseconds")
    running: Means = Field(description="bound to pods that work")
    restarting: Means = Field(description="bound to pods that do not work yet")
    idle: Means = Field(description="free, and wanted by nobody")
    waiting: Means = Field(description="free, lost to jobs that are held back or too large")
    fragmentation: Means = Field(description="free, lost to fragmentation")
    topology: Means = Field(description="free, lost to topology")
    quota: Means = Field(description="free, lost to quotas")
    failed: Means = Field(description="of failed nodes")
    gfr: tuple[float | None, ...] = Field(description="nodes partly used of healthy ones (GFR)")
    waited: tuple[tuple[Milliseconds, float], ...] = Field(
        description="waiting time of the jobs of all traces, ascending, and the share of the jobs "
        "that had started after it (1 - Kaplan-Meier)"
    )
    censored: Count = Field(description="jobs of all traces that were waiting at the end")
    observed: Milliseconds = Field(description="longest time that a job was seen to wait")


class Simulation(ClusterAnswer):
    """Policies beside each other, on the same traces."""

    kind: Literal["Simulation"] = Field(description="Simulation")
    policies: tuple[str, ...] = Field(description="names of the policies")
    traces: tuple[str, ...] = Field(description="names of the traces")
    begin: Milliseconds = Field(
        ge=0, description="end of the warm-up, milliseconds since the start of the trace"
    )
    end: Milliseconds = Field(ge=1, description="end of the longest simulation, milliseconds")
    every: Milliseconds = Field(
        ge=1, description="milliseconds between the moments that medians over time are of"
    )
    confidence: PositiveCount = Field(default=95, description="of intervals, percent")
    events: Count = Field(default=0, description="events simulated, of all policies and traces")
    judged: Count = Field(default=0, description="states judged, all of them legal")
    groups: tuple[MeasureGroup, ...] = Field(default=(), description="what was measured")
    courses: tuple[Course, ...] = Field(
        default=(), description="how it went over time, one per policy"
    )
    notes: tuple[str, ...] = Field(default=(), description="what the reader should know")
