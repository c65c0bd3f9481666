"""Jobs, running or pending, and the ``JobList`` document."""

from typing import Annotated, Literal

from pydantic import Field

from kantopt.schema.base import (
    Count,
    Document,
    Duration,
    Expression,
    HostPort,
    LabelSelector,
    Metadata,
    Name,
    Part,
    PositiveCount,
    Priority,
    Quantity,
    Replicas,
    Timestamp,
    Toleration,
)
from kantopt.schema.features import Feature
from kantopt.schema.reservation import Reservation
from kantopt.schema.stays import Cause, Fixed

Requests = Annotated[dict[str, Quantity], Field(description="amount by Kubernetes resource name")]


class NodeSelectorTerm(Part):
    """Requirements on a node that must all hold; of several terms one is enough."""

    match_expressions: tuple[Expression, ...] = Field(
        default=(), description="requirements on the node's labels"
    )
    match_fields: tuple[Expression, ...] = Field(
        default=(), description="requirements on the node's fields; only metadata.name exists"
    )


class TopologyRequest(Part):
    """How close together pods must be or should be."""

    required: str | None = Field(
        default=None, description="level (name or node label) of which all pods share one domain"
    )
    preferred: str | None = Field(
        default=None, description="level of which the pods should touch as few domains as possible"
    )
    pod_set_slice_required_topology: str | None = Field(
        default=None, description="level of which each slice of pods shares one domain"
    )
    pod_set_slice_size: PositiveCount | None = Field(
        default=None, description="pods in a slice; divides the pod set's count"
    )


class DeviceRequest(Part):
    """Distinct devices of one class that each pod occupies."""

    device_class: str = Field(alias="class", min_length=1, description="class of the devices")
    count: PositiveCount = Field(default=1, description="distinct devices per pod")
    requests: Requests = Field(description="what the pod takes from each of those devices")


class PodAntiAffinityTerm(Part):
    """Pods that may not share a topology domain with the pods of this set (required form)."""

    topology_key: str = Field(min_length=1, description="node label that makes the domains")
    label_selector: LabelSelector = Field(description="the pods to keep away from")
    namespaces: tuple[str, ...] = Field(
        default=(), description="namespaces of those pods; empty means the job's own"
    )


class PodAffinityTerm(Part):
    """Pods of which each domain that pods of this set come to must have one (required form)."""

    topology_key: str = Field(min_length=1, description="node label that makes the domains")
    label_selector: LabelSelector | None = Field(
        default=None, description="the pods to be near; none: nobody, so that no pod ever comes"
    )
    namespaces: tuple[str, ...] = Field(
        default=(), description="namespaces of those pods; empty means the job's own"
    )


class TopologySpreadConstraint(Part):
    """How evenly matching pods must lie over topology domains (``DoNotSchedule`` form)."""

    max_skew: PositiveCount = Field(description="most by which a domain may exceed the emptiest")
    topology_key: str = Field(min_length=1, description="node label that makes the domains")
    label_selector: LabelSelector | None = Field(
        default=None,
        description="the pods that are counted; none or an empty one: nobody, as in kube-scheduler",
    )
    min_domains: PositiveCount = Field(
        default=1, description="with fewer eligible domains the emptiest counts as 0"
    )
    node_affinity_policy: Literal["Honor", "Ignore"] = Field(
        default="Honor", description="Honor: only nodes count that selector and affinity admit"
    )
    node_taints_policy: Literal["Honor", "Ignore"] = Field(
        default="Ignore", description="Honor: only nodes whose taints pods tolerate, if for a time"
    )


Weight = Annotated[int, Field(ge=1, le=100)]


class PreferredNodes(Part):
    """Nodes that pods would rather run on."""

    weight: Weight = Field(description="what it is worth, beside the others")
    preference: NodeSelectorTerm = Field(description="the nodes, by labels")


class PreferredPods(Part):
    """Pods that others would rather share a topology domain with, or rather not."""

    weight: Weight = Field(description="what it is worth, beside the others")
    topology_key: str = Field(min_length=1, description="node label that makes the domains")
    label_selector: LabelSelector = Field(description="the pods")
    namespaces: tuple[str, ...] = Field(
        default=(), description="namespaces of those pods; empty means the job's own"
    )


_SERVING = frozenset(
    {"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Node"}
)


class PodRef(Part):
    """A pod by name; identity for the consumers of a plan."""

    name: Name = Field(description="name of the pod")
    uid: str = Field(default="", description="uid of the pod object")
    resource_version: str = Field(default="", description="version of the pod object when read")
    scheduling_gates: tuple[str, ...] = Field(
        default=(), description="gates that hold the pod back, in order"
    )
    grace_period_seconds: Count | None = Field(
        default=None, description="termination grace period, seconds"
    )
    owner_kind: str = Field(
        default="",
        description="kind of the controller that makes it anew, with its API group if it is a "
        "Job of another than Kubernetes' own (Job.batch.volcano.sh); empty: none is known",
    )
    owner_uid: str = Field(default="", description="uid of that controller")

    @property
    def serves(self) -> bool:
        """Whether its owner keeps so many pods at all times: it never gets done, nor loses work."""
        return self.owner_kind in _SERVING


