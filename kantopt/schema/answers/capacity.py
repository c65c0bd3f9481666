"""How many more of a job fit into a cluster: the answer of ``capacity``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kantopt.schema.answers.explanation import Verdict
from kantopt.schema.answers.plan import SnapshotRef
from kantopt.schema.base import Count, Name, Part, PositiveCount
from kantopt.schema.read_as import ClusterAnswer

When = Literal["now", "after moves", "after defragmentation"]


class Way(Part):
    """What stands in the way of one more."""

    rule: str = Field(description="the rule that is first in the way; see Unplaced of a plan")
    message: str = Field(description="numbers and witnesses")


class Room(Part):
    """How many more fit if so much may be moved; nobody is evicted."""

    when: When = Field(
        description="now: as the cluster stands; after moves: of at most so many pods; after "
        "defragmentation: of as many pods as it takes"
    )
    max_moves: Count | None = Field(default=None, description="most pods moved; none: no limit")
    jobs: Count = Field(description="copies of the job that a verified plan places")
    bound: Count = Field(description="no plan places more")
    status: Literal["OPTIMAL", "FEASIBLE"] = Field(
        description="OPTIMAL: the bound is reached; FEASIBLE: there may be room for more"
    )
    moves: Count = Field(default=0, description="pods that this plan moves")
    fewest_moves: bool = Field(
        default=False, description="whether no plan places as many with fewer moves"
    )
    one_more: Way | None = Field(
        default=None, description="why not one more; none: there was no time to look"
    )


class Share(Part):
    """Domains that hold equally many."""

    pods: Count = Field(description="free slots of each of them")
    domains: PositiveCount = Field(description="how many domains these are")


class DomainRoom(Part):
    """Free slots of one domain."""

    domain: str = Field(description="the domain, as the path of its labels; of nodes their name")
    pods: Count = Field(description="pods of the set that fit now")
    jobs: Count | None = Field(
        default=None, description="copies of the job that fit now; none: it has several pod sets"
    )


class LevelRoom(Part):
    """Free slots of pods of one set by the domains of one level, as the cluster stands."""

    pod_set: Name = Field(description="the pod set that the slots are for")
    level: str = Field(description="topology level; node: each node for itself")
    domains: Count = Field(description="domains of the level")
    pods: Count = Field(description="free slots of all domains together")
    jobs: Count | None = Field(
        default=None, description="copies of the job that fit if each stays within a domain"
    )
    histogram: tuple[Share, ...] = Field(
        default=(), description="how many domains hold 0, 1, 2, ... pods, the fewest first"
    )
    largest_gang: Count = Field(
        description="pods of the largest gang of this pod set that fits into one domain now"
    )
    fullest: tuple[DomainRoom, ...] = Field(
        default=(), description="domains with free slots, those with most of them first"
    )


class CapacityPodSet(Part):
    """Pods of one set in each copy."""

    name: Name = Field(description="name of the pod set")
    pods: PositiveCount = Field(description="pods of it that each copy needs")


class Capacity(ClusterAnswer):
    """How many more of a job fit, now, after moves and after defragmentation."""

    kind: Literal["Capacity"] = Field(description="Capacity")
    snapshot: SnapshotRef = Field(description="the snapshot that it is for")
    job: str = Field(description="NAMESPACE/NAME of the job that is copied")
    pod_sets: tuple[CapacityPodSet, ...] = Field(description="what each copy needs at least")
    min_count: Count | None = Field(
        default=None,
        description="pods that each copy needs at least over all pod sets; none: those of each set",
    )
    model: str = Field(description="name of the model whose rules hold")
    rooms: tuple[Room, ...] = Field(description="how many more fit")
    largest_gang: Count | None = Field(
        default=None,
        description="pods of the largest gang that fits now, wherever; none: several pod sets",
    )
    quota_pods: Count | None = Field(
        default=None, description="pods that the quota of the queue leaves; none: no quota binds"
    )
    levels: tuple[LevelRoom, ...] = Field(default=(), description="free slots by domain")
    verdict: Verdict | None = Field(
        default=None, description="of a job that fits nowhere: why, as explain says it"
    )
    warnings: tuple[str, ...] = Field(default=(), description="what the reader should know")
