"""What ``metrics`` and ``verify`` answer: documents to read by people and programs, never input."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kantopt.schema.answers.certificate import JudgedAs, Judgement
from kantopt.schema.answers.plan import Standing
from kantopt.schema.base import Count, Document, Metadata, Part
from kantopt.schema.read_as import ReadAs


class Amount(Part):
    """A number, and the whole that it is a part of."""

    value: int = Field(description="the number, in the unit of its figure")
    of: int | None = Field(default=None, ge=0, description="the whole, if it is a part of one")

    @property
    def ratio(self) -> float | None:
        """Share of the whole; 0 of nothing is nothing."""
        if self.of is None:
            return None
        return self.value / self.of if self.of else 0.0


class Figure(Part):
    """One metric, before and after a plan."""

    metric: str = Field(description="name of the metric")
    scope: str = Field(default="", description="what it is restricted to")
    text: str = Field(description="the metric in words")
    unit: str = Field(description="unit of the numbers")
    before: Amount | None = Field(default=None, description="as the cluster is")
    after: Amount | None = Field(default=None, description="after the plan, if one is given")


class Spread(Part):
    """How a number is spread over jobs: nearest-rank percentiles."""

    count: Count = Field(description="jobs")
    mean: float = Field(description="mean")
    p50: float = Field(description="half of the jobs have at most this")
    p90: float = Field(description="nine tenths of the jobs have at most this")
    max: float = Field(description="the largest")
    least: Count | None = Field(default=None, description="jobs at the least value possible")


class SpreadFigure(Part):
    """A number per job by the size of the job, before and after a plan."""

    metric: str = Field(description="name of the metric")
    size: str = Field(description="size class of the jobs, in GPUs")
    unit: str = Field(description="unit of the numbers")
    before: Spread | None = Field(default=None, description="as the cluster is")
    after: Spread | None = Field(default=None, description="after the plan, if one is given")


class MetricsReport(Document):
    """Every metric of a cluster, before and after a plan."""

    kind: Literal["Metrics"] = Field(description="Metrics")
    metadata: Metadata = Field(default_factory=Metadata, description="name of the cluster")
    planned: bool = Field(description="whether there is a plan to compare with")
    figures: tuple[Figure, ...] = Field(default=(), description="the metrics")
    spreads: tuple[SpreadFigure, ...] = Field(default=(), description="numbers per job")
    notes: tuple[str, ...] = Field(default=(), description="what the reader should know")


class Verdict(Document):
    """What ``verify`` has found."""

    kind: Literal["Verdict"] = Field(description="Verdict")
    judged: Literal["documents", "snapshot", "plan", "certificate"] = Field(
        description="documents: sound, nothing more to judge; snapshot: what is wrong as it "
        "stands; plan: its legality at every step and its claims; certificate: all that it claims "
        "and that needs no search"
    )
    findings: tuple[Standing, ...] = Field(default=(), description="what is wrong with the plan")
    could_be_spared: tuple[Standing, ...] = Field(
        default=(),
        description="victims that could have stayed, and who has a place elsewhere: not illegal",
    )
    pre_existing: tuple[Standing, ...] = Field(
        default=(), description="what is wrong with the snapshot as it stands"
    )
    certified: Judgement | None = Field(
        default=None, description="of a certificate: its verdict, which holds if nothing is found"
    )
    certified_as: JudgedAs | None = Field(
        default=None, description="of a certificate: what it judges"
    )
    unchecked: tuple[str, ...] = Field(
        default=(), description="what it claims from a search, which only a search could check"
    )
    notes: tuple[str, ...] = Field(default=(), description="what the reader should know")
    read_as: ReadAs | None = Field(
        default=None, description="how the cluster was read; none: only documents were judged"
    )


class Difference(Part):
    """A kind of thing that comes out different, or not at all."""

    text: str = Field(description="what it is: mostly a field and what is lost of it")
    count: Count = Field(description="how often")
    names: tuple[str, ...] = Field(default=(), description="whose it is, each once")


class Conversion(Document):
    """What ``convert --to`` had to say otherwise."""

    kind: Literal["Conversion"] = Field(description="Conversion")
    to: str = Field(description="the system whose words were used")
    notes: tuple[str, ...] = Field(default=(), description="what reading left out or assumed")
    differences: tuple[Difference, ...] = Field(
        default=(), description="what is not the same when the text is read again"
    )
