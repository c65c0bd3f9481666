"""The best placement by trying them all: slow, simple, and the judge of everything quicker.

Legality and value come from ``kantopt.verify``. Cuts are made only where they are plainly safe:
what one job does alone may already break a rule that looks at one job at a time, and pods that
are placed never make room for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from weakref import WeakKeyDictionary

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.placement import Placement, Spots
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Metric, Rule
from kantopt.schema.rule_kinds import About, rules_about
from kantopt.verify.metrics import measure, measure_step
from kantopt.verify.rules import CHECKS
from kantopt.verify.step import Loads, Step

Value = tuple[int, ...]
Best = tuple[Value, Placement] | tuple[None, None]

ONE_JOB_RULES = (
    *rules_about(About.NODES, About.GANG, About.DOMAINS),
    Rule.PINNED,
    Rule.GANG_VICTIMS,
)
"""Rules whose verdict on a job depends on that job's own pods only."""

SUMS_OVER_JOBS = frozenset(
    {
        Metric.UNPLACED,
        Metric.DISPLACED,
        Metric.EVICTIONS,
        Metric.LOST_GPU_SECONDS,
        Metric.MOVES,
        Metric.MIGRATION_COST,
        Metric.DISRUPTION_COST,
        Metric.DOMAINS_CROSSED,
        Metric.EXCESS_NODES,
        Metric.EXCESS_GROUPS,
        Metric.WAITING,
        Metric.CHANGES_TO_PLAN,
    }
)
"""Metrics that are sums over jobs of what each job's own pods do."""


def spots_of(instance: Instance, podset: PodSet) -> list[Spot]:
    """Every place for a pod of a pod set: nodes with each choice of the devices it needs.

    Where nothing is asked of devices it may be without them as well.
    """
    found = set(podset.current)
    if not podset.running or podset.movable or not instance.on(Rule.PINNED):
        for node in instance.nodes:
            choices = [
                combinations(node.devices_of(need.device_class), need.count)
                for need in podset.devices
            ]
            for choice in product(*choices):
                found.add(Spot(node.index, tuple(sorted(d for part in choice for d in part))))
            if not instance.on(Rule.DEVICES):
                found.add(Spot(node.index))
    return sorted(found)


def multisets(spots: Sequence[Spot], most: int) -> Iterator[dict[Spot, int]]:
    """Every way to put at most so many identical pods on some spots, the fullest first."""
    if not spots:
        yield {}
        return
    for k in range(most, -1, -1):
        for rest in multisets(spots[1:], most - k):
            yield {spots[0]: k, **rest} if k else rest


def job_steps(instance: Instance, job: Job) -> Iterator[tuple[dict[int, Spots], Step]]:
    """Every way to place one job that no rule about this job alone forbids, and what it changes."""
    choices = [
        list(multisets(spots_of(instance, instance.podsets[s]), instance.podsets[s].count))
        for s in job.podsets
    ]
    on = [CHECKS[rule] for rule in ONE_JOB_RULES if instance.on(rule)]
    for choice in product(*choices):
        option: dict[int, Spots] = dict(zip(job.podsets, choice, strict=True))
        step = Step(instance, instance.current, instance.current.replace(option))
        if not any(True for check in on for _ in check(step)):
            yield option, step


def job_options(instance: Instance, job: Job) -> list[dict[int, Spots]]:
    """Every way to place one job that no rule about this job alone forbids."""
    return [option for option, _ in job_steps(instance, job)]


def is_legal(step: Step) -> bool:
    """Whether no rule of the model objects."""
    return not any(True for rule in Rule if step.instance.on(rule) for _ in CHECKS[rule](step))


Ways = list[list[tuple[Value, dict[int, Spots]]]]
"""By job, the most important first: each way to place it, and what that changes in the tiers at
the front that are sums over jobs; what changes least comes first."""


def ways_of(instance: Instance) -> Ways:
    """Every way to place each job; the same where tiers and ``ONE_JOB_RULES`` are the same."""
    tiers = _sums(tiers_of(instance))
    base = measure(instance, instance.current, tiers)

    def change(step: Step) -> Value:
        values = measure_step(step, tiers)
        return tuple(new - old for new, old in zip(values, base, strict=True))

    return [
        sorted(
            ((change(step), option) for option, step in job_steps(instance, job)),
            key=lambda item: item[0],
        )
        for job in sorted(instance.jobs, key=lambda job: (-job.priority, job.index))
    ]


