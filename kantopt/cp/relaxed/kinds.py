"""Jobs that are alike, counted together: what they are and what may happen to them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.kept import kept_with_instance
from kantopt.verify.metrics.waiting import waits


@dataclass(frozen=True, slots=True)
class PodKind:
    """Pods of one role of alike jobs: all running, or all pending."""

    index: int
    one: PodSet
    """One of the pod sets, for what they have in common."""
    podsets: tuple[int, ...]
    evictable: bool
    movable: bool
    on_devices: bool
    """Whether each pod takes what it asks of its devices: a standing one may have lost them."""

    @property
    def count(self) -> int:
        """Pods of this kind."""
        return self.one.count * len(self.podsets)

    @property
    def arrives(self) -> bool:
        """Whether pods of this kind may arrive somewhere."""
        return self.movable or not self.one.running

    @property
    def fixed(self) -> bool:
        """Whether the pods stay where they are, whatever happens."""
        return self.one.running and not self.movable and not self.evictable


@dataclass(frozen=True, slots=True)
class JobKind:
    """Alike jobs; ``roles`` holds for each role its kinds of pods, running first."""

    one: Job
    jobs: tuple[int, ...]
    roles: tuple[tuple[PodKind, ...], ...]

    @property
    def pods(self) -> tuple[PodKind, ...]:
        """Kinds of pods of all roles."""
        return tuple(kind for role in self.roles for kind in role)


class Kinds:
    """All jobs of an instance as kinds.

    Jobs are alike if they differ in nothing that the relaxation looks at: names, labels and where
    the running pods are is not among it.

    Parameters
    ----------
    instance
        The question.
    marks
        What else tells jobs apart, by job.
    """

    def __init__(self, instance: Instance, marks: Mapping[int, Hashable]) -> None:
        self.instance = instance
        self.jobs: list[JobKind] = []
        self.pods: list[PodKind] = []
        self._needs = instance.needs_of
        self._free = freedom_of(instance)
        alike: dict[Hashable, list[int]] = {}
        for job in instance.jobs:
            alike.setdefault((self.alike(job), marks.get(job.index)), []).append(job.index)
        for jobs in alike.values():
            self._add(tuple(jobs))

    def _add(self, jobs: tuple[int, ...]) -> None:
        one = self.instance.jobs[jobs[0]]
        roles = []
        for i, role in enumerate(one.roles):
            kinds = []
            for part in range(len(role.podsets)):
                podsets = tuple(self.instance.jobs[j].roles[i].podsets[part] for j in jobs)
                podset = self.instance.podsets[podsets[0]]
                kinds.append(
                    PodKind(
                        index=len(self.pods),
                        one=podset,
                        podsets=podsets,
                        evictable=self._free.evictions[podset.index] > 0,
                        movable=self._free.moves[podset.index] > 0,
                        on_devices=self._on_devices(podset),
                    )
                )
                self.pods.append(kinds[-1])
            roles.append(tuple(kinds))
        self.jobs.append(JobKind(one, jobs, tuple(roles)))

    def alike(self, job: Job) -> Hashable:
        """What a job asks for and may be asked: equal for jobs that differ in places at most."""
        needs = tuple(replace(need, index=0, job=0) for need in self._needs.get(job.index, ()))
        return self._job(job), needs

    def _job(self, job: Job) -> Hashable:
        podsets = self.instance.podsets
        return (
            job.priority,
            job.may_preempt,
            job.queue,
            job.owner,
            job.min_count,
            job.all_victims,
            job.disruption_cost,
            job.waited_seconds if waits(self.instance, job) else None,
            job.index in self.instance.required,
            tuple(
                (role.count, role.min_count, tuple(self._pods(podsets[s]) for s in role.podsets))
                for role in job.roles
            ),
        )

    def _pods(self, podset: PodSet) -> Hashable:
        return (
            podset.count,
            podset.running,
            podset.requests,
            podset.devices,
            id(podset.allowed),  # pod sets that ask the same share the set
            podset.disruption_cost,
            podset.budgets,
            podset.lost_gpu_seconds
            and (podset.lost_gpu_seconds, self.instance.jobs[podset.job].move_mode),
            podset.migration_mib,
            podset.running and self._freedom(podset),
        )

    def _freedom(self, podset: PodSet) -> Hashable:
        free, s = self._free, podset.index
        return free.evictions[s] > 0, free.moves[s] > 0, self._on_devices(podset)

    def _on_devices(self, podset: PodSet) -> bool:
        wanted = sum(need.count for need in podset.devices)
        for spot in podset.current:
            devices = self.instance.nodes[spot.node].devices
            if len(spot.devices) != wanted or any(d >= len(devices) for d in spot.devices):
                return False
            for need in podset.devices:
                given = sum(devices[d].device_class == need.device_class for d in spot.devices)
                if given != need.count:
                    return False
        return True


@kept_with_instance(3)
def kinds_of(instance: Instance, marks: tuple[tuple[int, Hashable], ...]) -> Kinds:
    """Return the jobs of an instance as kinds; of each relaxation that is written anew the same."""
    return Kinds(instance, dict(marks))