class Assignment(Part):
    """Pods of a pod set that run on a node."""

    node: Name = Field(description="name of the node")
    count: PositiveCount = Field(default=1, description="pods on that node")
    devices: tuple[Count, ...] = Field(
        default=(), description="indices of the node's devices that each of these pods occupies"
    )
    pods: tuple[PodRef, ...] = Field(default=(), description="the pods by name, if known")


class PodSet(Part):
    """Identical pods of one role."""

    name: Name = Field(default="main", description="name of the role")
    count: PositiveCount = Field(description="pods wanted, running ones included")
    min_count: Count | None = Field(
        default=None,
        description="fewest pods that are worth running; default: all (0 if the job has a "
        "minCount of its own); 0: every pod stands for itself",
    )
    labels: dict[str, str] = Field(default_factory=dict, description="labels of the pods")
    requests: Requests = Field(default_factory=dict, description="resources of each pod")
    devices: tuple[DeviceRequest, ...] = Field(default=(), description="devices of each pod")
    host_ports: tuple[HostPort, ...] = Field(
        default=(), description="ports of the node that each pod holds"
    )
    node_selector: dict[str, str] = Field(
        default_factory=dict, description="labels that the node must have"
    )
    node_affinity: tuple[NodeSelectorTerm, ...] = Field(
        default=(), description="required node affinity: one of these terms must match"
    )
    volume_node_affinity: tuple[tuple[NodeSelectorTerm, ...], ...] = Field(
        default=(),
        description="where its volumes and claims can be reached: of each list one term must match",
    )
    exclusive_claims: tuple[Name, ...] = Field(
        default=(),
        description="claims, as NAMESPACE/NAME, that one pod of the cluster may use at a time "
        "(ReadWriteOncePod)",
    )
    tolerations: tuple[Toleration, ...] = Field(default=(), description="tolerated taints")
    outlasts: bool = Field(default=False, description="may still run as taints 'from TIME' begin")
    topology_request: TopologyRequest | None = Field(
        default=None, description="closeness of this pod set's pods"
    )
    pod_anti_affinity: tuple[PodAntiAffinityTerm, ...] = Field(
        default=(), description="required pod anti-affinity"
    )
    pod_affinity: tuple[PodAffinityTerm, ...] = Field(
        default=(),
        description="required pod affinity; of several terms only pods count that match them all",
    )
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = Field(
        default=(), description="required topology spread"
    )
    preferred_node_affinity: tuple[PreferredNodes, ...] = Field(
        default=(), description="wishes: nodes that the pods would rather run on"
    )
    preferred_pod_affinity: tuple[PreferredPods, ...] = Field(
        default=(), description="wishes: pods that these would rather be near"
    )
    preferred_pod_anti_affinity: tuple[PreferredPods, ...] = Field(
        default=(), description="wishes: pods that these would rather be away from"
    )
    preferred_topology_spread: tuple[TopologySpreadConstraint, ...] = Field(
        default=(), description="wishes: spread (``ScheduleAnyway`` form)"
    )
    disruption_cost: Count | None = Field(
        default=None, description="cost of evicting one pod; default: the job's"
    )
    start_time: Timestamp | None = Field(
        default=None, description="when its running pods started; default: the job's"
    )
    last_checkpoint_time: Timestamp | None = Field(
        default=None, description="when they last saved their work; default: the job's"
    )
    dirty_rate: Quantity = Field(
        default=0,
        description="bytes of memory a second that each pod writes, which a live move copies again",
    )
    nominated: bool = Field(
        default=False,
        description="its pods wait on their node for the room of pods that are being evicted for "
        "them: they count as running there and are not moved; budgets do not count them",
    )
    terminating: bool = Field(
        default=False,
        description="its running pods are on their way out: they stay till then, no spread or "
        "budget counts them, nobody comes near them, but their room is taken",
    )
    health: Literal["ready", "unready", "starting"] = Field(
        default="ready",
        description="of its running pods: budgets with evictUnready bear that unready ones go, "
        "and every budget those that have not started yet",
    )
    preemptible: bool | None = Field(default=None, description="overrides the job's")
    movable: bool | None = Field(default=None, description="overrides the job's")
    stays: tuple[Cause | Fixed, ...] = Field(
        default=(), description="why pods that run are not movable, where importing found it out"
    )
    not_modelled: tuple[Feature, ...] = Field(
        default=(),
        description="what its pods ask for that is not modelled: they are neither moved, evicted "
        "nor placed, unless the model assumes it",
    )
    assignments: tuple[Assignment, ...] = Field(
        default=(), description="where pods run; those of the count beyond are pending"
    )
    pods: tuple[PodRef, ...] = Field(default=(), description="pending pods by name, if known")

    @property
    def running(self) -> int:
        """Pods that have a node."""
        return sum(place.count for place in self.assignments)

    @property
    def waiting(self) -> int:
        """Pods that have none."""
        return self.count - self.running

    @property
    def placed_refs(self) -> tuple[PodRef, ...]:
        """Pods that have a node, as far as they are known by name."""
        return tuple(pod for place in self.assignments for pod in place.pods)

    @property
    def refs(self) -> tuple[PodRef, ...]:
        """All pods that are known by name, first those that wait."""
        return (*self.pods, *self.placed_refs)


