"""Jobs evicted for others that wait: by priority, and by queues that take back what is theirs.

Whole jobs go, none of them needlessly, by reverse trim (Kueue): one after the other until the job
fits, then each comes back, the last first, without which it still does. For what a queue takes
back: reclaim within a cohort, as Kueue has it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice

from kantopt.problem.ages import least_runtime
from kantopt.schema.model import Model, Rule
from kantopt.schema.policy import Queueing
from kantopt.search.state import Change
from kantopt.simulate.floor import Floor
from kantopt.simulate.world import SECOND, World, least_demand

MakeRoom = Callable[[Floor, int], bool]
"""Starts a job that does not fit by evicting others; returns whether that was done."""
May = Callable[[int], bool]
"""Whether a job may be evicted, as the cluster stands."""


class Evictions:
    """Finds victims for jobs that wait, and starts these in their place.

    A job of lower priority may go for one that may evict at all (``preemptionPolicy``). With
    ``reclaim`` a job of a queue that uses more than its nominal quota may go, whatever its
    priority, for one whose queue stays within its own with it, in the same cohort; only as long
    as its queue uses more, and of a resource that the other asks for. Spared are jobs that are not
    preemptible, have run for less than their ``minRuntime``, have a disruption budget, or belong
    to their nodes. With ``reclaim`` a job whose queue borrows evicts none of another queue of its
    cohort that does not, whatever its priority: they would take turns.
    """

    def __init__(self, queueing: Queueing) -> None:
        self._by_priority, self._reclaims = queueing.preemption, queueing.reclaim
        self._failed: dict[Hashable, int] = {}
        """Version of the cluster in which nobody could be evicted for jobs of a kind."""

    def __call__(self, floor: Floor, j: int) -> bool:
        """Start a job that waits and does not fit by evicting others; return whether that was done.

        If not, nobody is evicted.
        """
        if not (self._by_priority or self._reclaims):
            return False
        job = floor.world.instance.jobs[j]
        key = floor.cluster.alike(j), job.priority, job.may_preempt
        if self._failed.get(key) == floor.cluster.version:
            return False
        may = self._may(floor, j)
        able = [v for v in floor.running if may(v)]
        victims = in_turn(floor, (v for v in able if not spared(floor, v)))
        if not start_without(floor, j, victims, may):
            # Who is too young is not for ever.
            if not any(is_young(floor, v) for v in able):
                self._failed[key] = floor.cluster.version
            return False
        return True

    def _may(self, floor: Floor, j: int) -> May:
        instance = floor.world.instance
        asked = least_demand(instance, j)
        entitled = self._reclaims and _within_nominal(floor, j, asked)

        def may(v: int) -> bool:
            if entitled and _borrows(floor, v, j, asked):
                return True
            if not (self._by_priority and instance.may_evict_for(j, v)):
                return False
            # Who has taken back what is his does not lose it to one who borrows.
            theirs = self._reclaims and _in_one_cohort(floor, v, j) and not entitled
            return not theirs or _borrows(floor, v, j, asked)

        return may


def start_without(floor: Floor, j: int, victims: Sequence[int], may: May) -> bool:
    """Start a job once some of those who may go have gone, the first of them; if it then fits.

    Parameters
    ----------
    victims
        Jobs that run, in the order in which they would go.
    may
        Asked before each, when those before it have gone.
    """
    cluster = floor.cluster
    mark = cluster.state.mark()
    if not list(_gone(floor, victims, may)) or not cluster.trial(j):
        cluster.state.undo(mark)
        return False
    # All of them suffice; of the first ones a few may: twice as many, until they do.
    cluster.state.undo(mark)
    rest, gone, pods = (
        _gone(floor, victims, may),
        dict[int, tuple[Change, ...]](),
        tuple[Change, ...](),
    )
    while not pods and (more := dict(islice(rest, max(1, len(gone))))):
        gone |= more
        pods = cluster.trial(j)
    for v, places in reversed(list(gone.items())):
        _shift(floor, places, 1)
        if found := cluster.trial(j):
            del gone[v]
            pods = found
        else:
            _shift(floor, places, -1)
    cluster.state.undo(mark)
    for v in gone:
        floor.evict(v)
    return floor.start(j, at=pods)


def in_turn(floor: Floor, victims: Iterable[int]) -> list[int]:
    """Order jobs that may go: the least important first, of equals who has come last."""
    jobs = floor.world.instance.jobs
    return sorted(victims, key=lambda v: (jobs[v].priority, -_since(floor, v), -v))


def spared(floor: Floor, v: int) -> bool:
    """Whether a job that runs is not evicted for anybody."""
    instance = floor.world.instance
    pinned = instance.on(Rule.PINNED)
    for s in instance.jobs[v].podsets:
        podset = instance.podsets[s]
        if podset.daemon or podset.budgets or (pinned and not podset.preemptible):
            return True
    return is_young(floor, v)


def is_young(floor: Floor, v: int) -> bool:
    """Whether a job has run for less than the time for which it is not evicted.

    That is long enough where nobody knows, as in a plan.
    """
    if _ran_before(floor, v) is None:
        return False
    return floor.now - _since(floor, v) < _least_time(floor.world, v, floor.world.model)


def of_age(floor: Floor, v: int, models: Iterable[Model]) -> set[int]:
    """When a job that has just started is no longer spared for being young.

    Plans count from when it works on, who evicts at once from when it came.
    """
    ran, working = _ran_before(floor, v), floor.work[v].working
    if ran is None or working is None:
        return set()
    spans = {_least_time(floor.world, v, model) for model in models} - {0}
    ends = {since - ran + span for since in (floor.now, working) for span in spans}
    return {end for end in ends if end > floor.now}


def _since(floor: Floor, v: int) -> int:
    """When a job came that runs."""
    return floor.work[v].stays[0][0] - (_ran_before(floor, v) or 0)


def _ran_before(floor: Floor, v: int) -> int | None:
    """How long a job had run before the trace, if it runs on since then."""
    return floor.world.tasks[v].ran if floor.work[v].version == 1 else 0


def _least_time(world: World, v: int, model: Model) -> int:
    """Milliseconds that a job runs before it may be evicted."""
    queues = {queue.name: queue.min_runtime for queue in world.snapshot.queues}
    return least_runtime(world.jobs[v], queues, model.limits) * SECOND


def _gone(
    floor: Floor, victims: Sequence[int], may: May
) -> Iterator[tuple[int, tuple[Change, ...]]]:
    """Take those who may go off the state, one by one, and yield where they were."""
    for v in victims:
        if may(v):
            places = floor.cluster.places(v)
            _shift(floor, places, -1)
            yield v, places


def _shift(floor: Floor, places: Sequence[Change], sign: int) -> None:
    """Put pods on the state, or take them off it (-1)."""
    for s, spot, k in places:
        floor.cluster.state.add(s, spot, sign * k)


def _within_nominal(floor: Floor, j: int, asked: Sequence[int]) -> bool:
    """Whether a job's queue stays within its own share with it."""
    instance = floor.world.instance
    queue = instance.jobs[j].queue
    if queue is None or not instance.queues[queue].cohort:
        return False
    used = floor.cluster.state.quotas.usage[queue]
    return all(
        used[quota.resource] + asked[quota.resource] <= quota.nominal
        for quota in instance.queues[queue].quotas
        if asked[quota.resource]
    )


def _in_one_cohort(floor: Floor, v: int, j: int) -> bool:
    """Whether two jobs are of different queues of one cohort."""
    instance = floor.world.instance
    one, other = instance.jobs[v].queue, instance.jobs[j].queue
    if one is None or other is None or one == other:
        return False
    return instance.queues[one].cohort == instance.queues[other].cohort != ""


def _borrows(floor: Floor, v: int, j: int, asked: Sequence[int]) -> bool:
    """Whether the queue of a job uses, of what another asks for, more than its own share."""
    instance = floor.world.instance
    other = instance.jobs[v].queue
    if other is None or not _in_one_cohort(floor, v, j):
        return False
    state = floor.cluster.state
    queue, used = instance.queues[other], state.quotas.usage[other]
    held = [instance.podsets[s].demand for s in instance.jobs[v].podsets if state.placed[s]]
    return any(
        asked[quota.resource]
        and used[quota.resource] > quota.nominal
        and any(demand[quota.resource] for demand in held)
        for quota in queue.quotas
    )
