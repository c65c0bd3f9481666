"""Pods of separate jobs that nothing tells apart, counted together: one pod set for each class.

A cluster of thousands of jobs of one pod has as many pod sets, and few kinds of them. Where no
rule and no metric can tell two pods apart, a question about numbers of pods per kind has the same
optimum and far fewer counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from kantopt.problem.cluster import Spot
from kantopt.problem.derived.reindexed import Reindexed
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet, Role
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Metric


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """A question in which interchangeable pods are counted together, and the way to and fro.

    Attributes
    ----------
    original
        The question as it was asked.
    instance
        The same question with merged pod sets; the original itself if nothing could be merged.
    members
        Pod sets of the original that each merged pod set stands for.
    """

    original: Instance
    instance: Instance
    members: tuple[tuple[int, ...], ...]

    def shrink(self, placement: Placement) -> Placement:
        """Return the merged placement of one of the original; it is no worse in any tier."""
        return Placement(
            tuple(
                placement.podsets[members[0]] if len(members) == 1 else _sum(placement, members)
                for members in self.members
            )
        )

    def expand(self, placement: Placement) -> Placement:
        """Return a placement of the original that a merged one stands for: as good, as legal.

        Pods stay where they are wherever the merged placement has as many; those that cannot stay
        take the other spots in order, and the last ones get none.
        """
        podsets: list[dict[Spot, int]] = [{} for _ in self.original.podsets]
        for s, members in enumerate(self.members):
            room = {spot: pods for spot, pods in sorted(placement.podsets[s].items()) if pods}
            away = []
            for member in members:
                podset, spots = self.original.podsets[member], podsets[member]
                for spot, pods in podset.current.items():
                    stay = min(pods, room.get(spot, 0))
                    if stay:
                        spots[spot] = stay
                        room[spot] -= stay
                away.append((member, podset.count - sum(spots.values())))
            free = [(spot, pods) for spot, pods in room.items() if pods]
            for member, pods in away:
                spots = podsets[member]
                while pods and free:
                    spot, left = free.pop(0)
                    taken = min(pods, left)
                    spots[spot] = spots.get(spot, 0) + taken
                    pods -= taken
                    if left > taken:
                        free.insert(0, (spot, left - taken))
        return Placement(tuple(podsets))

    def tiers(self, tiers: Sequence[Tier]) -> tuple[Tier, ...]:
        """Return the tiers as they are measured in the merged question.

        Where every job that a tier counts has one pod, unplaced jobs are unplaced pods.
        """
        return tuple(
            replace(tier, unit="pods")
            if _counts_jobs(tier) and _all_single(self.original, tier)
            else tier
            for tier in tiers
        )


def merge_pods(instance: Instance) -> Merged:
    """Merge pods of separate jobs that no rule and no metric of the model can tell apart.

    The optimum of the merged question is that of the original, tier by tier: every placement of
    the original shrinks to one that is legal and no worse in any tier, every merged one expands
    to one that is legal and equal in all (with the tiers of :meth:`Merged.tiers`). Left alone are

    - jobs of several roles, of running and pending pods, gangs of more than one pod;
    - pods that affinity, anti-affinity, spread or a topology request names, or whose job is
      required or may not have all of its pods moved;
    - pods that the last plan acts on, where the model counts what is changed of it;
    - jobs that the model counts as jobs, unless their pods cannot be unplaced or all of the
      tier's jobs have one pod; pending jobs whose waiting time the model counts;
    - pods that may be evicted as well as moved where an eviction must be justified by the place
      that the pod left: merged, it could not be told from the place of one that moved.
    """
    alike: dict[Hashable, list[int]] = {}
    alone = _Alone(instance)
    for podset in instance.podsets:
        key = podset.index if alone.keeps(podset) else key_of(instance, podset)
        alike.setdefault(key, []).append(podset.index)
    if len(alike) == len(instance.podsets):
        return Merged(instance, instance, tuple((s,) for s in range(len(instance.podsets))))
    return merged(instance, sorted(tuple(members) for members in alike.values()))


class _Alone:
    """Tells which pod sets are left as they are."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        tiers = tiers_of(instance)
        self._waiting = any(tier.metric is Metric.WAITING for tier in tiers)
        self._by_job = [
            tier for tier in tiers if _counts_jobs(tier) and not _all_single(instance, tier)
        ]
        self._any_by_job = any(_counts_jobs(tier) for tier in tiers)
        self._may = freedom_of(instance)
        self._wished: set[int] = set()
        if any(tier.metric is Metric.PREFERENCES for tier in tiers):
            self._wished |= {s for wish in instance.wishes for s in (wish.owner, *wish.others)}
            self._wished |= {s for even in instance.evens for s in even.counted}

    def keeps(self, podset: PodSet) -> bool:
        """Whether a pod set has to stay one of its own."""
        instance, job = self._instance, self._instance.job_of(podset.index)
        several = podset.count > 1
        if (
            len(job.podsets) > 1
            or (several and (job.is_gang or job.all_victims))
            or podset.index in instance.named
            or podset.index in self._wished
            or job.index in instance.needs_of
            or job.index in instance.required
            or job.most_moves is not None
            or podset.wanted is not None
            or (podset.movable and instance.on_held(podset))
        ):
            return True
        stays = podset.running and not self._may.evictions[podset.index]
        if not stays and (
            (several and self._any_by_job)
            or any(tier.concerns(job) for tier in self._by_job)
            or (self._waiting and job.waited_seconds and not podset.running)
        ):
            return True
        moves = self._may.moves[podset.index] > 0
        return podset.running and not stays and moves and instance.strict


