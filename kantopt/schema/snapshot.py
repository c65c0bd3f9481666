"""The ``ClusterSnapshot`` document: nodes, running jobs, queues and budgets at one moment."""

from typing import Annotated, Literal

from pydantic import Field

from kantopt.schema.base import (
    Count,
    Document,
    Duration,
    LabelSelector,
    Metadata,
    Name,
    Part,
    PositiveCount,
    Quantity,
    Selector,
    Timestamp,
)
from kantopt.schema.jobs import Job, Requests

HOSTNAME = "kubernetes.io/hostname"
"""Label by which pods are sent to one node."""
NODE_NAME = "metadata.name"
"""In place of the label of a level: each node is a domain, whatever labels it has or lacks."""


class SnapshotMetadata(Metadata):
    """Name of the cluster and moment of the snapshot."""

    captured_at: Timestamp | None = Field(default=None, description="moment of the snapshot")
    resource_version: str = Field(default="", description="version of the list it was read from")
    cluster_uid: str = Field(
        default="", description="uid of the namespace kube-system, which stands for the cluster"
    )


class TopologyLevel(Part):
    """One level of the topology, made by a node label, or of single nodes."""

    name: Name = Field(description="short name of the level, for example rack")
    node_label: str = Field(
        min_length=1,
        description="node label whose values name the domains; metadata.name: each node is one, "
        "also where it is in no domain of the levels above",
    )


class Topology(Part):
    """Levels from coarse to fine; a domain is the path of values down to its level."""

    levels: tuple[TopologyLevel, ...] = Field(default=(), description="coarsest level first")

    @property
    def labelled(self) -> tuple[TopologyLevel, ...]:
        """Levels that labels make: all but one of single nodes."""
        return tuple(level for level in self.levels if level.node_label != NODE_NAME)


class PriorityClass(Part):
    """A named priority, as in Kubernetes."""

    name: Name = Field(description="name of the class")
    value: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = Field(description="its priority")
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = Field(
        default="PreemptLowerPriority", description="whether its jobs may have others evicted"
    )
    global_default: bool = Field(default=False, description="used by jobs that name no class")


class Taint(Part):
    """A mark that keeps pods away which do not tolerate it."""

    key: str = Field(min_length=1, description="taint key")
    value: str = Field(default="", description="taint value")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(
        description="what it does; PreferNoSchedule keeps no pod away"
    )


class NodeDevices(Part):
    """Like devices of a node: GPUs that can be shared, NUMA zones."""

    device_class: str = Field(alias="class", min_length=1, description="class of the devices")
    count: PositiveCount = Field(default=1, description="number of devices")
    capacity: Requests = Field(description="what each device offers")


class Node(Part):
    """A machine."""

    name: Name = Field(description="name of the node")
    uid: str = Field(default="", description="uid of the node object")
    resource_version: str = Field(default="", description="version of the node object when read")
    labels: dict[str, str] = Field(default_factory=dict, description="labels of the node")
    taints: tuple[Taint, ...] = Field(default=(), description="taints of the node")
    allocatable: Requests = Field(
        default_factory=dict,
        description="resources for pods; a resource that is not listed is not offered, "
        "except pods, of which there is then no limit",
    )
    devices: tuple[NodeDevices, ...] = Field(
        default=(), description="devices; indices run through this list in order"
    )
    hostname_from_name: bool = Field(
        default=True,
        description="its name stands for a missing label kubernetes.io/hostname",
    )
    unschedulable: bool = Field(
        default=False,
        description="cordoned: takes only pods that tolerate node.kubernetes.io/unschedulable",
    )
    ready: bool = Field(
        default=True,
        description="false: takes only pods that tolerate its taint for that, by default "
        "node.kubernetes.io/not-ready",
    )
    price: Quantity = Field(
        default=0,
        description="what the node costs while it is in use, in any currency and for any time, the "
        "same for all nodes; to the millionth",
    )
    idle_power: Count = Field(
        default=0, description="watts that the node draws while it is in use and its GPUs are not"
    )
    power_per_gpu: Count = Field(
        default=0, description="watts that each GPU of the node draws more while a pod holds it"
    )


class QueueResource(Part):
    """Quota of a queue for one resource."""

    name: str = Field(min_length=1, description="name of the resource")
    nominal_quota: Quantity = Field(description="the queue's own share")
    borrowing_limit: Quantity | None = Field(
        default=None, description="most to use beyond the own share; default: no limit"
    )
    lending_limit: Quantity | None = Field(
        default=None, description="most of the unused share that others may use; default: all"
    )
    held: Quantity = Field(
        default=0,
        description="what is in use of it by other names, such as parts of GPUs and MIG devices: "
        "of all that it counts, no more is left",
    )
    nodes: Selector | None = Field(
        default=None,
        description="count only pods that may go to nodes with this label, KEY=VALUE or KEY, such "
        "as that of a GPU type; default: all pods",
    )

    @property
    def full_name(self) -> str:
        """Name of what is counted: the resource, and of which nodes."""
        return self.name if self.nodes is None else f"{self.name} [{self.nodes}]"


