"""The objectives of a model, spelled out as tiers: one integer each, strictly ordered."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.mix import Shape
from kantopt.problem.precedence import Precedence
from kantopt.problem.restricted import PER_UNIT, restricted
from kantopt.schema.model import Metric, Model, Objective, PriorityObjective
from kantopt.schema.objectives import DisplacedObjective, UnplacedObjective

OF_WHO_IS_PLACED = (Metric.UNPLACED, Metric.DISPLACED)
"""Metrics of who has a place, not of what that takes or where it is."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One metric, restricted and with its parameters: what one objective minimises."""

    metric: Metric
    unit: str
    priority: int | None = None
    surplus: bool = False
    """Of ``unplaced``: the members above minCount, not those below."""
    preempts: bool | None = None
    """Of ``unplaced``: only jobs that may evict others, or only those that may not."""
    level: int | None = None
    resource: int | None = None
    resources: tuple[int, ...] = ()
    """Of ``balance``: those whose load counts above ``size`` thousandths of what a node offers."""
    size: int = 0
    device_class: str | None = None
    of_capacity: bool = False
    """Of ``fragment_rate``: slots are counted from what is offered, not from what is free."""
    mix: tuple[Shape, ...] = ()
    selector: str = ""
    """Label of the nodes that count, ``KEY=VALUE`` or ``KEY``; empty: all of them count."""
    offers: str = ""
    """What nodes offer that count; empty: whatever it is."""
    target: int | None = None
    """A goal: the value of the tier is what the metric has above it; ``None``: no goal."""
    beyond: int = 0
    """What the goal asks for beyond all that there is, of which the tier knows nothing."""
    scope: str = ""
    """What the metric is restricted to, in words."""

    def concerns(self, job: Job) -> bool:
        """Whether the tier looks at a job."""
        of_priority = self.priority in (None, job.priority)
        wanted = job.waits or not self.of_waiting
        return of_priority and wanted and self.preempts in (None, job.may_preempt)

    def weight(self, podset: PodSet) -> int:
        """What one pod of a set counts, in the tier's unit."""
        match self.unit:
            case "milli-GPU":
                return podset.gpu_milli
            case "CPU-only pods":
                return 1 if podset.gpu_milli == 0 else 0
            case _:
                return 1

    @property
    def of_waiting(self) -> bool:
        """Of ``unplaced``: whether only jobs that wait count, as goals have it.

        A goal is to place them; who has to go for it is for other objectives to say.
        """
        return self.metric is Metric.UNPLACED and self.target is not None

    @property
    def whose(self) -> tuple[int | None, bool | None, bool]:
        """Which jobs it looks at: what two tiers have in common that look at the same."""
        return self.priority, self.preempts, self.of_waiting

    @property
    def mix_weight(self) -> int:
        """Sum of the weights of the job mix, which multiplies the numbers of the tier; 0: none."""
        return sum(shape.weight for shape in self.mix)

    @property
    def counts_unplaced(self) -> bool:
        """Whether it counts what is not placed, but not beyond the minimum of gangs."""
        return self.metric is Metric.UNPLACED and not self.surplus

    @property
    def counts_pods(self) -> bool:
        """Of ``evictions``: whether pods count, whatever they cost."""
        return self.metric is Metric.EVICTIONS and self.unit == "pods"

    @property
    def name(self) -> str:
        """Metric and, in brackets, what it is restricted to."""
        parts = [] if self.priority is None else [f"priority={self.priority}"]
        if self.metric in (Metric.UNPLACED, Metric.DISPLACED):
            parts.append(self.unit)
        if self.counts_pods:
            parts.append("pods")
        if self.preempts is not None:
            parts.append("may preempt" if self.preempts else "never preempt")
        if self.surplus:
            parts.append("above minCount")
        if self.scope:
            parts.append(self.scope)
        if self.target is not None:
            parts.append(f"above goal {self._goal}")
        return f"{self.metric}[{', '.join(parts)}]" if parts else self.metric.value

    @property
    def _goal(self) -> str:
        """The target as people write it: GPUs as decimals, those of a mix without its weights."""
        per_unit = PER_UNIT.get(self.unit, 1)
        if self.target is None or per_unit == 1:
            return str(self.target)
        number = self.target // (self.mix_weight or 1)
        whole, rest = divmod(number, per_unit)
        return f"{whole}.{rest:0{len(str(per_unit)) - 1}}".rstrip("0").rstrip(".")

    def above_target(self, measured: int) -> int:
        """Value of the tier where the metric has a value, or a bound of it from one of those."""
        return max(0, measured - (self.target or 0))

    def most(self, value: int) -> int:
        """Most that the metric is measured at where the tier has no more than a value."""
        return value + (self.target or 0)


