"""The ``Model`` document: which rules hold and what is minimised, in which order."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from kantopt.schema.base import (
    Count,
    Document,
    Duration,
    Metadata,
    Name,
    Part,
    PositiveCount,
    Quantity,
    Selector,
)
from kantopt.schema.features import Feature
from kantopt.schema.objectives import (
    AmountObjective,
    BalanceObjective,
    ClassObjective,
    ClusterObjective,
    DisplacedObjective,
    DomainsObjective,
    EvictionsObjective,
    FragmentObjective,
    GroupsObjective,
    ModelPart,
    NodesObjective,
    NoParameters,
    StrandedObjective,
    TotalObjective,
    UnplacedObjective,
)
from kantopt.schema.schedule import Schedule
from kantopt.schema.stays import Liftable
from kantopt.schema.zone import Zone


class Rule(StrEnum):
    """What must hold. The same names run through checker, encoding, tests and output."""

    CAPACITY = "capacity"
    DEVICES = "devices"
    ELIGIBILITY = "eligibility"
    GANG = "gang"
    TOPOLOGY = "topology"
    SLICES = "slices"
    QUOTA = "quota"
    ANTI_AFFINITY = "anti_affinity"
    SPREAD = "spread"
    PRIORITY = "priority"
    PINNED = "pinned"
    DISRUPTION = "disruption"
    GANG_VICTIMS = "gang_victims"
    LIMITS = "limits"
    REQUIRED = "required"
    AFFINITY = "affinity"


class Metric(StrEnum):
    """What is minimised, always as an integer. The same names run through the whole project."""

    UNPLACED = "unplaced"
    DISPLACED = "displaced"
    EVICTIONS = "evictions"
    LOST_GPU_SECONDS = "lost_gpu_seconds"
    MOVES = "moves"
    DISRUPTION_COST = "disruption_cost"
    DOMAINS_CROSSED = "domains_crossed"
    FRAGMENTED_NODES = "fragmented_nodes"
    STRANDED_GPUS = "stranded_gpus"
    NODES_IN_USE = "nodes_in_use"
    ALLOCATION = "allocation"
    EXCESS_NODES = "excess_nodes"
    EXCESS_GROUPS = "excess_groups"
    WAITING = "waiting"
    FRAGMENT_RATE = "fragment_rate"
    DOMAINS_IN_USE = "domains_in_use"
    UNDRAINED = "undrained"
    PREFERENCES = "preferences"
    COST = "cost"
    ENERGY = "energy"
    BALANCE = "balance"
    MIGRATION_COST = "migration_cost"
    FAIR_SHARE = "fair_share"
    CHANGES_TO_PLAN = "changes_to_plan"


Switch = Literal["required", "off"]


class Rules(ModelPart):
    """Which rules hold; every rule does unless it is switched off."""

    capacity: Switch = Field(default="required", description="no node holds more than it offers")
    devices: Switch = Field(default="required", description="no device holds more than it offers")
    eligibility: Switch = Field(
        default="required", description="selectors, affinity, taints, cordons, readiness"
    )
    gang: Switch = Field(default="required", description="at least minCount pods or none")
    topology: Switch = Field(default="required", description="all pods in one required domain")
    slices: Switch = Field(default="required", description="each slice of pods in one domain")
    quota: Switch = Field(
        default="required",
        description="queues stay within their quota; to one beyond it nothing comes",
    )
    anti_affinity: Switch = Field(default="required", description="required pod anti-affinity")
    spread: Switch = Field(default="required", description="required topology spread")
    priority: Literal["strict", "counts", "off"] = Field(
        default="strict",
        description="strict: only a more important job that needs the room evicts; counts (or "
        "off): whatever lets the objectives fall",
    )
    pinned: Switch = Field(default="required", description="preemptible and movable are honoured")
    disruption: Switch = Field(default="required", description="disruption budgets are kept")
    gang_victims: Switch = Field(
        default="required",
        description="disruptionMode all: the whole job is evicted, or restarted, or none of it",
    )
    affinity: Switch = Field(default="required", description="required pod affinity")


class PriorityObjective(ModelPart):
    """One metric, or a list of metrics to work through for each priority in turn.

    Written as the metric's name (``moves``) or as ``{name: {parameter: value}}``.
    """

    unplaced: UnplacedObjective | None = Field(default=None, description="unplaced pods")
    displaced: DisplacedObjective | None = Field(
        default=None, description="pods that run now and are evicted, as unplaced counts them"
    )
    evictions: EvictionsObjective | None = Field(
        default=None, description="cost, or number, of the pods evicted"
    )
    lost_gpu_seconds: TotalObjective | None = Field(
        default=None, description="GPU time since the last checkpoint of pods that end"
    )
    moves: TotalObjective | None = Field(default=None, description="pods moved")
    disruption_cost: TotalObjective | None = Field(
        default=None, description="2 per evicted and 1 per moved pod"
    )
    migration_cost: TotalObjective | None = Field(
        default=None, description="memory that moves copy, again where it is written meanwhile"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return {data: {}} if isinstance(data, str) else data
        # Written out with all its fields a document has the metrics as well that are not meant.
        none = {key for key in cls.model_fields if key in data and data[key] is None}
        return {key: data[key] for key in data if key not in none} or data

    @model_validator(mode="after")
    def _one_metric(self) -> "PriorityObjective":
        if len(self.model_fields_set) != 1:
            raise ValueError("exactly one metric per objective")
        return self

    @property
    def name(self) -> str:
        """Name of the field that is set: a metric or ``each_priority``."""
        return next(iter(self.model_fields_set))


class Objective(PriorityObjective):
    """One entry of the list of objectives."""

    each_priority: Annotated[tuple[PriorityObjective, ...], Field(min_length=1)] | None = Field(
        default=None, description="metrics to work through for each priority, the highest first"
    )
    domains_crossed: ClusterObjective | None = Field(
        default=None, description="preferred domains used over the minimum"
    )
    fragmented_nodes: NodesObjective | None = Field(
        default=None, description="nodes whose GPUs are partly used (GFR)"
    )
    stranded_gpus: StrandedObjective | None = Field(
        default=None, description="GPUs that the job mix cannot use (FGD)"
    )
    nodes_in_use: ClassObjective | None = Field(default=None, description="nodes with pods")
    allocation: NodesObjective | None = Field(default=None, description="GPUs not allocated (GAR)")
    excess_nodes: ClusterObjective | None = Field(
        default=None, description="nodes used by jobs over the minimum (JTTED's D_node)"
    )
    excess_groups: GroupsObjective | None = Field(
        default=None, description="groups used by jobs over the minimum (JTTED's D_group)"
    )
    waiting: NoParameters | None = Field(
        default=None, description="seconds waited so far by jobs left unplaced (JWTD)"
    )
    fragment_rate: FragmentObjective | None = Field(
        default=None, description="free slots of a size that are missing"
    )
    domains_in_use: DomainsObjective | None = Field(
        default=None, description="domains of a topology level with pods"
    )
    undrained: ClusterObjective | None = Field(
        default=None, description="pods that stay on the nodes to be emptied (see drain)"
    )
    preferences: NoParameters | None = Field(
        default=None, description="what pods lose by being where they would rather not be"
    )
    cost: AmountObjective | None = Field(
        default=None, description="price of the nodes in use (see price of nodes)"
    )
    energy: AmountObjective | None = Field(
        default=None, description="power that the nodes in use draw, idle and by GPU"
    )
    balance: BalanceObjective | None = Field(
        default=None, description="load of nodes above a share of what they offer"
    )
    fair_share: NoParameters | None = Field(
        default=None, description="GPUs that queues have less than they want and their weight gives"
    )
    changes_to_plan: NoParameters | None = Field(
        default=None, description="pods that are not where the last plan wants them (see lastPlan)"
    )


class Limits(Part):
    """Most that a plan may disrupt."""

    evictions: Count | None = Field(default=None, description="pods evicted at most")
    moves: Count | None = Field(
        default=None, description="pods moved at most, each stop-over counted as well"
    )
    moves_per_wave: PositiveCount | None = Field(
        default=None,
        description="pods on the move at any one time at most",
    )
    moves_per_job: Count | None = Field(default=None, description="pods of one job moved at most")
    moves_per_namespace: Count | None = Field(
        default=None, description="pods of one namespace moved at most"
    )
    arrivals_per_node: Count | None = Field(
        default=None, description="moved pods that one node takes at most"
    )
    departures_per_node: Count | None = Field(
        default=None,
        description="running pods that leave one node at most, moved or evicted",
    )
    min_runtime: Duration | None = Field(
        default=None,
        description="pods that have run for less are not evicted, unless job or queue say other",
    )


class Wanted(Part):
    """Where the last plan wants the pods of one pod set to be in the end."""

    job: Name = Field(description="the job, NAMESPACE/NAME")
    pod_set: Name = Field(description="name of the pod set")
    state: Literal["running", "pending"] = Field(
        description="whether it speaks of the pods that run now or of those that wait"
    )
    nodes: dict[Name, PositiveCount] = Field(
        default_factory=dict,
        description="pods by node; running pods beyond these are wanted nowhere: evicted",
    )


class Model(Document):
    """A question: the rules that hold and the metrics to minimise, strictly in order."""

    kind: Literal["Model"] = Field(description="Model")
    metadata: Metadata = Field(default_factory=Metadata, description="name of the model")
    extends: str | None = Field(
        default=None, description="model to start from: a name of ours, or a path ending in .yaml"
    )
    rules: Rules = Field(default_factory=Rules, description="which rules hold")
    objectives: tuple[Objective, ...] | None = Field(
        default=None, description="metrics, most important first; each is minimised, then locked"
    )
    limits: Limits = Field(default_factory=Limits, description="most that a plan may disrupt")
    schedule: Schedule = Field(
        default_factory=Schedule, description="when and how fast plans are carried out"
    )
    required: tuple[str, ...] = Field(
        default=(), description="jobs (NAMESPACE/NAME or NAME) that must be placed"
    )
    pending: tuple[str, ...] | None = Field(
        default=None,
        description="patterns of the jobs (NAMESPACE/NAME or NAME, with * and ?) of which pending "
        "pods are placed; the others are left out of the question; default: all",
    )
    drain: tuple[str, ...] = Field(
        default=(),
        description="nodes to be emptied: nothing comes to them, and pods may move off them even "
        "if they are not ready",
    )
    zone: Zone | None = Field(
        default=None,
        description="nodes set apart for some jobs, which go there first; default: none",
    )
    disturb: tuple[Liftable, ...] = Field(
        default=(),
        description="causes that keep no imported pod where it is, and no owner from letting "
        "more pods go, as they else do",
    )
    exempt: tuple[Selector, ...] = Field(
        default=(),
        description="labels (KEY=VALUE or KEY) of pods that are neither moved nor evicted",
    )
    assume: tuple[Feature, ...] = Field(
        default=(),
        description="what pods ask for that is not modelled and is taken for granted: pods with "
        "other such wishes are left where they are, or left out",
    )
    last_plan: tuple[Wanted, ...] = Field(
        default=(),
        description="what a plan before still wants of pods that it acts on, for changes_to_plan; "
        "of running pods that are not named it wants that they stay. --last-plan writes it",
    )
    min_benefit: Quantity | None = Field(
        default=None,
        description="least that goals gain per disturbed pod (nodes, domains, slots, GPUs, jobs); "
        "a plan that gains less is not worth it",
    )

    def asks_for(self, metric: Metric) -> bool:
        """Whether an objective counts a metric, of the whole cluster or for each priority."""
        return any(
            part.name == metric.value
            for objective in self.objectives or ()
            for part in (objective.each_priority or (objective,))
        )
