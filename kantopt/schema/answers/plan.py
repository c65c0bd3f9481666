"""The ``Plan`` document: what to do, in which order, and how good that is."""

from typing import Annotated, Literal

from pydantic import Field

from kantopt.schema.answers.cascade import Cascade
from kantopt.schema.answers.left import HeldBack, LeftAside, NotModelled
from kantopt.schema.answers.since import SinceLastPlan
from kantopt.schema.base import (
    Count,
    Document,
    Metadata,
    Name,
    Part,
    PositiveCount,
    Timestamp,
)
from kantopt.schema.jobs import Job, PodRef
from kantopt.schema.model import Model
from kantopt.schema.read_as import ReadAs

Amount = Annotated[int, Field(ge=0)]
Status = Literal["OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNKNOWN"]


class SnapshotRef(Part):
    """The snapshot a plan was made for."""

    digest: str = Field(description="sha256 of the snapshot's canonical form")
    name: str = Field(default="", description="name of the snapshot")
    captured_at: str | None = Field(default=None, description="moment of the snapshot")
    nodes: Count | None = Field(default=None, description="how many nodes it has")
    running_pods: Count | None = Field(default=None, description="how many pods run on them")
    resource_version: str = Field(default="", description="version of the list it was read from")
    cluster_uid: str = Field(default="", description="uid of the cluster, as the snapshot has it")


class PlanMetadata(Metadata):
    """Identity of a plan."""

    plan_id: str = Field(description="sha256 of the rest of the plan")
    kantopt_version: str = Field(description="version that made the plan")
    snapshot: SnapshotRef = Field(description="snapshot the plan is for")
    read_as: ReadAs | None = Field(
        default=None, description="how the input was read; none: nobody noted it"
    )
    question_digest: str = Field(
        default="",
        description="sha256 of what a scheduled run was asked: cluster, pending jobs, model and "
        "options; empty if the run was not scheduled or was ended before its time",
    )
    searches: PositiveCount = Field(
        default=1, description="runs in a row that have searched for a plan of this question"
    )
    cut_from: str = Field(
        default="", description="identity of the plan that this one is what is left of"
    )


class Summary(Part):
    """The plan in numbers."""

    placed_jobs: Count = Field(description="pending jobs of which pods are bound")
    placed_pods: Count = Field(description="pending pods bound")
    unplaced_jobs: Count = Field(description="pending jobs that stay without their pods")
    unplaced_pods: Count = Field(description="pending pods that stay pending")
    evicted_pods: Count = Field(description="running pods evicted")
    moved_pods: Count = Field(description="running pods moved, each counted once")
    stopovers: Count = Field(
        default=0, description="moves beyond that: pods that step aside and go on later"
    )
    leftover_pods: Count = Field(
        default=0, description="of the pods bound the ones that fill what is left over"
    )
    leftover_jobs: Count = Field(default=0, description="jobs that these are of")
    changes: bool = Field(description="whether there is anything to do")


class Technique(Part):
    """What one technique of the search did."""

    name: str = Field(description="name, as --without takes it")
    runs: int = Field(default=0, description="how often it had its turn")
    plans: int = Field(default=0, description="plans it found, each better than all before")
    bounds: int = Field(default=0, description="bounds it raised, of the best plan then")
    why_not: str = Field(default="", description="why it never ran")


class Solver(Part):
    """How the plan was made."""

    engine: Literal["fast", "exact", "auto"] = Field(description="engine asked for")
    strategy: str = Field(description="strategy of the fast path's best plan")
    found_by: Literal["none", "last-plan", "fast", "cp-sat"] = Field(
        description="who found this plan; last-plan: the run before, and it still stands"
    )
    status: Status = Field(
        description="OPTIMAL: every tier is proved; FEASIBLE: a legal plan; INFEASIBLE: a required "
        "job provably has no place; UNKNOWN: nothing was examined"
    )
    stricter: tuple[str, ...] = Field(
        default=(), description="rules stricter than kube-scheduler's that may make it INFEASIBLE"
    )
    seed: int = Field(description="seed of every random choice")
    deterministic: bool = Field(description="limits were in work, not in seconds")
    reproducible: bool = Field(description="whether the same input gives the same plan again")
    ortools_version: str = Field(default="", description="version of OR-Tools, if it was used")
    techniques: tuple[Technique, ...] = Field(
        default=(), description="techniques that had their turn, in the order of the schedule"
    )


class Tiered(Part):
    """One objective, and its value if nothing is done."""

    name: str = Field(description="metric and, in brackets, what it is restricted to")
    metric: str = Field(description="name of the metric")
    priority: int | None = Field(default=None, description="priority it is restricted to")
    preempts: bool | None = Field(
        default=None,
        description="true: only jobs that may evict others, false: only those that may not",
    )
    unit: str = Field(description="unit of value and bound")
    mix_weight: Count = Field(
        default=0,
        description="of the unit `milli-GPU x mix` the sum of the mix's weights: divided by it, "
        "numbers are milli-GPU; 0: no such unit",
    )
    before: Amount = Field(description="value if nothing is done")