@lru_cache(maxsize=16)
def tiers_of(instance: Instance) -> tuple[Tier, ...]:
    """Return the tiers of the instance's model, most important first.

    Where jobs may evict others, :func:`_fair` says what else comes between.
    """
    return tuple(_fair(instance, list(_expand(instance, instance.model))))


def _fair(instance: Instance, tiers: list[Tier]) -> Iterator[Tier]:
    """Have nobody evicted for the good of those who may not evict: see "Tiers" on the formal page.

    Of a priority of which pods may be evicted and others wait, what is displaced counts before
    what is unplaced. Jobs that may evict nobody come after what the model says of evictions: whole
    priorities, and of one of which some may evict those that may not. A priority that keeps its
    place, as lesser ones may evict, comes after what only more important ones may displace.
    """
    who = Precedence(instance)
    concerned = (None, *who.victims)
    evicting = [
        i for i, t in enumerate(tiers) if t.metric is Metric.EVICTIONS and t.priority in concerned
    ]
    last = evicting[-1] if evicting else -1
    waits = {job.index for job in who.jobs}
    later = []
    above: set[Tier] = set()
    for i, tier in enumerate(tiers):
        p, counts = tier.priority, tier.metric is Metric.UNPLACED and tier.target is None
        if counts and p is not None and who.disturbs(p) and p in who.waiting:
            displaced = replace(tier, metric=Metric.DISPLACED)
            there = tier.unit == "jobs" or tier.surplus or displaced in above
            if not there and _runs(instance, displaced):
                yield displaced
        if counts and p is not None and i < last and tier.unit != "jobs":
            settled = list(_settled(instance, tier, who.settled_before(p)))
            yield from (displaced for displaced in settled if displaced not in above)
            above.update(settled)
        never = replace(tier, preempts=False)
        if counts and i < last and p in who.harmless:
            later.append(tier)
        elif counts and i < last and p in who.divided and _counts(instance, never, waits):
            may = replace(tier, preempts=True)
            if _counts(instance, may):
                yield may
            later.append(never)
        else:
            yield tier
        above.add(tier)
        if i == last:
            yield from later


def _settled(instance: Instance, tier: Tier, priorities: Iterable[int]) -> Iterator[Tier]:
    """Tiers of what is displaced of some priorities, in all units of one of ``unplaced``."""
    units = ("pods",) if tier.unit == "pods" else ("milli-GPU", "CPU-only pods")
    plain = replace(tier, metric=Metric.DISPLACED, surplus=False)
    each = (replace(plain, priority=p, unit=unit) for p in priorities for unit in units)
    yield from (displaced for displaced in each if _runs(instance, displaced))


def _runs(instance: Instance, tier: Tier) -> bool:
    """Whether pods run that a tier of ``displaced`` counts."""
    podsets = (instance.podsets[s] for job in concerned(instance, tier) for s in job.podsets)
    return any(podset.running and _in_unit(tier, podset) for podset in podsets)


