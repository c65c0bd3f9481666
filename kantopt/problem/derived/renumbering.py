"""The question of a part: its nodes, jobs and rules, everything numbered anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kantopt.problem.cluster import Domain, Node, Queue, Spot, Topology
from kantopt.problem.derived.reindexed import Reindexed
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet, Role, TopologyNeed
from kantopt.problem.wanted import ELSEWHERE

if TYPE_CHECKING:
    from kantopt.problem.derived.parts import Atlas, Part
    from kantopt.schema.eligibility import Mark


def renumbered(atlas: Atlas, part: Part) -> Instance:
    """Return the question of a part, of which all holds that ``Part`` says."""
    return _Renumbering(atlas, part).instance()


class _Renumbering:
    """The new numbers of a part, and all that bears numbers written anew."""

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
        self._still_closed: dict[int, dict[int, Mark]] = {}
        self.numbers = Reindexed(self.podset_of, self.job_of, self._subset)

    def instance(self) -> Instance:
        """Return the part's question."""
        whole, atlas, numbers, changing = self.whole, self.atlas, self.numbers, self._changing()
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
            anti_affinities=numbers.anti_affinities(
                term for s in self.podset_of for term in atlas.terms.get(s, ())
            ),
            spreads=numbers.spreads(x for s in changing for x in atlas.spreads.get(s, ())),
            affinities=numbers.affinities(x for s in changing for x in atlas.affinities.get(s, ())),
            queues=self._queues(),
            budgets=numbers.budgets([whole.budgets[b] for b in self.budget_of]),
            mix=whole.mix,
            required=frozenset(self.job_of[j] for j in self.share.jobs if j in whole.required),
            model=whole.model,
        )

    def _roles(self, job: Job, *, standing: bool) -> dict[int, Role]:
        """Roles by their index in the whole; of a bystander those with pods here, and no gang."""
        found: dict[int, Role] = {}
        for i, role in enumerate(job.roles):
            here = self.numbers.role(role)
            if not standing:
                found[i] = here
            elif role.running is not None and here.running is not None:
                pods = sum(self.share.bystanders[role.running].values())
                found[i] = Role(role.name, pods, 0, here.running, None)
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
            created=job.created,
            ran_seconds=job.ran_seconds,
            owner=None if job.owner is None else self.queue_of.get(job.owner),
            max_moves=job.max_moves,
            most_moves=job.most_moves,
            moves_at_once=job.moves_at_once,
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
            emptied=self._subset(podset.emptied),
            spread_over=self._subset(podset.spread_over),
            closed=self._closed(podset.closed),
            preemptible=podset.preemptible and not standing,
            movable=podset.movable and not standing,
            disruption_cost=podset.disruption_cost,
            budgets=tuple([self.budget_of[b] for b in podset.budgets]),
            daemon=podset.daemon,
            leaving=podset.leaving,
            stays=podset.stays,
            lost_gpu_seconds=podset.lost_gpu_seconds,
            dirty_rate=podset.dirty_rate,
            migration_mib=podset.migration_mib,
            losses={self.local[n]: x for n, x in podset.losses.items() if n in self.local},
            wanted=None if standing or podset.wanted is None else self._wanted(podset.wanted),
        )

    def _wanted(self, wanted: Mapping[int, int]) -> Mapping[int, int]:
        """Return where pods are wanted; those that are wanted outside count, and get no place."""
        found: Counter[int] = Counter()
        for n, pods in wanted.items():
            found[self.local.get(n, ELSEWHERE)] += pods
        return dict(sorted(found.items()))

    def _subset(self, nodes: frozenset[int]) -> frozenset[int]:
        """Return those of some nodes that the part has; one set for all who share theirs."""
        if id(nodes) not in self._subsets:
            if len(nodes) < len(self.nodes):
                found = frozenset(self.local[n] for n in nodes if n in self.local)
            else:
                found = frozenset(i for i, n in enumerate(self.nodes) if n in nodes)
            self._subsets[id(nodes)] = found
        return self._subsets[id(nodes)]

    def _closed(self, closed: Mapping[int, Mark]) -> dict[int, Mark]:
        """Return what closes nodes that the part has; one table for all who share theirs."""
        if id(closed) not in self._still_closed:
            here = {self.local[n]: mark for n, mark in closed.items() if n in self.local}
            self._still_closed[id(closed)] = here
        return self._still_closed[id(closed)]

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
        return self.numbers.needs(sorted(needs, key=lambda need: need.index))

    def _changing(self) -> list[int]:
        """Pod sets of jobs of which something could change."""
        podsets = self.whole.podsets
        return [s for s in self.podset_of if podsets[s].job not in self.part.still]

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
        emptied=frozenset(),
        spread_over=frozenset((n,)),
        preemptible=False,
        movable=False,
        disruption_cost=1,
        budgets=(),
    )
    return node, job, [running, replace(running, index=s + 1, current={})]