class Tier(Tiered):
    """One objective: its value in this plan and how good that provably is."""

    value: Amount = Field(description="value of this plan")
    bound: Amount | None = Field(description="no plan has less, given the tiers it depends on")
    status: Literal["OPTIMAL", "FEASIBLE", "UNKNOWN"] = Field(
        description="OPTIMAL: value equals bound; UNKNOWN: no bound"
    )
    proved_by: Literal["arithmetic", "relaxation-search", "column-generation", "cp-sat", "none"] = (
        Field(description="source of the bound")
    )
    given: tuple[str, ...] = Field(
        default=(),
        description="tiers above: the bound holds for plans no worse than this one in them",
    )


GoalUnit = Literal[
    "nodes",
    "domains",
    "slots",
    "milli-GPU",
    "jobs",
    "pods",
    "micro-units",
    "milliwatts",
    "milli-nodes",
    "other",
]


class Goal(Part):
    """What disturbing pods is for, in words and numbers: before the plan, after it, and wanted."""

    objective: str = Field(description="name of the objective")
    text: str = Field(description="what is counted")
    unit: GoalUnit = Field(description="unit of the numbers")
    more_is_better: bool = Field(description="whether at least the goal is wanted, or at most")
    before: Amount = Field(description="as the cluster is")
    after: Amount = Field(description="after the plan")
    goal: int | None = Field(
        default=None, description="what is wanted; none: as much, or as little, as possible"
    )
    missed_by: Amount | None = Field(default=None, description="what is missing; 0: reached")
    beyond: Amount = Field(
        default=0, description="what of it is missing in any plan: more was wanted than there is"
    )

    @property
    def gain(self) -> int:
        """What the plan gains of it; below 0 it loses."""
        return self.after - self.before if self.more_is_better else self.before - self.after


class PodsOnNode(Part):
    """Pods of one pod set on one node."""

    id: str = Field(description="identity within the plan")
    job: str = Field(description="NAMESPACE/NAME of the job")
    pod_set: Name = Field(description="name of the pod set")
    node: Name = Field(description="name of the node")
    devices: tuple[Count, ...] = Field(default=(), description="devices of each pod")
    count: PositiveCount = Field(description="pods")
    pods: tuple[PodRef, ...] = Field(default=(), description="the pods, if known")


class Binding(PodsOnNode):
    """Pending pods of one pod set bound to one node."""

    leftover: bool = Field(
        default=False,
        description="fills room that is left over once all else is done: no eviction is for it, "
        "and no objective or bound of the plan counts it",
    )


class Eviction(PodsOnNode):
    """Running pods of one pod set evicted from one node and not placed again."""

    priority: int = Field(description="priority of the victim")
    for_job: str | None = Field(
        default=None, alias="for", description="newly placed job that the victim gives way to"
    )
    for_good: bool = Field(
        default=False,
        description="nobody makes its pods anew: it has no controller, or its job ends with them",
    )
    budgets: tuple[str, ...] = Field(default=(), description="disruption budgets that it uses")


class Move(Part):
    """Running pods of one pod set moved from one place to another."""

    id: str = Field(description="identity within the plan")
    job: str = Field(description="NAMESPACE/NAME of the job")
    pod_set: Name = Field(description="name of the pod set")
    from_node: Name = Field(description="node they leave")
    from_devices: tuple[Count, ...] = Field(default=(), description="devices they leave")
    to_node: Name = Field(description="node they go to")
    to_devices: tuple[Count, ...] = Field(default=(), description="devices they go to")
    count: PositiveCount = Field(description="pods")
    pods: tuple[PodRef, ...] = Field(default=(), description="the pods, if known")
    mode: Literal["restart", "live"] = Field(description="how they move")
    memory_bytes: Amount = Field(
        default=0, description="memory that copying all of them takes, if they move live"
    )
    stopover: bool = Field(
        default=False, description="a place for the time being: a later wave takes them on"
    )
    budgets: tuple[str, ...] = Field(default=(), description="disruption budgets used meanwhile")


class Wave(Part):
    """Actions that may run together, in any order.

    A wave may start as soon as those in ``after`` are done: evicted pods gone, bound and moved pods
    ready. Waves that do not wait for each other may run at the same time. Within a wave, pods that
    restart all leave before the first of them is back; whatever else arrives finds room although
    they are still there.
    """

    id: PositiveCount = Field(description="number of the wave; the list is one legal order")
    after: tuple[PositiveCount, ...] = Field(default=(), description="waves that must be done")
    actions: tuple[str, ...] = Field(min_length=1, description="ids of the actions")
    memory_bytes: Amount = Field(
        default=0, description="memory copied of the pods that it moves live"
    )
    duration_seconds: Amount | None = Field(
        default=None, description="what copying that takes at the bandwidth of the model"
    )
    earliest_start: Timestamp | None = Field(
        default=None,
        description="first moment at which the waves before are done and a window is open",
    )