def _counts(instance: Instance, tier: Tier, among: Container[int] | None = None) -> bool:
    """Whether some jobs, or some ``among`` these, have pods that a tier of ``unplaced`` counts."""
    return any(
        (among is None or job.index in among)
        and (not tier.surplus or _elastic(instance, job.index))
        and any(_in_unit(tier, instance.podsets[s]) for s in job.podsets)
        for job in concerned(instance, tier)
    )


def _in_unit(tier: Tier, podset: PodSet) -> bool:
    """Whether pods count in the unit of a tier."""
    if tier.unit == "milli-GPU":
        return podset.gpu_milli > 0
    return tier.unit != "CPU-only pods" or podset.gpu_milli == 0


def _expand(instance: Instance, model: Model) -> Iterator[Tier]:
    costed = False
    for objective in model.objectives or ():
        if objective.each_priority is not None:
            tiers = [
                tier
                for priority in instance.priorities
                for part in objective.each_priority
                for tier in _of_priority(instance, part, (priority,))
            ]
            yield from (tier for tier in tiers if not tier.surplus)
            yield from (tier for tier in tiers if tier.surplus)
        elif objective.evictions is not None and objective.evictions.unit == "pod":
            # Where each pod costs one, the tiers of cost have said it all.
            if not (costed and all(_costs_one(instance, podset) for podset in instance.podsets)):
                split = objective.evictions.by == "priority"
                priorities = instance.priorities if split else (None,)
                yield from _of_priority(instance, objective, priorities)
        elif objective.name in _BY_PRIORITY:
            costed = costed or objective.evictions is not None
            parameters = getattr(objective, objective.name)
            split = parameters.by == "priority"
            yield from _of_priority(instance, objective, instance.priorities if split else (None,))
        elif _speaks(instance, objective):
            metric = Metric(objective.name)
            plain = Tier(metric, _UNITS[metric])
            yield restricted(instance, plain, getattr(objective, objective.name))


DISTURBING = frozenset(
    {
        Metric.EVICTIONS,
        Metric.LOST_GPU_SECONDS,
        Metric.MOVES,
        Metric.MIGRATION_COST,
        Metric.DISRUPTION_COST,
    }
)
"""Metrics of what is done to pods that run."""
_BY_PRIORITY = {m.value for m in (Metric.UNPLACED, Metric.DISPLACED, *DISTURBING)}


def _of_priority(
    instance: Instance, objective: PriorityObjective, priorities: tuple[int | None, ...]
) -> Iterator[Tier]:
    """Tiers of a metric for each priority; members above minCount come after all priorities.

    Priorities without a pod that could count are left out: evictions and moves concern running
    pods only, GPUs only jobs that ask for some. Jobs without GPUs are counted by pods in a tier of
    their own behind the GPUs of their priority.
    """
    metric = Metric(objective.name)
    surplus: list[Tier] = []
    for priority in priorities:
        tier = Tier(metric, "pods", priority)
        jobs = _jobs(instance, priority)
        pods = [instance.podsets[s] for job in jobs for s in job.podsets]
        running = [podset for podset in pods if podset.running]
        if metric is Metric.DISPLACED:
            shown = _units(running, (objective.displaced or DisplacedObjective()).unit)
            yield from (replace(tier, unit=unit) for unit in shown)
            continue
        if metric is not Metric.UNPLACED:
            if metric is Metric.LOST_GPU_SECONDS:
                if any(podset.lost_gpu_seconds for podset in running):
                    yield replace(tier, unit="GPU-seconds")
            elif metric is Metric.MIGRATION_COST:
                if any(podset.migration_mib for podset in running):
                    yield replace(tier, unit="MiB")
            elif running:
                yield replace(tier, unit=_unit(objective))
            continue
        parameters = objective.unplaced or UnplacedObjective()
        tier = replace(tier, target=parameters.target)
        if tier.of_waiting and priority is not None:
            jobs = [job for job in jobs if job.waits]
            if not jobs:
                continue
        if parameters.unit == "job":
            yield replace(tier, unit="jobs")
            continue
        pods = [instance.podsets[s] for job in jobs for s in job.podsets]
        for unit in _units(pods, parameters.unit):
            yield replace(tier, unit=unit)
            if any(_elastic(instance, job.index) for job in jobs):
                surplus.append(replace(tier, unit=unit, surplus=True))
    yield from surplus