def _sums(tiers: Sequence[Tier]) -> Sequence[Tier]:
    """Tiers at the front that are sums over jobs."""
    first = [tier.metric in SUMS_OVER_JOBS and not tier.target for tier in tiers]
    return tiers[: first.index(False)] if False in first else tiers


_KNOWN = WeakKeyDictionary[Instance, Best]()
"""What is known of questions that several tests ask."""


def best(instance: Instance, below: Value | None = None, ways: Ways | None = None) -> Best:
    """Return the least value of all legal placements and one placement that has it.

    Parameters
    ----------
    instance
        The question; tiny.
    below
        Look only for values that are less than this.
    ways
        Those of :func:`ways_of`, where they are known.

    Returns
    -------
    value, placement
        ``None, None`` if no placement is legal (and below the limit).
    """
    if below is None and instance in _KNOWN:
        return _KNOWN[instance]
    search = _Search(instance, below, ways_of(instance) if ways is None else ways)
    search.descend(0, search.base)
    found: Best = None, None
    if search.value is not None and search.placement is not None:
        found = search.value, search.placement
    if below is None:
        _KNOWN[instance] = found
    return found


class _Search:
    """Decides job after job; remembers the best placement so far."""

    def __init__(self, instance: Instance, below: Value | None, ways: Ways) -> None:
        self.instance = instance
        self.tiers = tiers_of(instance)
        self.value: Value | None = None
        self.placement: Placement | None = None
        self.limit = below
        sums = _sums(self.tiers)
        self.prefix = len(sums)
        self.base = measure(instance, instance.current, sums)
        self.jobs = ways
        self.least = [(0,) * self.prefix]
        for options in reversed(self.jobs):
            least = [min((c[i] for c, _ in options), default=0) for i in range(self.prefix)]
            self.least.insert(0, tuple(map(sum, zip(least, self.least[0], strict=True))))
        self.loads = Loads(instance)
        self.asked: dict[tuple[int, int | None, int], int] = {}
        """Arrived pods that ask for a resource of a node, or of one of its devices."""
        self.chosen: dict[int, Spots] = {}

    def descend(self, depth: int, value: Value) -> None:
        """Decide the jobs from ``depth`` on; ``value`` is that of the first tiers so far."""
        if depth == len(self.jobs):
            self._judge(value)
            return
        for change, option in self.jobs[depth]:
            then = tuple(map(sum, zip(value, change, strict=True)))
            if self.limit is not None:
                reachable = tuple(map(sum, zip(then, self.least[depth + 1], strict=True)))
                if reachable > self.limit[: self.prefix]:
                    return  # options are sorted by what they change: nor is any other good enough
            self._put(option, 1)
            if self._has_room(option):
                self.descend(depth + 1, then)
            self._put(option, -1)

    def _put(self, option: dict[int, Spots], sign: int) -> None:
        for s, spots in option.items():
            podset = self.instance.podsets[s]
            for spot, pods in spots.items():
                self.loads.add(s, spot, sign * pods)
                if pods > podset.current.get(spot, 0):
                    for key in self._asks(s, spot):
                        self.asked[key] = self.asked.get(key, 0) + sign
        if sign > 0:
            self.chosen.update(option)

    def _asks(self, s: int, spot: Spot) -> Iterator[tuple[int, int | None, int]]:
        for r, amount in enumerate(self.instance.podsets[s].requests):
            if amount:
                yield spot.node, None, r
        for device, request in self.loads.device_requests(s, spot):
            for r, amount in enumerate(request):
                if amount:
                    yield spot.node, device, r

    def _has_room(self, option: dict[int, Spots]) -> bool:
        """Whether arrivals so far have room beside all pods that are placed so far."""
        for s, spots in option.items():
            for spot in spots:
                for n, device, r in self._asks(s, spot):
                    if not self.asked.get((n, device, r)):
                        continue
                    node = self.instance.nodes[n]
                    if device is None:
                        limit, load = node.capacity[r], self.loads.node[n][r]
                        on = self.instance.on(Rule.CAPACITY)
                    else:
                        limit = node.devices[device].capacity[r]
                        load, on = self.loads.device[n][device][r], self.instance.on(Rule.DEVICES)
                    if on and limit is not None and load > limit:
                        return False
        return True

    def _judge(self, expected: Value) -> None:
        placement = self.instance.current.replace(self.chosen)
        step = Step(self.instance, self.instance.current, placement)
        value = measure_step(step, self.tiers)
        assert value[: self.prefix] == expected, "a sum over jobs is no sum over jobs"
        if self.limit is not None and value >= self.limit:
            return
        if is_legal(step):
            self.value = self.limit = value
            self.placement = placement
