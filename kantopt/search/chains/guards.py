"""What rules bound across nodes, as amounts: evictions under budgets, moves of jobs, quotas."""

from __future__ import annotations

from kantopt.search.chains.scope import Scope
from kantopt.search.counts.pace import Key, limits_of
from kantopt.search.counts.quotas import Quotas
from kantopt.search.presolve import binding_budgets, binding_queues


class Guards:
    """Amounts that change with the pods of the groups, and what they may be.

    Begins with none of the groups' pods placed. Only budgets, limits and quotas that some plan
    could exceed are kept, so that groups without any cost nothing.

    Attributes
    ----------
    none
        Whether nothing is bounded.
    """

    def __init__(self, scope: Scope) -> None:
        instance = scope.instance
        self._budgets: list[tuple[int, ...]] = []
        self._queue: list[int | None] = []
        self._running = [group.running for group in scope.groups]
        self._pods = [0] * len(scope.groups)
        self._demand = [instance.podsets[group.podsets[0]].demand for group in scope.groups]
        active = {s for group in scope.groups for s in group.podsets}
        budgets, queues = binding_budgets(instance), binding_queues(instance)
        self._left = {b: instance.budgets[b].allowed for b in sorted(budgets)}
        """Evictions that each budget still bears."""
        for podset in instance.podsets:
            if podset.running:
                inside = podset.index in active
                gone = podset.count - (0 if inside else scope.start.placed(podset.index))
                for b in budgets.intersection(podset.budgets):
                    self._left[b] -= gone
        self._limit_moves(scope, active)
        for group in scope.groups:
            running = instance.podsets[group.podsets[0]]
            kept = budgets.intersection(running.budgets) if group.running else ()
            queue = instance.jobs[group.job].queue
            self._budgets.append(tuple(sorted(kept)))
            self._queue.append(queue if queue in queues else None)
        self._quotas = Quotas(instance)
        if queues:
            for podset in instance.podsets:
                if podset.index not in active:
                    queue = instance.jobs[podset.job].queue
                    pods = scope.start.placed(podset.index)
                    new = max(0, pods - sum(podset.current.values()))
                    self._quotas.add(queue, podset.demand, pods, new)
        queued = any(queue is not None for queue in self._queue)
        self.none = not (any(self._budgets) or any(self._movers) or queued)

    def _limit_moves(self, scope: Scope, active: set[int]) -> None:
        """Say by group which jobs and namespaces have a number of moves that their pods add to."""
        instance = scope.instance
        self._moves: dict[Key, int] = {}
        """Moves that each still bears."""

        def limited(s: int) -> tuple[Key, ...]:
            limits = dict(limits_of(instance, instance.job_of(s)))
            self._moves = limits | self._moves
            return tuple(limits)

        self._movers = [
            limited(group.podsets[0]) if group.running and not group.homebound else ()
            for group in scope.groups
        ]
        for s, spots in enumerate(scope.start.podsets if self._moves else ()):
            current = instance.podsets[s].current
            if current and s not in active:
                for key in limited(s):
                    self._moves[key] -= sum(max(0, k - current.get(x, 0)) for x, k in spots.items())

    def count(self, g: int, pods: int, evicted: int, moved: int) -> None:
        """Take note of pods of a group that come (or go, below 0), are evicted and moved."""
        for b in self._budgets[g]:
            self._left[b] -= evicted
        for key in self._movers[g]:
            self._moves[key] -= moved
        if self._queue[g] is not None:
            beyond = self._pods[g] - self._running[g]  # those that run are placed first
            new = max(0, beyond + pods) - max(0, beyond)
            self._quotas.add(self._queue[g], self._demand[g], pods, new)
            self._pods[g] += pods

    def over(self) -> int:
        """By how many pods budgets and limits are exceeded, and how many quotas are."""
        amounts = (*self._left.values(), *self._moves.values())
        return sum(-left for left in amounts if left < 0) + self._quotas.exceeded()

    def admits(self, g: int) -> bool:
        """Whether quotas allow one more pod of a group."""
        queue, back = self._queue[g], self._pods[g] < self._running[g]
        return queue is None or self._quotas.allows(queue, self._demand[g], back=back)

    def keeps_out(self, g: int) -> bool:
        """Whether quotas keep an evicted pod of a group from coming back beside who is there."""
        queue = self._queue[g]
        return queue is not None and not self._quotas.allows_back(queue, self._demand[g])

    def lets_go(self, g: int) -> bool:
        """Whether budgets bear one more eviction of a group's pods."""
        return all(self._left[b] > 0 for b in self._budgets[g])