def concerned(instance: Instance, tier: Tier) -> list[Job]:
    """Jobs that a tier looks at."""
    return [job for job in _jobs(instance, tier.priority) if tier.concerns(job)]


def _jobs(instance: Instance, priority: int | None) -> Sequence[Job]:
    """Jobs of a priority, or all."""
    return instance.jobs if priority is None else _by_priority(instance).get(priority, ())


@kept_with_instance(most=1)
def _by_priority(instance: Instance) -> dict[int, list[Job]]:
    """Jobs of each priority: a thousand priorities are not looked for among all jobs each."""
    found: dict[int, list[Job]] = {}
    for job in instance.jobs:
        found.setdefault(job.priority, []).append(job)
    return found


def _units(podsets: Iterable[PodSet], unit: str) -> Iterator[str]:
    """Units that pods are counted in: GPUs, then pods without any, or simply pods."""
    if unit == "pod":
        yield "pods"
        return
    gpus = {podset.gpu_milli > 0 for podset in podsets}
    if True in gpus:
        yield "milli-GPU"
    if False in gpus:
        yield "CPU-only pods"


def _unit(objective: PriorityObjective) -> str:
    """Unit of a metric of running pods."""
    if objective.moves is not None:
        return "pods"
    if objective.evictions is not None and objective.evictions.unit == "pod":
        return "pods"
    return "cost"


def _costs_one(instance: Instance, podset: PodSet) -> bool:
    """Whether each pod evicted of a pod set costs one."""
    job = instance.jobs[podset.job]
    if not podset.running:
        return True
    if job.all_victims:
        return job.disruption_cost == 1 and job.count == 1
    return podset.disruption_cost == 1


def changes_tier(tiers: Sequence[Tier]) -> int | None:
    """Place of the tier that counts what differs from the last plan, if there is one."""
    return next((i for i, t in enumerate(tiers) if t.metric is Metric.CHANGES_TO_PLAN), None)


def _speaks(instance: Instance, objective: Objective) -> bool:
    """Whether a metric of the whole cluster has anything to count in a question."""
    if objective.preferences is not None:
        return _wishes(instance)
    if objective.changes_to_plan is not None:
        return any(podset.wanted is not None for podset in instance.podsets)
    return True


def _wishes(instance: Instance) -> bool:
    """Whether any pod would rather be somewhere."""
    return bool(
        instance.wishes or instance.evens or any(podset.losses for podset in instance.podsets)
    )


def _elastic(instance: Instance, j: int) -> bool:
    job = instance.jobs[j]
    return job.is_gang and job.count > job.least


_UNITS = {
    Metric.DOMAINS_CROSSED: "domains",
    Metric.FRAGMENTED_NODES: "nodes",
    Metric.NODES_IN_USE: "nodes",
    Metric.ALLOCATION: "milli-GPU",
    Metric.EXCESS_NODES: "nodes",
    Metric.WAITING: "seconds",
    Metric.UNDRAINED: "pods",
    Metric.PREFERENCES: "points",
    Metric.STRANDED_GPUS: "milli-GPU x mix",
    Metric.DOMAINS_IN_USE: "domains",
    Metric.EXCESS_GROUPS: "groups",
    Metric.FRAGMENT_RATE: "slots",
    Metric.COST: "micro-units",
    Metric.ENERGY: "milliwatts",
    Metric.BALANCE: "milli-nodes",
    Metric.FAIR_SHARE: "milli-GPU",
    Metric.CHANGES_TO_PLAN: "pods",
}
