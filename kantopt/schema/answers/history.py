"""What became of a cluster between two dumps, as far as the dumps show it."""

from typing import Literal

from pydantic import Field

from kantopt.schema.base import Count, Part

Became = Literal[
    "finished",
    "failed",
    "preempted",
    "drained",
    "tainted",
    "node gone",
    "kubelet",
    "workload ended",
    "suspended",
    "scaled down",
    "rolled out",
    "cancelled",
    "requeued",
    "disrupted",
    "unknown",
]
"""What a pod became that ran in the first dump and does not run on in the second."""


class Fate(Part):
    """What became of one pod."""

    pod: str = Field(description="NAMESPACE/NAME")
    uid: str = Field(default="", description="uid of the pod object")
    node: str = Field(description="node that it ran on")
    became: Became = Field(
        description="finished, failed: by itself; preempted: by a scheduler for a more important "
        "pod; drained: by the Eviction API; tainted: by a taint; node gone: with its node; "
        "kubelet: by its node; workload ended, suspended, scaled down, rolled out: by its owner; "
        "cancelled, requeued: a job of Slurm, by whom is not known; "
        "disrupted: replaced, by whom is not known; unknown: the dumps do not say"
    )
    evidence: str = Field(description="what shows it")
    unduly: str = Field(
        default="",
        description="of a preempted pod why it should not have been, where an event names for whom",
    )


class History(Part):
    """What changed between two dumps; of all of it only the scheduler's choices are judged."""

    stayed: Count = Field(description="pods that run on, known by uid")
    placed: Count = Field(description="pods that waited and have a node since")
    arrived: Count = Field(description="pods that came since and have a node")
    gone: tuple[Fate, ...] = Field(default=(), description="pods that ran and do not run on")
    waiting: tuple[str, ...] = Field(
        default=(),
        description="pods that came since and have no node yet: nobody is blamed for these",
    )
    freed: tuple[str, ...] = Field(
        default=(),
        description="pods that were held in the first dump and wait since: nobody is blamed either",
    )
    nodes_added: tuple[str, ...] = Field(default=(), description="nodes that came since")
    nodes_removed: tuple[str, ...] = Field(default=(), description="nodes that are gone since")
