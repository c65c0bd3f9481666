"""What a plan can change at all: pods that could leave, pods that could arrive somewhere."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.schema.model import Rule


class Freedom:
    """Which pods could be evicted, and which could arrive on a node.

    Says yes where it does not know. The rules that are looked at hold for a pod set on its own,
    so they keep its pods where they are in any part of the question as well.

    Attributes
    ----------
    arrives
        Whether pods of a pod set could arrive somewhere, bound or moved; by pod set.
    evictable
        Whether pods of a pod set could be evicted; by pod set.
    changes
        Whether anything could change about a job; by job.
    preempts
        Whether pods could be evicted for a job; by job.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._pinned = instance.on(Rule.PINNED)
        self._budgeted = instance.on(Rule.DISRUPTION)
        self._eligible = instance.on(Rule.ELIGIBILITY)
        limits, podsets = instance.model.limits, instance.podsets
        self._moves, self._evictions = limits.moves != 0, limits.evictions != 0
        self.arrives = [self._arrives(podset) for podset in podsets]
        self.preempts = [False] * len(instance.jobs)
        for podset in podsets:
            if self.arrives[podset.index] and not podset.running:
                self.preempts[podset.job] = instance.jobs[podset.job].may_preempt
        self._highest = max(
            (job.priority for job in instance.jobs if self.preempts[job.index]), default=None
        )
        self.evictable = [self._evictable(podset) for podset in podsets]
        self.changes = [False] * len(instance.jobs)
        for podset in podsets:
            if self.arrives[podset.index] or self.evictable[podset.index]:
                self.changes[podset.job] = True

    def _arrives(self, podset: PodSet) -> bool:
        if self._eligible and not podset.allowed:
            return False
        if not podset.running:
            return True
        restarts = self._instance.jobs[podset.job].move_mode == "restart"
        return (
            self._moves
            and (podset.movable or not self._pinned)
            and not (restarts and self._barred(podset))
        )

    def _evictable(self, podset: PodSet) -> bool:
        if not (podset.running and self._evictions and (podset.preemptible or not self._pinned)):
            return False
        if self._instance.strict:
            priority = self._instance.jobs[podset.job].priority
            if self._highest is None or priority >= self._highest:
                return False
        return not self._barred(podset)

    def _barred(self, podset: PodSet) -> bool:
        """Whether budgets forbid every disruption."""
        if not self._budgeted or not podset.budgets:
            return False
        budgets = self._instance.budgets
        return len(podset.budgets) > 1 or not budgets[podset.budgets[0]].allowed