class Job(Part):
    """A gang of pods that start together or not at all."""

    name: Name = Field(description="name of the job, unique in its namespace")
    namespace: Name = Field(default="default", description="namespace of the job")
    uid: str = Field(default="", description="uid of the object that owns the pods")
    queue_name: str = Field(default="", description="queue whose quota the job uses")
    workload: str = Field(default="", description="the Workload by which Kueue admits it, if known")
    quota_reserved: bool = Field(default=False, description="its pods use it though they wait")
    priority_class_name: str = Field(default="", description="name of a priority class")
    priority: Priority | None = Field(
        default=None, description="priority; wins over the class; default 0"
    )
    pod_priority: Priority | None = Field(default=None, description="its pods', if Kueue's differs")
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | None = Field(
        default=None, description="whether others may be evicted for this job"
    )
    preemptible: bool = Field(default=True, description="may be evicted for something important")
    movable: bool = Field(default=True, description="may be migrated to another node")
    daemon: bool = Field(
        default=False,
        description="its pods belong to their nodes (DaemonSets, static pods): they are neither "
        "evicted nor moved, and a node with no others is empty",
    )
    move_mode: Literal["restart", "live"] = Field(
        default="restart",
        description="restart: gone before it is back; live: both places are held during the move",
    )
    max_moves: Count | None = Field(
        default=None, description="most of its pods that a plan moves, a stop-over being one more"
    )
    max_moves_at_once: PositiveCount | None = Field(
        default=None, description="most pods of the job that are on the move at any one time"
    )
    disruption_mode: Literal["single", "all"] = Field(
        default="single",
        description="all: evicting one pod evicts the whole job, and restarting one elsewhere "
        "restarts all",
    )
    disruption_cost: Count = Field(
        default=1, description="cost of evicting one pod, or the whole job with disruptionMode all"
    )
    min_count: Count | None = Field(
        default=None, description="fewest pods over all pod sets that are worth running"
    )
    topology_request: TopologyRequest | None = Field(
        default=None, description="closeness of the pods of all pod sets together"
    )
    creation_time: Timestamp | None = Field(default=None, description="when it was submitted")
    start_time: Timestamp | None = Field(default=None, description="when it started")
    last_checkpoint_time: Timestamp | None = Field(
        default=None, description="when it last saved its work: what came after is lost if it ends"
    )
    min_runtime: Duration | None = Field(
        default=None, description="who has run for less is not evicted; default: the queue's"
    )
    replicas: Replicas | None = Field(
        default=None,
        description="groups of the pods of all pod sets, each a job NAME-0, NAME-1 ... that starts "
        "and goes whole, so that roles stay in the ratio of their counts; default: one job, by "
        "its own name",
    )
    reservation: Reservation | None = Field(
        default=None,
        description="whose the room is for which its only pod stands; none: it stands for itself",
    )
    pod_sets: tuple[PodSet, ...] = Field(min_length=1, description="roles of the job")

    @property
    def full_name(self) -> str:
        """Return NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"

    @property
    def running(self) -> int:
        """Pods that have a node."""
        return sum(podset.running for podset in self.pod_sets)

    @property
    def waiting(self) -> int:
        """Pods that have none."""
        return sum(podset.waiting for podset in self.pod_sets)

    def least_of(self, podset: PodSet) -> int:
        """Return the fewest pods of a role that are worth running, told or not."""
        if podset.min_count is None:
            return podset.count if self.min_count is None else 0
        return podset.min_count

    def serves(self, podset: PodSet) -> bool:
        """Whether all pods of a role that run are of services: who of them ends loses no work.

        What saves its work has some to lose, whoever makes its pods.
        """
        saves = podset.last_checkpoint_time or self.last_checkpoint_time
        return bool(podset.assignments and not saves) and all(
            len(place.pods) == place.count and all(pod.serves for pod in place.pods)
            for place in podset.assignments
        )


class JobList(Document):
    """Pending jobs."""

    kind: Literal["JobList"] = Field(description="JobList")
    metadata: Metadata = Field(default_factory=Metadata, description="name of the list")
    jobs: tuple[Job, ...] = Field(default=(), description="the jobs")
