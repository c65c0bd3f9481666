"""Jobs of which evicted pods are gone for good, since nobody makes them anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kantopt.problem.job import Job
from kantopt.verify.step import Step
from kantopt.verify.victims.preemptors import preemptors_of


@dataclass(frozen=True, slots=True)
class Bears:
    """What jobs bear before nobody makes their pods anew, by the jobs' names.

    Of a job that is not among ``pods`` they are always made anew, or nothing is known. Kueue makes
    room for the jobs that wait for it by stopping whole jobs, which counts as no failure.
    """

    pods: Mapping[str, int] = field(default_factory=dict)
    """How many pods may end."""
    stoppable: frozenset[str] = frozenset()
    """Jobs that Kueue can stop."""
    stoppers: frozenset[str] = frozenset()
    """Jobs for which it would."""

    def stops(self, step: Step, job: Job) -> bool:
        """Whether a step takes all pods of a job for such as Kueue stops others for."""
        if job.name not in self.stoppable or not self.stoppers:
            return False
        gone = evicted(step, job)
        if not gone or gone < step.instance.running_pods(job.index):
            return False
        heirs = preemptors_of(step).all_of(job)
        return all(heir is not None and heir.name in self.stoppers for heir in heirs)

    def ends(self, step: Step, job: Job) -> bool:
        """Whether a step takes more pods of a job than it bears."""
        if job.name not in self.pods or ended(step, job) <= self.pods[job.name]:
            return False
        return not self.stops(step, job)

    def after(self, step: Step) -> Bears:
        """Return what is left to bear after a step; who was stopped waits for Kueue again."""
        left, stopped = dict(self.pods), set[str]()
        for job in step.changed_jobs:
            if self.stops(step, job):
                stopped.add(job.name)
            elif job.name in left:
                left[job.name] -= ended(step, job)
        return Bears(left, self.stoppable, self.stoppers | stopped)


def evicted(step: Step, job: Job) -> int:
    """Count the running pods of a job that a step evicts."""
    return sum(map(step.evicted, step.instance.running_of(job.index)))


def ended(step: Step, job: Job) -> int:
    """Count the running pods of a job that end where they are: evicted, or moved by a restart.

    Who is only nominated has not started: it goes on waiting.
    """
    podsets = step.instance.podsets
    started = [s for s in step.instance.running_of(job.index) if not podsets[s].nominated]
    return sum(step.evicted(s) + step.restarts(s) for s in started)


def for_good(step: Step, bears: Bears) -> frozenset[int]:
    """Return the jobs that lose pods in a step which nobody makes anew.

    Parameters
    ----------
    step
        From where pods are to where they are in the end.
    bears
        What the jobs bear.
    """
    jobs = step.instance.jobs
    return frozenset(job.index for job in jobs if evicted(step, job) and bears.ends(step, job))
