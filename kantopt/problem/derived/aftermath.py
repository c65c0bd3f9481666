"""What comes after a plan: a cluster in which it is done and its victims wait, or others do."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import AntiAffinity, Job, PodSet, Role, TopologyNeed
from kantopt.problem.placement import Placement
from kantopt.schema.model import Limits


def after_plan(instance: Instance, placement: Placement, over: Collection[int] = ()) -> Instance:
    """Return the question about the victims of a plan: what else it placed runs.

    Victims are jobs that lost pods; they wait for all they have lost and had not got yet, but those
    of ``over``, which nobody makes anew. Other pods that wait are left out: they had their turn in
    the plan. Budgets have less left. Nothing is required, and pods are not moved, as no scheduler
    would move them.
    """
    return _question(_After(instance, placement, over=over), Limits(moves=0))


def leftover_question(instance: Instance, placement: Placement) -> tuple[Instance, dict[int, int]]:
    """Return the question what fills the room that a plan leaves over.

    What the plan placed runs, its victims are gone, and pods that it leaves pending wait, but for
    those of jobs that lost pods. Nobody is evicted or moved.

    Returns
    -------
    tuple[Instance, dict[int, int]]
        The question, and for each of its pending pod sets the one of the plan's question.
    """
    build = _After(instance, placement, others=True)
    after = _question(build, Limits(moves=0, evictions=0))
    podsets = tuple(replace(p, preemptible=False, movable=False) for p in after.podsets)
    return replace(after, podsets=podsets), build.pending_of


def _question(build: _After, limits: Limits) -> Instance:
    instance = build.instance
    model = instance.model.model_copy(update={"limits": limits, "required": ()})
    return replace(
        instance,
        jobs=tuple(build.jobs),
        podsets=tuple(build.podsets),
        topology_needs=build.needs(instance.topology_needs),
        anti_affinities=tuple(
            dict.fromkeys(
                AntiAffinity(owner, term.key, others)
                for term in instance.anti_affinities
                if (others := build.now(term.others))
                for owner in build.now((term.owner,))
            )
        ),
        spreads=tuple(
            dict.fromkeys(
                replace(spread, owner=owner, counted=build.now(spread.counted))
                for spread in instance.spreads
                for owner in build.now((spread.owner,))
            )
        ),
        affinities=tuple(
            dict.fromkeys(
                replace(near, owner=owner, anchors=build.now(near.anchors))
                for near in instance.affinities
                for owner in build.now((near.owner,))
            )
        ),
        budgets=tuple(
            replace(
                budget,
                allowed=max(0, budget.allowed - sum(map(build.lost, budget.podsets))),
                podsets=build.now(budget.podsets),
            )
            for budget in instance.budgets
        ),
        required=frozenset(),
        model=model,
        wishes=(),
        evens=(),
    )


class _After:
    """Numbers jobs, their roles and pod sets anew; who has no pods any more has no number.

    Pods of victims wait, but not of those that are ``over``; with ``others`` those of all other
    jobs do.
    """

    def __init__(
        self,
        instance: Instance,
        placement: Placement,
        *,
        others: bool = False,
        over: Collection[int] = (),
    ) -> None:
        self.instance = instance
        self.pending_of: dict[int, int] = {}
        """Pending pod sets as they were, by what they are now."""
        self.placement = placement
        self.jobs: list[Job] = []
        self.podsets: list[PodSet] = []
        self.new_job: dict[int, int] = {}
        self.new_role: dict[tuple[int, int], int] = {}
        """Roles by job and place in it, both as they were."""
        self._new: dict[int, tuple[int, ...]] = {}
        """Pod sets that the pods of one are in now: of a role, all of it."""
        for job in instance.jobs:
            victim = any(map(self.lost, job.podsets))
            waits = victim is not others and job.index not in over
            if waits or any(placement.podsets[s] for s in job.podsets):
                self._add(job, waits=waits)

    def lost(self, s: int) -> int:
        """Pods of a running pod set that the plan evicts."""
        podset = self.instance.podsets[s]
        return podset.count - self.placement.placed(s) if podset.running else 0

    def now(self, podsets: Iterable[int]) -> tuple[int, ...]:
        """Return the pod sets that the pods of some are in now."""
        return tuple(dict.fromkeys(new for s in podsets for new in self._new.get(s, ())))

    def needs(self, needs: Iterable[TopologyNeed]) -> tuple[TopologyNeed, ...]:
        """Return what is asked for of jobs and roles that are there still."""
        found: list[TopologyNeed] = []
        for need in needs:
            kept = (self.new_role.get((need.job, i)) for i in need.roles)
            roles = tuple(i for i in kept if i is not None)
            if roles:
                j = self.new_job[need.job]
                found.append(replace(need, index=len(found), job=j, roles=roles))
        return tuple(found)

    def _add(self, job: Job, *, waits: bool) -> None:
        j = self.new_job[job.index] = len(self.jobs)
        roles: list[Role] = []
        for i, role in enumerate(job.roles):
            now = self._role(j, len(roles), role, waits=waits)
            if now.count:
                self.new_role[job.index, i] = len(roles)
                roles.append(now)
        count = sum(role.count for role in roles)
        least = min(job.min_count, count)
        self.jobs.append(replace(job, index=j, roles=tuple(roles), min_count=least))

    def _role(self, j: int, i: int, role: Role, *, waits: bool) -> Role:
        spots: dict[Spot, int] = {}
        for s in role.podsets:
            for spot, pods in self.placement.podsets[s].items():
                spots[spot] = spots.get(spot, 0) + pods
        placed = sum(spots.values())
        waiting = role.count - placed if waits else 0
        first = len(self.podsets)
        running = self._podset(j, i, role, spots, placed) if placed else None
        pending = self._podset(j, i, role, {}, waiting) if waiting else None
        for s in role.podsets:
            self._new[s] = tuple(range(first, len(self.podsets)))
        if pending is not None and role.pending is not None:
            self.pending_of[pending] = role.pending
        count = placed + waiting
        return Role(role.name, count, min(role.min_count, count), running, pending)

    def _podset(self, j: int, i: int, role: Role, spots: dict[Spot, int], count: int) -> int:
        s = len(self.podsets)
        like = self.instance.podsets[role.podsets[0]]
        self.podsets.append(
            replace(
                like,
                index=s,
                job=j,
                role=i,
                count=count,
                current=dict(sorted(spots.items())),
                lost_gpu_seconds=like.lost_gpu_seconds if spots else 0,
                migration_mib=like.migration_mib if spots else 0,
            )
        )
        return s
