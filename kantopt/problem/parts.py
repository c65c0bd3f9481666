"""A part of a question as a question of its own, and the ways there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from kantopt.problem.cluster import Budget, Domain, Node, Queue, Spot, Topology
from kantopt.problem.instance import Instance
from kantopt.problem.job import AntiAffinity, Job, PodSet, Role, Spread, TopologyNeed
from kantopt.problem.placement import Placement, Spots


@dataclass(frozen=True, slots=True)
class Share:
    """What of a question belongs to one part; indices of the whole, in order."""

    nodes: tuple[int, ...]
    jobs: tuple[int, ...]
    """Jobs that lie in the part with all their pods and all nodes these could go to."""
    bystanders: Mapping[int, Spots] = field(default_factory=dict)
    """Pods on the nodes that belong to jobs of which nothing can change, by pod set. Such a job
    may have more pods elsewhere."""
    quotas: frozenset[tuple[int, int]] = frozenset()
    """Queues and resources of the quotas to keep: those that can bind, whole cohorts at a time."""
    outsider: int | None = None
    """Priority of a job elsewhere for which pods of this part might be evicted."""


class Atlas:
    """What the parts of one question have in common: where to find things by job and pod set."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.needs: dict[int, list[TopologyNeed]] = {}
        for need in instance.topology_needs:
            self.needs.setdefault(need.job, []).append(need)
        self.terms: dict[int, list[AntiAffinity]] = {}
        for term in instance.anti_affinities:
            self.terms.setdefault(term.owner, []).append(term)
        self.spreads: dict[int, list[Spread]] = {}
        for spread in instance.spreads:
            self.spreads.setdefault(spread.owner, []).append(spread)


class Part:
    """A part of a question.

    Its question has the nodes, jobs and rules of its share, everything numbered anew, and the
    model, resources, levels and job mix of the whole: a tier of the whole means the same in it, so
    that parts are measured by the tiers of the whole, and one that no job of a part concerns
    is 0 there.

    Where a job elsewhere might have pods of this part evicted, the part has a job ``elsewhere``
    that stands for it, on a node of its own without room for others: one pod that runs and one
    that waits to be bound. It costs nothing in any metric, and the rule on priority takes its
    start for that of the job it stands for. Without it the part would forbid what the whole
    allows; with it the part allows what the whole does if such a job is started.
    """

    def __init__(self, atlas: Atlas, share: Share) -> None:
        self.whole = atlas.instance
        self.share = share
        self._atlas = atlas

    @cached_property
    def still(self) -> frozenset[int]:
        """Jobs of the whole of which nothing can change."""
        return frozenset(self.whole.podsets[s].job for s in self.share.bystanders)

    @cached_property
    def jobs(self) -> tuple[int, ...]:
        """Jobs of the whole in the part's order; the job elsewhere comes after."""
        return tuple(sorted((*self.share.jobs, *self.still)))

    @cached_property
    def podsets(self) -> tuple[int, ...]:
        """Pod sets of the whole in the part's order; those of the job elsewhere come after."""
        return tuple(
            s
            for j in self.jobs
            for s in self.whole.jobs[j].podsets
            if j not in self.still or s in self.share.bystanders
        )

    @cached_property
    def instance(self) -> Instance:
        """The question of the part."""
        return _Cut(self._atlas, self).instance()

    def cut(self, placement: Placement) -> Placement:
        """Return what a placement of the whole is in the part; the job elsewhere is started.

        The placement has pods only where they could be by a legal plan.
        """
        podsets = self.whole.podsets
        spots = [
            podset.current
            if placement.podsets[s] is podsets[s].current or podsets[s].job in self.still
            else self.local(placement.podsets[s])
            for s, podset in zip(self.podsets, self.instance.podsets, strict=False)
        ]
        if self.share.outsider is not None:
            here = {Spot(len(self.share.nodes)): 1}
            spots += [here, here]
        return Placement(tuple(spots))

    def lift(self, placement: Placement, onto: list[Spots]) -> None:
        """Write a placement of the part into the spots of the whole, indexed by pod set."""
        nodes, own, podsets = self.share.nodes, self.instance.podsets, self.whole.podsets
        for i, s in enumerate(self.podsets):
            spots = placement.podsets[i]
            if spots is own[i].current:
                onto[s] = podsets[s].current
            elif podsets[s].job not in self.still:
                onto[s] = {Spot(nodes[x.node], x.devices): k for x, k in spots.items()}

    def local(self, spots: Spots) -> Spots:
        """Return spots on the part's nodes as they are numbered in the part."""
        index = self.node_index
        return {Spot(index[x.node], x.devices): k for x, k in spots.items()}

    @cached_property
    def node_index(self) -> dict[int, int]:
        """Index in the part of each of its nodes."""
        return {n: i for i, n in enumerate(self.share.nodes)}


