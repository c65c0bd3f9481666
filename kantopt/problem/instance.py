"""One question, frozen: the cluster, the jobs and the model, all index-dense."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kantopt.problem.cluster import Budget, Node, Queue, Topology
from kantopt.problem.job import (
    Affinity,
    AntiAffinity,
    Even,
    Job,
    PodSet,
    Spread,
    TopologyNeed,
    Wish,
)
from kantopt.problem.mix import Shape
from kantopt.problem.placement import Placement, Spots, nowhere
from kantopt.problem.uses import is_thing
from kantopt.problem.zone import belongs, zone_nodes
from kantopt.schema.eligibility import CORDONED, NOT_READY
from kantopt.schema.model import Model, Rule


@dataclass(frozen=True, eq=False)
class Instance:
    """A question. Index sets: ``j`` jobs, ``s`` pod sets, ``n`` nodes, ``r`` resources.

    Everything is in base units and in input order; nothing changes after building.
    """

    name: str
    resources: tuple[str, ...]
    nodes: tuple[Node, ...]
    topology: Topology
    jobs: tuple[Job, ...]
    podsets: tuple[PodSet, ...]
    topology_needs: tuple[TopologyNeed, ...]
    anti_affinities: tuple[AntiAffinity, ...]
    spreads: tuple[Spread, ...]
    affinities: tuple[Affinity, ...]
    queues: tuple[Queue, ...]
    budgets: tuple[Budget, ...]
    mix: tuple[Shape, ...]
    required: frozenset[int]
    """Jobs that must be placed."""
    model: Model
    wishes: tuple[Wish, ...] = ()
    evens: tuple[Even, ...] = ()
    entitled: tuple[int, ...] = ()
    """Milli-GPU that each queue is entitled to, where the model asks for fair shares."""

    @cached_property
    def results(self) -> dict[Callable[..., object], dict[tuple[Hashable, ...], object]]:
        """What functions have worked out and keep here; see :mod:`kantopt.problem.kept`."""
        return {}

    def __getstate__(self) -> dict[str, object]:
        # Another process works out for itself what it needs.
        return {name: value for name, value in self.__dict__.items() if name != "results"}

    @cached_property
    def current(self) -> Placement:
        """The placement of the snapshot."""
        return Placement(tuple(podset.current for podset in self.podsets))

    @cached_property
    def nowhere(self) -> Placement:
        """The placement of an empty cluster."""
        return nowhere(len(self.podsets))

    @cached_property
    def bare(self) -> Placement:
        """The placement of a cluster in which nothing runs but daemons: they are of their nodes."""
        standing = (p.current if p.daemon and p.running else {} for p in self.podsets)
        return Placement(tuple(standing))

    @cached_property
    def offered(self) -> tuple[str, ...]:
        """Resources that documents name; the others stand for things that pods use."""
        return tuple(name for name in self.resources if not is_thing(name))

    @cached_property
    def priorities(self) -> tuple[int, ...]:
        """Priorities of the jobs, the highest first."""
        return tuple(sorted({job.priority for job in self.jobs}, reverse=True))

    @cached_property
    def drained(self) -> frozenset[int]:
        """Nodes that are to be emptied."""
        return frozenset(node.index for node in self.nodes if node.drained)

    @cached_property
    def held(self) -> frozenset[int]:
        """Nodes that are not ready: pods are not moved off them, unless they are to be emptied."""
        if not self.on(Rule.PINNED):
            return frozenset()
        return frozenset(node.index for node in self.nodes if node.holds)

    @cached_property
    def zone_nodes(self) -> frozenset[int]:
        """Nodes of the model's zone."""
        return zone_nodes(self.model.zone, self.nodes)

    @cached_property
    def zone_jobs(self) -> frozenset[int]:
        """Jobs that belong into the model's zone."""
        zone = self.model.zone
        return frozenset(job.index for job in self.jobs if belongs(zone, job.name))

    def is_barred(self, s: int, n: int) -> bool:
        """Whether a node is set apart for others than a pod set's job."""
        podset = self.podsets[s]
        return n in self.zone_nodes and not podset.daemon and podset.job not in self.zone_jobs

    def refusal(self, s: int, n: int, *, standing: bool = False) -> str:
        """Return in a word or two why a node admits no pods of a pod set, whatever runs there.

        Nobody leaves a node for its being to be emptied (``standing``).
        """
        podset = self.podsets[s]
        closed = podset.closed[n].key if n in podset.closed else None
        if closed == CORDONED:
            return "cordoned"
        if self.nodes[n].drained and not standing:
            return "to be emptied"
        if closed in NOT_READY:
            return "not ready"
        if n not in podset.spread_over:
            return "node selector or affinity"
        if self.is_barred(s, n):
            return "set apart"
        return "volumes" if closed is None else "taint"

    def on_held(self, podset: PodSet) -> bool:
        """Whether some pods of a pod set are on nodes that pods are not moved off."""
        return bool(self.held) and any(spot.node in self.held for spot in podset.current)

    def beside_held(self, spots: Spots) -> int:
        """Pods on nodes other than those that pods are not moved off."""
        return sum(pods for spot, pods in spots.items() if spot.node not in self.held)

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Index of each node by name."""
        return {node.name: node.index for node in self.nodes}

    @cached_property
    def job_index(self) -> dict[str, int]:
        """Index of each job by NAMESPACE/NAME."""
        return {job.name: job.index for job in self.jobs}

    @cached_property
    def named(self) -> frozenset[int]:
        """Pod sets that look at others' places, or are looked at: by R8, R9 or R16."""
        return frozenset().union(*self.related)

    @cached_property
    def related(self) -> tuple[frozenset[int], ...]:
        """Who looks and who is looked at, of each anti-affinity term, spread and affinity."""
        return (
            *(frozenset((term.owner, *term.others)) for term in self.anti_affinities),
            *(frozenset((spread.owner, *spread.counted)) for spread in self.spreads),
            *(frozenset((near.owner, *near.anchors)) for near in self.affinities),
        )

    @cached_property
    def anchors(self) -> frozenset[int]:
        """Pod sets that others must be near."""
        return frozenset[int]().union(*(near.anchors for near in self.affinities))

    @cached_property
    def terms_of(self) -> Mapping[int, Sequence[int]]:
        """Anti-affinity terms by pod set that they look at; of pod sets without any nothing."""
        found: dict[int, list[int]] = {}
        for t, term in enumerate(self.anti_affinities):
            for s in {term.owner, *term.others}:
                found.setdefault(s, []).append(t)
        return found

    @cached_property
    def needs_of(self) -> Mapping[int, Sequence[TopologyNeed]]:
        """Topology needs by job; of jobs without any nothing."""
        found: dict[int, list[TopologyNeed]] = {}
        for need in self.topology_needs:
            found.setdefault(need.job, []).append(need)
        return found

    @cached_property
    def broken_slices(self) -> Mapping[int, frozenset[int | None]]:
        """By need that asks for slices: domains that hold parts of slices as things stand."""
        found: dict[int, frozenset[int | None]] = {}
        for need in self.topology_needs:
            if need.slice_level is not None:
                domain_of, pods = self.topology.domain_of[need.slice_level], Counter[int | None]()
                for s in self.podsets_of(need):
                    for spot, count in self.podsets[s].current.items():
                        pods[domain_of[spot.node]] += count
                broken = (d for d, count in pods.items() if count % need.slice_size)
                found[need.index] = frozenset(broken) - {None}
        return found

    @cached_property
    def close_levels(self) -> frozenset[int]:
        """Levels in whose domains pods of some job must or should be together."""
        return frozenset(
            level
            for need in self.topology_needs
            for level in (need.required, need.preferred, need.slice_level)
            if level is not None
        )

    @cached_property
    def close_jobs(self) -> frozenset[int]:
        """Jobs with topology needs that a rule insists on."""
        return frozenset(
            need.job
            for need in self.topology_needs
            if (need.required is not None and self.on(Rule.TOPOLOGY))
            or (need.slice_level is not None and self.on(Rule.SLICES))
        )

    def closest(self, j: int) -> int:
        """Return the finest level within whose domains pods of a job have to be; -1 for none."""
        return max((need.within for need in self.needs_of.get(j, ())), default=-1)

    @cached_property
    def together(self) -> frozenset[int]:
        """Jobs of which one pod that moves by a restart takes all running ones along (R13)."""
        if not self.on(Rule.GANG_VICTIMS):
            return frozenset()
        return frozenset(
            job.index
            for job in self.jobs
            if job.all_victims and job.move_mode == "restart" and self.running_pods(job.index) > 1
        )

    def running_of(self, j: int) -> tuple[int, ...]:
        """Return the running pod sets of a job."""
        return tuple(s for s in self.jobs[j].podsets if self.podsets[s].running)

    def pending_of(self, j: int) -> tuple[int, ...]:
        """Return the pending pod sets of a job."""
        return tuple(s for s in self.jobs[j].podsets if not self.podsets[s].running)

    def podsets_of(self, need: TopologyNeed) -> list[int]:
        """Return the pod sets of the roles that a topology need is about."""
        roles = self.jobs[need.job].roles
        return [s for i in need.roles for s in roles[i].podsets]

    def pods_of(self, podsets: Iterable[int]) -> int:
        """Return how many pods some pod sets have."""
        return sum(self.podsets[s].count for s in podsets)

    def running_pods(self, j: int) -> int:
        """Return how many pods of a job run."""
        return self.pods_of(self.running_of(j))

    def running_roles(self, job: Job) -> list[int]:
        """Return how many pods of each role of a job run."""
        running = [role.running for role in job.roles]
        return [0 if s is None else self.podsets[s].count for s in running]

    def on(self, rule: Rule) -> bool:
        """Whether a rule holds in this model."""
        return getattr(self.model.rules, rule.value, "required") != "off"

    @property
    def strict(self) -> bool:
        """Whether an eviction needs a more important job that takes the room."""
        return self.model.rules.priority == "strict"

    def job_of(self, s: int) -> Job:
        """Job of a pod set."""
        return self.jobs[self.podsets[s].job]

    def subject(self, s: int) -> str:
        """Name a pod set and its job, as messages have it."""
        return f"job {self.job_of(s).name} pod set {self.podsets[s].name}"

    def rivals(self, queue: int) -> frozenset[int]:
        """Queues whose use can stand in the way of a queue: itself and its cohort."""
        cohort = self.queues[queue].cohort
        return frozenset(
            other.index
            for other in self.queues
            if other.index == queue or (cohort and other.cohort == cohort)
        )

    def may_evict_for(self, j: int, victim: int) -> bool:
        """Whether job ``j`` may have pods of job ``victim`` evicted."""
        preemptor = self.jobs[j]
        return preemptor.may_preempt and preemptor.priority > self.jobs[victim].priority

    def label_domain(self, n: int, key: str) -> str | None:
        """Domain of a node under a label key; ``None`` without the label."""
        return self.nodes[n].labels.get(key)
