"""How many running pods a placement in the making moves, of so many that may (R14).

Pods that wait are not counted, wherever they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.search.presolve import binding_namespaces

Key = tuple[str, object]
"""What moves are counted by: a job, a namespace, arrivals on a node or departures from it."""
Limit = tuple[Key, int]
_Count = tuple[int, int, int, int]
"""Pod set, node, and running pods that came there and that left it."""


class Pace:
    """Running pods that are not where they were, kept up to date; says what may still move.

    Of jobs, namespaces and nodes only those are counted that have a limit. Where a job restarts as
    a whole its pods that come back to where they were are counted as well, as the judge does.

    Attributes
    ----------
    moves
        Running pods that are somewhere else now, or back after a restart.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        limits = instance.model.limits
        self.most = limits.moves
        """Most moves in all; ``None`` if any number may be."""
        self.moves = 0
        self._arrivals, self._departures = limits.arrivals_per_node, limits.departures_per_node
        self._per_node = self._arrivals is not None or self._departures is not None
        self._of_job = [tuple(limits_of(instance, job)) for job in instance.jobs]
        self._counts: Counter[Key] = Counter()
        self._over = 0
        """Pods beyond the limits of jobs, namespaces and nodes."""
        self._together = {j: _Together(instance, j) for j in instance.together}

    def count(self, s: int, n: int, arrived: int, left: int) -> None:
        """Take note of running pods that come to a node, or leave one (below 0: the reverse)."""
        self._add(s, n, arrived, left)
        together = self._together.get(self._instance.podsets[s].job)
        if together is not None:
            for back in together.count(s, n, arrived, left):
                self._add(*back)

    def _add(self, s: int, n: int, arrived: int, left: int) -> None:
        self.moves += arrived
        for key, limit in self._limits(s, n, n):
            pods = left if key[0] == "departures" else arrived
            if pods:
                before = self._counts[key]
                self._counts[key] = after = before + pods
                self._over += max(0, after - limit) - max(0, before - limit)

    def _limits(self, s: int, source: int, target: int) -> tuple[Limit, ...]:
        """What bounds a move beside the number of all moves."""
        of_job = self._of_job[self._instance.podsets[s].job]
        if not self._per_node:
            return of_job
        per_node = (
            (("arrivals", target), self._arrivals),
            (("departures", source), self._departures),
        )
        return (*of_job, *((key, limit) for key, limit in per_node if limit is not None))

    def left(self) -> int | None:
        """Pods that may still move; ``None`` if any number."""
        return None if self.most is None else self.most - self.moves

    def allows(self, s: int, source: int, target: int) -> bool:
        """Whether one pod more may move from one node to another."""
        if self.most is not None and self.moves >= self.most:
            return False
        return self.used_up(s, source, target) is None

    def used_up(self, s: int, source: int, target: int) -> tuple[str, int] | None:
        """Return what is counted apart and bears no more of a move, and its limit.

        It is ``job``, ``namespace``, ``arrivals`` or ``departures``.
        """
        for key, limit in self._limits(s, source, target):
            if self._counts[key] >= limit:
                return key[0], limit
        return None

    def kept(self) -> bool:
        """Whether no limit is exceeded."""
        return not self._over and (self.most is None or self.moves <= self.most)


def limits_of(instance: Instance, job: Job) -> Iterator[Limit]:
    """Yield how many pods of a job may move, and of its namespace if that bounds it."""
    if job.most_moves is not None:
        yield ("job", job.index), job.most_moves
    most = instance.model.limits.moves_per_namespace
    if most is not None and job.namespace in binding_namespaces(instance):
        yield ("namespace", job.namespace), most


class _Together:
    """Which pods of a job that restarts as a whole are where they were (R13)."""

    def __init__(self, instance: Instance, j: int) -> None:
        self._home = Counter[tuple[int, int]]()
        for s in instance.running_of(j):
            for spot, pods in instance.podsets[s].current.items():
                self._home[s, spot.node] += pods
        self._came, self._left = Counter[int](), Counter[int]()

    def count(self, s: int, n: int, arrived: int, left: int) -> Iterator[_Count]:
        """Take note of pods that come and leave; say which come back more, or fewer, than before.

        None comes back unless some pod moves, as when all are evicted.
        """
        before = self._restarts()
        self._came[s] += arrived
        self._left[s] += left
        after = self._restarts()
        if before and not after:
            yield from ((*where, -pods, -pods) for where, pods in self._home.items())
        self._home[s, n] -= left
        if after and not before:
            yield from ((*where, pods, pods) for where, pods in self._home.items())
        elif before and after:
            yield s, n, -left, -left

    def _restarts(self) -> bool:
        return any(pods and self._left[s] for s, pods in self._came.items())