class NodeRef(Part):
    """A node by name; identity for the consumers of a plan."""

    name: Name = Field(description="name of the node")
    uid: str = Field(default="", description="uid of the node object")
    resource_version: str = Field(default="", description="version of the node object when read")
    hostname: str = Field(
        default="",
        description="its label kubernetes.io/hostname, by which pods are pinned to it; empty: none",
    )


class BudgetRef(Part):
    """A disruption budget by name; identity for the consumers of a plan."""

    name: str = Field(description="NAMESPACE/NAME of the budget")
    uid: str = Field(default="", description="uid of the budget object")
    resource_version: str = Field(default="", description="version of the budget object when read")


class CutStep(Part):
    """A step of an earlier plan that cannot be taken any more."""

    id: str = Field(description="identity within the earlier plan")
    wave: PositiveCount = Field(description="its wave there")
    job: str = Field(description="NAMESPACE/NAME of the job")
    pod_set: Name = Field(description="name of the pod set")
    rule: str = Field(
        description="rule that it would break; gone, unmade, replaced, back, leaving or elsewhere "
        "for what it names; after if it waits for a step that is cut; needless if nothing that is "
        "left needs it"
    )
    message: str = Field(description="the cause in words")


class Unplaced(Part):
    """A pending job of which pods stay pending, and the first reason."""

    job: str = Field(description="NAMESPACE/NAME of the job")
    priority: int = Field(description="its priority")
    pods: PositiveCount = Field(description="pods that stay pending")
    wanted: PositiveCount = Field(description="pending pods")
    rule: str = Field(description="rule that stands in the way, or a word for why none is named")
    message: str = Field(description="the reason in words, with witnesses")
    beyond: tuple[str, ...] = Field(
        default=(), description="queues of which jobs may be evicted for it that no plan evicts"
    )
    no_turn: bool = Field(
        default=False,
        description="whether it evicts nobody here though it may: others that wait come first, "
        "by queues",
    )


class Standing(Part):
    """Something that was wrong before the plan and that the plan does not make worse."""

    rule: str = Field(description="name of the rule")
    subject: str = Field(description="what breaks it")
    message: str = Field(description="the violation in words")


class Timing(Part):
    """How long a plan takes, as far as its model tells."""

    reference: Timestamp | None = Field(
        default=None, description="moment from which it may start: the snapshot's, or one given"
    )
    memory_bytes: Amount = Field(description="memory copied of all pods moved live, at each move")
    duration_seconds: Amount | None = Field(
        default=None, description="copying along the longest chain of waves, without waiting"
    )
    earliest_end: Timestamp | None = Field(
        default=None, description="when all can be done, waiting for windows included"
    )


class Plan(Document):
    """A plan: self-contained with the specs it acts on."""

    kind: Literal["Plan"] = Field(description="Plan")
    metadata: PlanMetadata = Field(description="identity")
    summary: Summary = Field(description="the plan in numbers")
    solver: Solver = Field(description="how it was made")
    objectives: tuple[Tier, ...] = Field(default=(), description="tiers, most important first")
    goals: tuple[Goal, ...] = Field(
        default=(), description="objectives with a target, and what comes before moves to be tidied"
    )
    assignments: tuple[Binding, ...] = Field(default=(), description="pending pods bound")
    evictions: tuple[Eviction, ...] = Field(default=(), description="running pods evicted")
    moves: tuple[Move, ...] = Field(default=(), description="running pods moved")
    waves: tuple[Wave, ...] = Field(default=(), description="the order of the actions")
    timing: Timing | None = Field(default=None, description="how long that takes")
    nodes: tuple[NodeRef, ...] = Field(
        default=(), description="nodes that pods leave or go to, as far as their identity is known"
    )
    budgets: tuple[BudgetRef, ...] = Field(
        default=(),
        description="budgets of pods that are taken away, as far as their identity is known",
    )
    unplaced: tuple[Unplaced, ...] = Field(default=(), description="jobs that stay pending")
    not_modelled: tuple[NotModelled, ...] = Field(
        default=(), description="pods that ask for what is not modelled, each counted once"
    )
    left_aside: LeftAside | None = Field(
        default=None, description="what waits and is not asked about; none if all of it is lesser"
    )
    held_back: HeldBack | None = Field(
        default=None,
        description="what may not start yet and was left out; none: nothing, or all "
        "of it counts as pending",
    )
    cascade: Cascade | None = Field(
        default=None, description="what the victims would do next; none if nobody is evicted"
    )
    pre_existing: tuple[Standing, ...] = Field(
        default=(), description="what was wrong before and is not made worse"
    )
    cut: tuple[CutStep, ...] = Field(
        default=(), description="steps of the plan it was cut from that are not in this one"
    )
    since_last_plan: SinceLastPlan | None = Field(
        default=None,
        description="how it differs from the plan of the run before; none: there was none that "
        "can be used, or this is that plan, given again",
    )
    warnings: tuple[str, ...] = Field(default=(), description="what the reader should know")
    model: Model = Field(description="the model, with all that it extends")
    jobs: tuple[Job, ...] = Field(default=(), description="jobs pending or acted on")
