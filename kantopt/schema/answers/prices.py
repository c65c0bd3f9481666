"""What room for one job costs in each domain: the answer of ``plan --for JOB --clear LEVEL``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kantopt.schema.answers.explanation import Steps
from kantopt.schema.answers.plan import Amount, SnapshotRef, Tier
from kantopt.schema.base import Count, Part, PositiveCount
from kantopt.schema.read_as import ClusterAnswer


class PriorityVictims(Part):
    """Victims of one priority."""

    priority: int = Field(description="their priority")
    jobs: PositiveCount = Field(description="jobs that lose pods")
    pods: PositiveCount = Field(description="pods evicted")
    cost: Amount = Field(description="what these evictions cost")
    gpu_milli: Amount = Field(description="thousandths of GPUs that these pods hold")


class Price(Part):
    """What it takes to place the job in one domain."""

    domain: str = Field(description="the domain, as the path of its labels")
    status: Literal["OPTIMAL", "FEASIBLE", "IMPOSSIBLE", "OPEN"] = Field(
        description="OPTIMAL: no plan for this domain is cheaper; FEASIBLE: a legal plan; "
        "IMPOSSIBLE: there provably is none; OPEN: neither was found in the time"
    )
    victims: tuple[PriorityVictims, ...] = Field(
        default=(), description="pods evicted, the highest priority first"
    )
    moved_pods: Count = Field(default=0, description="pods moved out of the way")
    cost: Amount = Field(default=0, description="what the evictions cost")
    gpu_milli: Amount = Field(default=0, description="thousandths of GPUs that the victims hold")
    lost_gpu_seconds: Amount | None = Field(
        default=None, description="GPU time lost, if the model counts it"
    )
    objectives: tuple[Tier, ...] = Field(
        default=(),
        description="the objectives down to the last one of disruption, with their bounds",
    )
    steps: Steps | None = Field(default=None, description="the plan; it was replayed and judged")


class PriceList(ClusterAnswer):
    """The domains of a level, the cheapest first in the order of the model."""

    kind: Literal["PriceList"] = Field(description="PriceList")
    snapshot: SnapshotRef = Field(description="the snapshot that it is for")
    job: str = Field(description="NAMESPACE/NAME of the job that needs room")
    level: str = Field(description="topology level of the domains")
    model: str = Field(description="name of the model whose order makes one price lower")
    prices: tuple[Price, ...] = Field(default=(), description="one per domain")
    warnings: tuple[str, ...] = Field(default=(), description="what the reader should know")
