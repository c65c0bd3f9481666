"""Who comes first: jobs that wait, by priority and by whether they may evict somebody."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.schema.model import Rule


class Precedence:
    """Who of the jobs that wait comes before whom; nobody evicts where priorities only count."""

    def __init__(self, instance: Instance) -> None:
        limits, pinned = instance.model.limits, instance.on(Rule.PINNED)
        self.victims = {
            instance.job_of(podset.index).priority
            for podset in instance.podsets
            if podset.running and (podset.preemptible or not pinned) and limits.evictions != 0
        }
        pending = {podset.job for podset in instance.podsets if not podset.running}
        self.jobs = [instance.jobs[j] for j in sorted(pending)] if instance.strict else []
        """Jobs that wait."""
        self.waiting = {job.priority for job in self.jobs}
        lowest = min(self.victims, default=None)
        self._preempting = {
            job.priority
            for job in self.jobs
            if job.may_preempt and lowest is not None and lowest < job.priority
        }
        # One that may evict nobody, but is more important than all that may, keeps its place.
        self._least = min(self._preempting, default=0)
        self.harmless = {p for p in self.waiting if self._preempting and p < self._least}
        """Priorities of which nobody may evict, less than all of which somebody may."""
        self.divided = {job.priority for job in self.jobs if not job.may_preempt}
        """Priorities of which some that wait may evict somebody, and some may not."""
        self.divided &= self._preempting

    def place_in_queue(self, job: Job) -> tuple[int, bool, int]:
        """Return what jobs that wait are sorted by: the least first.

        The most important come first; but those that may evict nobody, of a priority of which
        others may, come after all that may.
        """
        late = job.priority in self.divided and not job.may_preempt
        return -(self._least if late else job.priority), late, -job.priority

    def settled_before(self, priority: int) -> list[int]:
        """Victims' priorities that only more important jobs may evict than one that evicts nobody.

        It keeps its place before lesser ones that may evict, but whom jobs before it evict is not
        for it to say: they would drive somebody out to leave free room to it. None that waits and
        comes after it may evict these, so nothing is taken from those.
        """
        if priority not in self.waiting or priority in self._preempting:
            return []
        lesser = max((p for p in self._preempting if p < priority), default=None)
        if lesser is None or max(self._preempting) < priority:
            return []
        return sorted((p for p in self.victims if lesser <= p < priority), reverse=True)

    def disturbs(self, priority: int) -> bool:
        """Whether pods of a priority may be evicted for somebody who waits."""
        return priority in self.victims and any(p > priority for p in self._preempting)