def _counts_jobs(tier: Tier) -> bool:
    return tier.metric is Metric.UNPLACED and tier.unit == "jobs"


def _all_single(instance: Instance, tier: Tier) -> bool:
    return all(job.count == 1 for job in instance.jobs if tier.concerns(job))


def _cost(job: Job, podset: PodSet) -> int:
    """Cost of evicting one pod: of a job that goes as a whole, the job's."""
    return job.disruption_cost if job.all_victims else podset.disruption_cost


def key_of(instance: Instance, podset: PodSet) -> Hashable:
    """Return all that rules and metrics see of the pods of a pod set, but for where they run."""
    job = instance.job_of(podset.index)
    return (
        podset.running,
        job.priority,
        job.may_preempt,
        job.queue,
        job.owner,
        job.move_mode,
        podset.requests,
        podset.devices,
        podset.allowed,
        podset.emptied,
        podset.spread_over,
        podset.preemptible,
        podset.movable,
        _cost(job, podset),
        podset.budgets,
        podset.daemon,
        podset.leaving,
        None if instance.model.limits.moves_per_namespace is None else job.namespace,
        podset.lost_gpu_seconds,
        podset.migration_mib,
        tuple(podset.losses.items()),
    )


def _sum(placement: Placement, members: Sequence[int]) -> dict[Spot, int]:
    total: dict[Spot, int] = {}
    for s in members:
        for spot, pods in placement.podsets[s].items():
            total[spot] = total.get(spot, 0) + pods
    return dict(sorted(total.items()))


def merged(instance: Instance, classes: Sequence[tuple[int, ...]]) -> Merged:
    """Return the question in which the pod sets of each class are one.

    Classes are in the order of their first members.
    """
    new_job: dict[int, int] = {}
    numbers = Reindexed({s: i for i, members in enumerate(classes) for s in members}, new_job)
    jobs: list[Job] = []
    for members in classes:
        old = instance.podsets[members[0]].job
        if old not in new_job:
            new_job[old] = len(jobs)
            jobs.append(_job(instance, len(jobs), members, numbers))
    podsets = tuple(
        _podset(instance, i, members, new_job[instance.podsets[members[0]].job])
        for i, members in enumerate(classes)
    )
    # What a job may move stands with each: a limit for one is none for all that are alike.
    limits = instance.model.limits.model_copy(update={"moves_per_job": None})
    made = replace(
        instance,
        model=instance.model.model_copy(update={"limits": limits}),
        jobs=tuple(jobs),
        podsets=podsets,
        topology_needs=numbers.needs(instance.topology_needs),
        anti_affinities=numbers.anti_affinities(instance.anti_affinities),
        spreads=numbers.spreads(instance.spreads),
        affinities=numbers.affinities(instance.affinities),
        budgets=numbers.budgets(instance.budgets),
        required=frozenset(new_job[j] for j in instance.required),
        wishes=numbers.wishes(instance.wishes),
        evens=numbers.evens(instance.evens),
    )
    return Merged(instance, made, tuple(classes))


def _job(instance: Instance, index: int, members: tuple[int, ...], numbers: Reindexed) -> Job:
    job = instance.job_of(members[0])
    if len(members) == 1:
        most = job.move_limit(instance.model.limits.moves_per_job)
        roles = tuple(map(numbers.role, job.roles))
        return replace(job, index=index, roles=roles, max_moves=most)
    first = instance.podsets[members[0]]
    s = numbers.podset_of[members[0]]
    role = Role(
        name=first.name,
        count=instance.pods_of(members),
        min_count=0,
        running=s if first.running else None,
        pending=None if first.running else s,
    )
    return replace(
        job,
        index=index,
        name=f"{job.name} and {len(members) - 1} like it",
        roles=(role,),
        min_count=0,
        all_victims=False,
        max_moves=None,
    )


def _podset(instance: Instance, index: int, members: tuple[int, ...], job: int) -> PodSet:
    first = instance.podsets[members[0]]
    if len(members) == 1:
        return replace(first, index=index, job=job)
    return replace(
        first,
        index=index,
        job=job,
        role=0,
        count=instance.pods_of(members),
        current=_sum(instance.current, members),
        disruption_cost=_cost(instance.job_of(members[0]), first),
    )