class Queue(Part):
    """A queue with quota; queues of one cohort lend each other what they do not use."""

    name: Name = Field(description="name of the queue")
    cohort: str = Field(default="", description="cohort; none: nothing is borrowed or lent")
    resources: tuple[QueueResource, ...] = Field(
        default=(), description="quotas; resources not listed are not limited"
    )
    weight: Quantity = Field(
        default=1, description="its part of a fair share, beside those of others; to a thousandth"
    )
    min_runtime: Duration | None = Field(
        default=None,
        description="pods of its jobs that have run for less are not evicted; default: the model's",
    )
    strict_order: bool = Field(
        default=False,
        description="Kueue starts no job of it before a more important or older one; plans may",
    )


class Victims(Part):
    """Whom Kueue, KAI or Volcano evicts for a job that waits, by its queue; less important jobs.

    A job that none speaks of evicts by priorities alone.
    """

    job: str = Field(min_length=1, description="the job that waits, NAMESPACE/NAME")
    queues: dict[Name, Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]] = Field(
        default_factory=dict,
        description="queues whose jobs go for it, each with the priority up to which they do",
    )
    nominal_left: dict[str, Quantity] = Field(
        default_factory=dict,
        description="what its queue has left of its own quota of each resource that it asks for, "
        "if jobs of other queues go for it only while those that wait take no more than that",
    )
    left_above: dict[Name, dict[str, Quantity]] = Field(
        default_factory=dict,
        description="the same of queues above its own, where these own what it may take back",
    )
    excess: dict[Name, dict[str, Quantity]] = Field(
        default_factory=dict,
        description="what other queues of these have beyond what they own: once that is gone, "
        "their scheduler stops, where a plan only warns",
    )
    beyond: tuple[Name, ...] = Field(
        default=(),
        description="queues of which jobs may be evicted for it that no plan evicts: they are no "
        "less important, or go by fair shares, only beside jobs of its own queue, or if it has "
        "quota, for kube-scheduler",
    )
    queued_only: bool = Field(
        default=False,
        description="jobs in other queues, or in none, do not go for it; default: those in none go "
        "by priorities, for kube-scheduler evicts them",
    )


class PodDisruptionBudget(Part):
    """How many of the selected pods may be away at once; give exactly one of the three limits."""

    name: Name = Field(description="name of the budget")
    namespace: Name = Field(default="default", description="namespace of the budget and its pods")
    selector: LabelSelector = Field(description="the pods it protects")
    disruptions_allowed: Count | None = Field(
        default=None, description="pods that may be disrupted now"
    )
    min_available: Count | Annotated[str, Field(pattern=r"^[0-9]{1,3}%$")] | None = Field(
        default=None, description="pods, or percent of the wanted pods, that must stay"
    )
    max_unavailable: Count | Annotated[str, Field(pattern=r"^[0-9]{1,3}%$")] | None = Field(
        default=None, description="pods, or percent of the wanted pods, that may be away"
    )
    evict_unready: bool = Field(
        default=False, description="pods that are not ready may go, and do not count"
    )
    uid: str = Field(default="", description="uid of the budget object")
    resource_version: str = Field(default="", description="version of the budget object when read")

    @property
    def full_name(self) -> str:
        """Return NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"


class ClusterSnapshot(Document):
    """A cluster at one moment."""

    kind: Literal["ClusterSnapshot"] = Field(description="ClusterSnapshot")
    metadata: SnapshotMetadata = Field(
        default_factory=SnapshotMetadata, description="name and moment"
    )
    topology: Topology = Field(default_factory=Topology, description="topology of the nodes")
    priority_classes: tuple[PriorityClass, ...] = Field(default=(), description="named priorities")
    nodes: tuple[Node, ...] = Field(default=(), description="machines")
    jobs: tuple[Job, ...] = Field(default=(), description="running jobs")
    queues: tuple[Queue, ...] = Field(default=(), description="quotas")
    victims: tuple[Victims, ...] = Field(
        default=(), description="whom Kueue, KAI and Volcano evict for jobs that wait for them"
    )
    pod_disruption_budgets: tuple[PodDisruptionBudget, ...] = Field(
        default=(), description="disruption budgets"
    )
