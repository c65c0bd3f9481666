"""Parameters of the metrics, as objectives of a ``Model`` document write them."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from kantopt.schema.base import SELECTOR, Count, Part, PositiveCount, Quantity
from kantopt.schema.jobs import DeviceRequest, Requests


class ModelPart(Part):
    """A part whose field names are names of rules and metrics, written as they are."""

    model_config = ConfigDict(alias_generator=None)


class PerPriorityObjective(ModelPart):
    """Counted per priority, the highest first."""

    by: Literal["priority", "all"] = Field(default="priority", description="one tier per priority")


class UnplacedObjective(PerPriorityObjective):
    """What is wanted and not placed."""

    unit: Literal["gpu", "job", "pod"] = Field(default="gpu", description="what is counted")
    target: Literal[0] | None = Field(
        default=None,
        description="0: a goal, which a plan misses that leaves any; only jobs that wait count",
    )


class DisplacedObjective(PerPriorityObjective):
    """What runs now and is evicted, by what is unplaced of it."""

    unit: Literal["gpu", "pod"] = Field(default="gpu", description="what is counted")


class EvictionsObjective(PerPriorityObjective):
    """Pods evicted, by what they cost or by their number."""

    unit: Literal["cost", "pod"] = Field(
        default="cost", description="what is counted: disruptionCost, or pods"
    )


class TotalObjective(ModelPart):
    """Counted over the whole cluster unless asked per priority."""

    by: Literal["priority", "all"] = Field(default="all", description="one tier, or per priority")


class MixShape(Part):
    """One shape of pod in a job mix."""

    count: PositiveCount = Field(default=1, description="weight of the shape: pods of it")
    requests: Requests = Field(default_factory=dict, description="resources of each pod")
    devices: tuple[DeviceRequest, ...] = Field(default=(), description="devices of each pod")


class ClusterObjective(ModelPart):
    """A metric of the whole cluster: minimised, or a goal to be reached."""

    target: Count | None = Field(
        default=None,
        description="a goal: this much is good enough, and only what is above it counts",
    )
    beyond: Count = Field(
        default=0,
        description="how much more than all that there is was asked for: by so much the goal is "
        "missed in any plan",
    )


NodeSelector = Annotated[
    str | None,
    Field(
        pattern=SELECTOR.pattern,
        description="count only nodes with this label, KEY=VALUE or KEY; default: all",
    ),
]


class NodesObjective(ClusterObjective):
    """A metric of the nodes that can be used: ready, not cordoned, with a label if one is named."""

    selector: NodeSelector = None


class ClassObjective(NodesObjective):
    """A metric of the nodes that offer something."""

    offers: str | None = Field(
        default=None,
        alias="class",
        min_length=1,
        description="count only nodes that offer this: a resource, a class of devices, or gpu for "
        "GPUs of any kind; default: gpu, where nodes have any",
    )


class StrandedObjective(ModelPart):
    """GPUs that the job mix cannot be expected to use."""

    selector: NodeSelector = None
    target: Quantity | None = Field(
        default=None,
        description="a goal, in GPUs: this much is good enough, and only what is above it counts",
    )
    mix: tuple[MixShape, ...] = Field(
        default=(), description="shapes of pods; default: the commonest GPU pods of the instance"
    )


class AmountObjective(ModelPart):
    """An amount that nodes in use come to."""

    selector: NodeSelector = None
    target: Quantity | None = Field(
        default=None,
        description="a goal, in units of price or watts: this much is good enough, and only what "
        "is above it counts",
    )


class BalanceObjective(ModelPart):
    """How full nodes may be."""

    target: Quantity = Field(
        description="percent of what a node offers up to which its load is good enough, to a tenth"
    )
    resources: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="resources of nodes to look at; default: cpu and memory, if nodes have any",
    )
    selector: NodeSelector = None


class GroupsObjective(ClusterObjective):
    """Topology level whose domains are the groups."""

    level: str | None = Field(default=None, description="level; default: the finest above nodes")


class DomainsObjective(ClassObjective):
    """Topology level whose domains are counted."""

    level: str | None = Field(
        default=None,
        description="level, by its name or its node label; default: the finest above nodes",
    )


class FragmentObjective(NodesObjective):
    """Free slots of one size, per node or per device."""

    resource: str = Field(default="cpu", description="resource that a slot needs")
    size: Quantity = Field(description="how much of it a slot needs")
    device_class: str | None = Field(
        default=None, description="count slots per device of this class; default: per node"
    )
    of: Literal["free", "capacity"] = Field(
        default="free",
        description="what the slots that are missing are counted from: those that all that is free "
        "would make in one piece, or those that there would be if nothing ran",
    )


class NoParameters(ModelPart):
    """A metric without parameters."""