class _Cut:
    """Numbers a part anew."""

    def __init__(self, atlas: Atlas, part: Part) -> None:
        self.atlas, self.whole = atlas, atlas.instance
        self.part, self.share = part, part.share
        self.nodes = part.share.nodes
        self.local = part.node_index
        self.podset_of = {s: i for i, s in enumerate(part.podsets)}
        self.job_of = {j: i for i, j in enumerate(part.jobs)}
        kept = sorted({q for q, _ in self.share.quotas})
        self.queue_of = {q: i for i, q in enumerate(kept)}
        budgets = {b for s in part.podsets for b in self.whole.podsets[s].budgets}
        self.budget_of = {b: i for i, b in enumerate(sorted(budgets))}
        self._subsets: dict[int, frozenset[int]] = {}
        self._others: dict[int, tuple[int, ...]] = {}

    def instance(self) -> Instance:
        """Return the part's question."""
        whole = self.whole
        nodes = [replace(whole.nodes[n], index=i) for i, n in enumerate(self.nodes)]
        still = self.part.still
        roles = {j: self._roles(whole.jobs[j], standing=j in still) for j in self.job_of}
        jobs = [self._job(whole.jobs[j], roles[j], standing=j in still) for j in self.job_of]
        podsets = [
            self._podset(podset, roles[podset.job], standing=podset.job in still)
            for podset in (whole.podsets[s] for s in self.podset_of)
        ]
        topology = self._topology()
        if self.share.outsider is not None:
            topology = replace(
                topology, domain_of=tuple((*row, None) for row in topology.domain_of)
            )
            node, job, pods = _elsewhere(
                whole, len(nodes), len(jobs), len(podsets), self.share.outsider
            )
            nodes.append(node)
            jobs.append(job)
            podsets += pods
        return Instance(
            name=whole.name,
            resources=whole.resources,
            nodes=tuple(nodes),
            topology=topology,
            jobs=tuple(jobs),
            podsets=tuple(podsets),
            topology_needs=self._needs(),
            anti_affinities=self._anti_affinities(),
            spreads=self._spreads(),
            queues=self._queues(),
            budgets=self._budgets(),
            mix=whole.mix,
            required=frozenset(self.job_of[j] for j in self.share.jobs if j in whole.required),
            model=whole.model,
        )

    def _roles(self, job: Job, *, standing: bool) -> dict[int, Role]:
        """Roles by their index in the whole; of a bystander those with pods here, and no gang."""
        found: dict[int, Role] = {}
        for i, role in enumerate(job.roles):
            running = None if role.running is None else self.podset_of.get(role.running)
            if not standing:
                pending = None if role.pending is None else self.podset_of[role.pending]
                found[i] = Role(role.name, role.count, role.min_count, running, pending)
            elif role.running is not None and running is not None:
                pods = sum(self.share.bystanders[role.running].values())
                found[i] = Role(role.name, pods, 0, running, None)
        return found

    def _job(self, job: Job, roles: dict[int, Role], *, standing: bool) -> Job:
        return Job(  # not by replace(): there are many
            index=self.job_of[job.index],
            name=job.name,
            priority=job.priority,
            may_preempt=job.may_preempt,
            queue=None if job.queue is None else self.queue_of.get(job.queue),
            roles=tuple(roles.values()),
            min_count=0 if standing else job.min_count,
            move_mode=job.move_mode,
            all_victims=job.all_victims,
            disruption_cost=job.disruption_cost,
            waited_seconds=job.waited_seconds,
            most_moves=job.most_moves,
        )

    def _podset(self, podset: PodSet, roles: dict[int, Role], *, standing: bool) -> PodSet:
        current = self.part.local(self.share.bystanders.get(podset.index, podset.current))
        return PodSet(
            index=self.podset_of[podset.index],
            job=self.job_of[podset.job],
            role=list(roles).index(podset.role),
            name=podset.name,
            count=sum(current.values()) if standing else podset.count,
            requests=podset.requests,
            devices=podset.devices,
            demand=podset.demand,
            gpu_milli=podset.gpu_milli,
            current=current,
            allowed=self._subset(podset.allowed),
            spread_over=self._subset(podset.spread_over),
            preemptible=podset.preemptible,
            movable=podset.movable,
            disruption_cost=podset.disruption_cost,
            budgets=tuple([self.budget_of[b] for b in podset.budgets]),
            daemon=podset.daemon,
            lost_gpu_seconds=podset.lost_gpu_seconds,
        )

    def _subset(self, nodes: frozenset[int]) -> frozenset[int]:
        """Return those of some nodes that the part has; one set for all who share theirs."""
        if id(nodes) not in self._subsets:
            if len(nodes) < len(self.nodes):
                found = frozenset(self.local[n] for n in nodes if n in self.local)
            else:
                found = frozenset(i for i, n in enumerate(self.nodes) if n in nodes)
            self._subsets[id(nodes)] = found
        return self._subsets[id(nodes)]

    def _topology(self) -> Topology:
        whole = self.whole.topology
        domains, domain_of = [], []
        for level, of in enumerate(whole.domain_of):
            here = [of[n] for n in self.nodes]
            members: dict[int, list[int]] = {
                d: [] for d in sorted({d for d in here if d is not None})
            }
            for i, d in enumerate(here):
                if d is not None:
                    members[d].append(i)
            order = {d: i for i, d in enumerate(members)}
            domains.append(
                tuple(
                    Domain(level, whole.domains[level][d].path, tuple(nodes))
                    for d, nodes in members.items()
                )
            )
            domain_of.append(tuple(None if d is None else order[d] for d in here))
        return replace(whole, domains=tuple(domains), domain_of=tuple(domain_of))

    def _needs(self) -> tuple[TopologyNeed, ...]:
        needs = [
            need
            for j in self.job_of
            if j not in self.part.still
            for need in self.atlas.needs.get(j, ())
        ]
        return tuple(
            replace(need, index=i, job=self.job_of[need.job])
            for i, need in enumerate(sorted(needs, key=lambda need: need.index))
        )

    def _anti_affinities(self) -> tuple[AntiAffinity, ...]:
        found = []
        for s in self.podset_of:
            for term in self.atlas.terms.get(s, ()):
                others = self._here(term.others)
                if others:
                    found.append(AntiAffinity(self.podset_of[s], term.key, others))
        return tuple(found)

    def _spreads(self) -> tuple[Spread, ...]:
        return tuple(
            replace(spread, owner=self.podset_of[s], counted=self._here(spread.counted))
            for s in self.podset_of
            if self.whole.podsets[s].job not in self.part.still
            for spread in self.atlas.spreads.get(s, ())
        )

    def _here(self, podsets: tuple[int, ...]) -> tuple[int, ...]:
        if id(podsets) not in self._others:
            self._others[id(podsets)] = tuple(
                self.podset_of[s] for s in podsets if s in self.podset_of
            )
        return self._others[id(podsets)]

    def _queues(self) -> tuple[Queue, ...]:
        return tuple(
            replace(
                self.whole.queues[q],
                index=i,
                quotas=tuple(
                    quota
                    for quota in self.whole.queues[q].quotas
                    if (q, quota.resource) in self.share.quotas
                ),
            )
            for q, i in self.queue_of.items()
        )

    def _budgets(self) -> tuple[Budget, ...]:
        return tuple(
            replace(
                self.whole.budgets[b], index=i, podsets=self._here(self.whole.budgets[b].podsets)
            )
            for b, i in self.budget_of.items()
        )


def _elsewhere(
    whole: Instance, n: int, j: int, s: int, priority: int
) -> tuple[Node, Job, list[PodSet]]:
    """A node with nothing on offer, and on it one running and one pending pod of a job."""
    one = tuple(int(name == "pods") for name in whole.resources)
    limits = tuple(None if name == "pods" else 0 for name in whole.resources)
    node = Node(n, "elsewhere", {}, (), False, True, limits, (), 0)
    role = Role("main", 2, 0, s, s + 1)
    job = Job(
        index=j,
        name="elsewhere",
        priority=priority,
        may_preempt=True,
        queue=None,
        roles=(role,),
        min_count=0,
        move_mode="restart",
        all_victims=False,
        disruption_cost=1,
        waited_seconds=0,
    )
    running = PodSet(
        index=s,
        job=j,
        role=0,
        name="main",
        count=1,
        requests=one,
        devices=(),
        demand=one,
        gpu_milli=0,
        current={Spot(n): 1},
        allowed=frozenset((n,)),
        spread_over=frozenset((n,)),
        preemptible=False,
        movable=False,
        disruption_cost=1,
        budgets=(),
    )
    return node, job, [running, replace(running, index=s + 1, current={})]
