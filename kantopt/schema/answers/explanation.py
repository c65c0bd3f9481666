"""What ``explain`` answers: why a job is where it is, and what would change it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kantopt.schema.answers.plan import Binding, Eviction, Move, SnapshotRef, Wave
from kantopt.schema.base import Count, Name, Part, PositiveCount
from kantopt.schema.read_as import ClusterAnswer

Status = Literal[
    "FITS_NOW",
    "FITS_AFTER_MOVING",
    "FITS_AFTER_PREEMPTING",
    "FITS_ALONE",
    "WAITS",
    "OVER_QUOTA",
    "OVER_LIMIT",
    "NEVER",
    "OPEN",
    "RUNS",
    "NOMINATED",
]


class Steps(Part):
    """What a plan does, in order; every wave was replayed and judged."""

    placed_pods: Count = Field(description="pods of the job that it places")
    evicted_pods: Count = Field(description="pods that it evicts")
    moved_pods: Count = Field(description="pods that it moves, each counted once")
    assignments: tuple[Binding, ...] = Field(default=(), description="pending pods bound")
    evictions: tuple[Eviction, ...] = Field(default=(), description="running pods evicted")
    moves: tuple[Move, ...] = Field(default=(), description="running pods moved")
    waves: tuple[Wave, ...] = Field(default=(), description="the order of the actions")


Asked = Literal[
    "as it stands",
    "after moves",
    "after evictions",
    "on an empty cluster",
    "without quota",
    "without limits",
]


class Answer(Part):
    """One question about the job, and its answer."""

    question: Asked = Field(description="what may be done, or is left out, for the job")
    answer: Literal["yes", "no", "open"] = Field(
        description="yes: there is a verified plan; no: there provably is none; open: neither was "
        "found in the time"
    )
    least: bool = Field(
        default=False,
        description="whether the plan found provably disturbs as little as any: in cost of "
        "evictions, the highest priority of a victim first, then in pods moved",
    )
    message: str = Field(description="the answer in words")


class Verdict(Part):
    """The answer in one word and one sentence."""

    status: Status = Field(
        description="FITS_NOW; FITS_AFTER_MOVING; FITS_AFTER_PREEMPTING; FITS_ALONE: one of "
        "these for itself, but a plan for all that waits leaves it pending, or none was made in "
        "the time; WAITS: only when something that runs ends; OVER_QUOTA; OVER_LIMIT: of evictions "
        "or moves in the model; NEVER: not even on the empty cluster; OPEN: not decided in the "
        "time; RUNS: all pods run; NOMINATED: its scheduler has nominated a node for all its pods, "
        "and none has started"
    )
    message: str = Field(description="the verdict in words")
    behind: tuple[str, ...] = Field(
        default=(),
        description="of FITS_ALONE, jobs that wait as well and that a plan for all of them places "
        "first, NAMESPACE/NAME, the most important first",
    )
    proved: bool = Field(
        description="whether all is proved that it says of the job alone: what it says can be "
        "done by a verified plan, what it says cannot be done by a search to the end"
    )
    answers: tuple[Answer, ...] = Field(default=(), description="the questions that it rests on")


class Exclusion(Part):
    """Nodes that are out for one reason."""

    reason: str = Field(description="the reason, in kube-scheduler's words where it has some")
    rule: str = Field(description="name of the rule")
    count: PositiveCount = Field(description="nodes")
    nodes: tuple[Name, ...] = Field(description="their names")


class NodesOfPodSet(Part):
    """Which nodes could take pods of a pod set as things stand: each node is counted once."""

    pod_set: Name = Field(description="name of the pod set")
    wanted: Count = Field(description="pending pods that must be placed at once")
    nodes: Count = Field(description="nodes of the cluster")
    available: Count = Field(description="nodes that take a pod")
    room: Count = Field(description="pods that these would hold, at most those wanted on each")
    message: str = Field(description="the counts in one line")
    free: str = Field(default="", description="what is free of what the pods need most, in words")
    exclusions: tuple[Exclusion, ...] = Field(default=(), description="the other nodes by reason")


class ConflictItem(Part):
    """One part of a conflict: a rule and what it holds for."""

    rule: str = Field(description="name of the rule")
    subject: str = Field(description="what it holds for")
    message: str = Field(description="amount of limit")
    nodes: tuple[Name, ...] = Field(default=(), description="nodes concerned")
    jobs: tuple[str, ...] = Field(default=(), description="jobs concerned, NAMESPACE/NAME")


class Conflict(Part):
    """Rules that together leave no place; without any one of them there is one."""

    question: str = Field(description="what was asked and is impossible")
    rules: tuple[str, ...] = Field(description="names of the rules")
    items: tuple[ConflictItem, ...] = Field(description="the rules with what they hold for")
    minimal_rules: bool = Field(
        description="whether each rule is proved necessary: without it the others admit a placement"
    )
    minimal_items: bool = Field(description="whether each item is proved necessary")
    proved: bool = Field(
        description="whether these rules alone, all others off, were proved once more to leave no "
        "place"
    )


RemedyKind = Literal[
    "move",
    "evict",
    "end",
    "relax-topology",
    "add-nodes",
    "fewer-pods",
    "raise-quota",
    "raise-priority",
    "admit-nodes",
    "lift-limits",
    "smaller-requests",
]
"""The smallest disruption first."""


class Remedy(Part):
    """A change that lets the job be placed, with the plan that does it."""

    kind: RemedyKind = Field(description="kind of change")
    message: str = Field(description="what to do, in words")
    cost: str = Field(description="what it costs, in words")
    edit: str = Field(default="", description="the change as --what-if takes it, if it needs one")
    smallest: bool = Field(
        default=False,
        description="whether the next smaller change of this kind is provably not enough, with "
        "moves and evictions either; of a plan without a change, whether none disturbs less",
    )
    plan: Steps = Field(description="the plan that places the job once the change is made")
    together: Literal["placed", "waits", "open"] = Field(
        default="placed",
        description="what becomes of the job in a plan for all that waits once the change is made; "
        "placed, too, if nothing else waits; waits: the change is enough for the job alone; open: "
        "not found out in the time",
    )
    behind: tuple[str, ...] = Field(
        default=(), description="jobs that such a plan places first if the job waits"
    )


class Difference(Part):
    """One figure without and with the change."""

    name: str = Field(description="metric or fact")
    unit: str = Field(default="", description="unit of the numbers")
    before: str = Field(description="without the change")
    after: str = Field(description="with it")


class WhatIf(Part):
    """A change and what it changes."""

    edits: tuple[str, ...] = Field(description="the changes, as they were given")
    verdict: Verdict = Field(description="the verdict with the change")
    plan: Steps | None = Field(
        default=None, description="the plan with the change, if there is one"
    )
    differences: tuple[Difference, ...] = Field(default=(), description="what differs")


class Pin(Part):
    """What keeps a running pod set where it is."""

    rule: str = Field(description="name of the rule")
    subject: str = Field(description="what it holds for")
    message: str = Field(description="what it says")


class Alternative(Part):
    """Another place for the job, and what the objectives would be."""

    places: tuple[str, ...] = Field(description="nodes with the pods on each")
    moved_pods: Count = Field(description="pods that would move")
    verdict: Literal["better", "equal", "worse"] = Field(
        description="in the order of the objectives"
    )
    objective: str = Field(default="", description="first objective that differs")
    unit: str = Field(default="", description="its unit")
    before: str = Field(default="", description="its value as things are")
    after: str = Field(default="", description="its value there")


class Elsewhere(Part):
    """Where the running pods of a pod set could be instead."""

    pod_set: Name = Field(description="name of the pod set")
    places: tuple[str, ...] = Field(description="nodes that they run on, with the pods on each")
    nodes: NodesOfPodSet = Field(description="the nodes, were the job not there")
    pins: tuple[Pin, ...] = Field(default=(), description="what keeps the pods where they are")
    alternatives: tuple[Alternative, ...] = Field(
        default=(), description="other places and what the objectives would be"
    )


class Explanation(ClusterAnswer):
    """Why a job is pending or where it is, with proof, and what would change it."""

    kind: Literal["Explanation"] = Field(description="Explanation")
    snapshot: SnapshotRef = Field(description="the snapshot it was made for")
    job: str = Field(description="NAMESPACE/NAME of the job")
    priority: int = Field(description="its priority")
    pending_pods: Count = Field(description="pods that are pending")
    running_pods: Count = Field(description="pods that run")
    nominated_pods: Count = Field(
        default=0, description="pods that have a node and have not started there"
    )
    others_pending: Count = Field(
        default=0, description="other jobs that wait; verdict, plan and remedies place none of them"
    )
    verdict: Verdict = Field(description="the answer")
    plan: Steps | None = Field(default=None, description="the plan that places the job, if any")
    pod_sets: tuple[NodesOfPodSet, ...] = Field(default=(), description="nodes by pod set")
    conflict: Conflict | None = Field(default=None, description="what together is in the way")
    remedies: tuple[Remedy, ...] = Field(
        default=(), description="what would help, the smallest disruption first"
    )
    what_if: WhatIf | None = Field(default=None, description="a change and its consequences")
    elsewhere: tuple[Elsewhere, ...] = Field(
        default=(), description="of a running job: why here, and where else"
    )
    leftover: bool = Field(
        default=False,
        description="whether a quick plan for all that waits places the job in room that victims "
        "of others leave over, which the verdict about the job alone knows nothing of",
    )
    complete: bool = Field(description="whether nothing was left out for lack of time")
    notes: tuple[str, ...] = Field(default=(), description="what the reader should know")
