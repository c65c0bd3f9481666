"""What may be disturbed: how many pods of each set a plan could bind, move and evict, at most.

One table for each question, which searches and encodings ask. The judge does not: it counts what
plans do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kantopt.problem.apart import sets_apart
from kantopt.problem.instance import Instance
from kantopt.problem.job import AntiAffinity, Job, PodSet
from kantopt.problem.node_room import alike_nodes, room_by_kind
from kantopt.schema.model import Rule


@dataclass(frozen=True, slots=True, eq=False)
class Freedom:
    """Amounts that no plan exceeds, each by the rules that speak of the pod set or its job alone.

    So they hold in every part of the question as well. What rules say of several jobs together,
    such as how many pods may move in all, bounds each of them but is not shared out.

    Attributes
    ----------
    binds
        Pods that could be bound, by pod set; 0 of running ones.
    moves, evictions
        Running pods that could be moved, and evicted, by pod set; 0 of pending ones.
    steps
        Of the moves those that leave other pods of the job alone: 0 where all restart together.
    tied
        Pod sets whose places matter to other pods: by topology asked for, affinity or spread.
    apart
        Terms of anti-affinity that are a matter of room: of each set a node holds one pod.
    close
        Pod sets that are to be near others, and those, but for affinity to pods that stay.
    """

    binds: tuple[int, ...]
    moves: tuple[int, ...]
    evictions: tuple[int, ...]
    steps: tuple[int, ...]
    tied: frozenset[int]
    apart: frozenset[AntiAffinity]
    close: frozenset[int]
    _instance: Instance
    _rules: frozenset[Rule]
    _stays: frozenset[int]
    _gone: tuple[int, ...]
    """Pods that could be evicted if somebody might have it done, and the job bore it."""

    def fixed(self, s: int) -> bool:
        """Whether pods of a running pod set stay where they are, whatever is done."""
        return s in self._stays

    def arrives(self, s: int) -> bool:
        """Whether pods of a pod set could arrive somewhere, bound or moved."""
        return self.binds[s] > 0 or self.moves[s] > 0

    def changes(self, j: int) -> bool:
        """Whether anything could change about a job."""
        podsets = self._instance.jobs[j].podsets
        return any(self.arrives(s) or self.evictions[s] for s in podsets)

    def preempts(self, j: int) -> bool:
        """Whether pods could be evicted for a job."""
        job = self._instance.jobs[j]
        return job.may_preempt and any(self.binds[s] for s in job.podsets)

    def gives_way(self, s: int, j: int) -> bool:
        """Whether pods of a pod set could be evicted for another job, as far as they are asked."""
        other = self._instance.podsets[s].job
        return (
            self._gone[s] > 0
            and other != j
            and (self._instance.may_evict_for(j, other) or Rule.PRIORITY not in self._rules)
        )

    def may_leave_for(self, j: int) -> Callable[[PodSet], bool]:
        """Return which pod sets of others could lose pods, moved or evicted, for a job."""

        def leaves(podset: PodSet) -> bool:
            s = podset.index
            return podset.job != j and (self.moves[s] > 0 or self.gives_way(s, j))

        return leaves


def freedom_of(instance: Instance, rules: Collection[Rule] | None = None) -> Freedom:
    """Return the table of a question; by default under all rules that are on.

    Parameters
    ----------
    rules
        The rules that hold; the others are left aside, whatever the model says.
    """
    return _freedom_of(instance, None if rules is None else frozenset(rules))


@lru_cache(maxsize=32)
def _freedom_of(instance: Instance, rules: frozenset[Rule] | None) -> Freedom:
    if rules is None:
        rules = frozenset(rule for rule in Rule if instance.on(rule))
    amounts = _Amounts(instance, rules)
    podsets = instance.podsets
    binds = tuple(amounts.bound(podset) for podset in podsets)
    gone = tuple(amounts.gone(podset) for podset in podsets)
    moves = [amounts.moved(podset) for podset in podsets]
    for j in instance.together:
        if not amounts.restarts(j, moves):
            for s in instance.running_of(j):
                moves[s] = 0
    evictions = amounts.evicted(binds, gone)
    stays = frozenset(
        podset.index
        for podset in podsets
        if podset.running and not moves[podset.index] and not evictions[podset.index]
    )
    return Freedom(
        binds=binds,
        moves=tuple(moves),
        evictions=evictions,
        tied=_tied(instance, rules),
        apart=sets_apart(instance, rules),
        close=_close(instance, rules, stays),
        steps=tuple(0 if p.job in instance.together else moves[p.index] for p in podsets),
        _instance=instance,
        _rules=rules,
        _stays=stays,
        _gone=gone,
    )


class _Amounts:
    def __init__(self, instance: Instance, rules: frozenset[Rule]) -> None:
        self.instance = instance
        self.rules = rules
        self.limits = instance.model.limits if Rule.LIMITS in rules else None
        self._holds: dict[tuple[object, ...], bool] = {}

    def bound(self, podset: PodSet) -> int:
        if podset.running or not self._admitted(podset):
            return 0
        ask = podset.requests, podset.devices, podset.allowed
        if ask not in self._holds:
            self._holds[ask] = self._held(podset)
        return podset.count if self._holds[ask] else 0

    def _held(self, podset: PodSet) -> bool:
        """Whether a node that admits the pods would hold one if it were empty."""
        instance, kinds = self.instance, alike_nodes(self.instance)
        needs = podset.devices if Rule.DEVICES in self.rules else ()
        capacity = Rule.CAPACITY in self.rules
        rooms = room_by_kind(instance, podset.requests, needs, 1, capacity=capacity)
        nodes = podset.allowed if Rule.ELIGIBILITY in self.rules else range(len(kinds))
        return any(rooms[kinds[n]] for n in nodes)

    def _admitted(self, podset: PodSet) -> bool:
        """Whether any node admits the pods."""
        return bool(podset.allowed) or Rule.ELIGIBILITY not in self.rules

    def moved(self, podset: PodSet) -> int:
        instance, job = self.instance, self.instance.job_of(podset.index)
        if not podset.running or not self._admitted(podset):
            return 0
        most = podset.count
        if Rule.PINNED in self.rules:
            # None is moved off a node that is not ready.
            most = instance.beside_held(podset.current) if podset.movable else 0
        if job.move_mode == "restart" and not self._borne(podset):
            return 0
        if self.limits is None:
            return most
        each = (self.limits.arrivals_per_node, self.limits.departures_per_node)
        if 0 in each:
            return 0
        limits = (self.limits.moves, self.limits.moves_per_namespace, job.most_moves)
        return min((most, *(limit for limit in limits if limit is not None)))

    def restarts(self, j: int, moves: Sequence[int]) -> bool:
        """Whether all running pods of a job could move at once."""
        instance, running = self.instance, self.instance.running_of(j)
        job, pods = instance.jobs[j], instance.running_pods(j)
        if any(moves[s] < instance.podsets[s].count for s in running):
            return False
        if Rule.DISRUPTION in self.rules:
            away = Counter[int]()
            for s in running:
                for b in instance.podsets[s].budgets:
                    away[b] += instance.podsets[s].count
            if any(k > instance.budgets[b].allowed for b, k in away.items()):
                return False
        if self.limits is None:
            return True
        limits = (
            *(self.limits.moves, self.limits.moves_per_namespace, self.limits.moves_per_wave),
            *(job.most_moves, job.moves_at_once),
        )
        return all(limit is None or pods <= limit for limit in limits)

    def gone(self, podset: PodSet) -> int:
        if not podset.running or (Rule.PINNED in self.rules and not podset.preemptible):
            return 0
        most = min(podset.count, self._borne(podset))
        if self.limits is None or self.limits.evictions is None:
            return most
        return min(most, self.limits.evictions)

    def _borne(self, podset: PodSet) -> int:
        """Disruptions that budgets bear; under two of them none."""
        budgets = podset.budgets if Rule.DISRUPTION in self.rules else ()
        if len(budgets) > 1:
            return 0
        return min((self.instance.budgets[b].allowed for b in budgets), default=podset.count)

    def evicted(self, binds: Sequence[int], gone: Sequence[int]) -> tuple[int, ...]:
        """Evictions by pod set, of those of which some job may have pods evicted."""
        instance = self.instance
        highest = None
        if instance.strict and Rule.PRIORITY in self.rules:
            asking = (
                job.priority
                for job in instance.jobs
                if job.may_preempt and any(binds[s] for s in job.podsets)
            )
            highest = max(asking, default=None)
            if highest is None:
                return (0,) * len(gone)
        found = list(gone)
        for job in instance.jobs:
            running = instance.running_of(job.index)
            if highest is not None and job.priority >= highest:
                most = dict.fromkeys(running, 0)
            elif sum(gone[s] for s in running) < instance.pods_of(running):
                most = self._spared(job, running)
            elif self.limits is None or self.limits.evictions is None:
                continue
            elif instance.pods_of(running) > self.limits.evictions:
                most = self._spared(job, running)
            else:
                continue
            for s, pods in most.items():
                found[s] = min(found[s], pods)
        return tuple(found)

    def _spared(self, job: Job, running: Sequence[int]) -> dict[int, int]:
        """Most pods that a job loses by pod set if it cannot lose all of them."""
        instance = self.instance
        counts = {s: instance.podsets[s].count for s in running}
        if job.all_victims and Rule.GANG_VICTIMS in self.rules:
            return dict.fromkeys(running, 0)
        if not (job.is_gang and Rule.GANG in self.rules):
            return counts
        found = {}
        for s in running:
            # Of a role that loses pods none are bound in their stead; others may grow meanwhile.
            role = job.roles[instance.podsets[s].role]
            found[s] = max(0, counts[s] - job.needed(role))
        return found


def _tied(instance: Instance, rules: frozenset[Rule]) -> frozenset[int]:
    """Return whose places matter to others."""
    found = set(_close(instance, rules, frozenset()))
    if Rule.ANTI_AFFINITY in rules:
        for term in instance.anti_affinities:
            found |= {term.owner, *term.others}
    if Rule.SPREAD in rules:
        for spread in instance.spreads:
            found |= {spread.owner, *spread.counted}
    return frozenset(found)


def _close(instance: Instance, rules: frozenset[Rule], stays: frozenset[int]) -> frozenset[int]:
    """Return who is to be near others by topology, or by affinity to pods some of which leave."""
    found: set[int] = set()
    if Rule.AFFINITY in rules:
        for near in instance.affinities:
            if not (near.anchors and stays.issuperset(near.anchors)):
                found |= {near.owner, *near.anchors}
    for need in instance.topology_needs:
        found.update(instance.podsets_of(need))
    return frozenset(found)
