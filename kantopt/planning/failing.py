"""Who is not made anew once its pods go: bare pods, jobs that end with one or with too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.by_kueue import by_kueue, waits_for_kueue
from kantopt.schema.jobs import Job, PodRef
from kantopt.verify.step import Step
from kantopt.verify.victims.ending import Bears, ended


def bears_of(question: Question, instance: Instance) -> Bears:
    """Return how many pods of jobs may go before nobody makes them anew, and whom Kueue stops."""
    if not any(podset.running for podset in instance.podsets):
        return Bears()  # a hundred thousand jobs may wait for an empty cluster
    of_kubernetes = question.read_as is not None and question.read_as.source == "kubernetes"
    # Of others Kueue stops nobody: kube-scheduler evicts pods for them.
    told = {item.job for item in question.snapshot.victims}
    bears, stoppable, stoppers = dict[str, int](), set[str](), set[str]()
    for job, document in zip(instance.jobs, question.documents(instance), strict=True):
        pods = [pod for podset in document.pod_sets for pod in podset.placed_refs]
        owned = any(pod.owner_kind for pod in pods)
        if of_kubernetes and pods and not owned:
            bears[job.name] = 0
        elif document.max_moves is not None and _ends(pods):
            bears[job.name] = document.max_moves
        if waits_for_kueue(document) and job.name in told:
            stoppers.add(job.name)
        elif owned and by_kueue(document):
            stoppable.add(job.name)
    return Bears(bears, frozenset(stoppable), frozenset(stoppers))


def failing_jobs(question: Question, instance: Instance, final: Placement) -> Iterator[str]:
    """Say which jobs end for good: each pod that is evicted or moved counts as failed (R14).

    What they bear keeps moves from them, not evictions, which a scheduler does not ask about.
    """
    bears, step = bears_of(question, instance), Step(instance, instance.current, final)
    for job, document in zip(instance.jobs, question.documents(instance), strict=True):
        if not bears.ends(step, job):
            continue
        most, gone = bears.pods[job.name], ended(step, job)
        kinds = _kinds(document)
        text = f"job {job.name}: {gone} of its pods {'goes' if gone == 1 else 'go'}"
        if not kinds:
            yield f"{text}, and nobody makes pods without a controller anew"
            continue
        what = "Job" if kinds == {"Job"} else "job"
        bearing = f"backoffLimit bears {most}" if most else f"{what} bears none"
        rest = instance.running_pods(job.index) - gone
        pods = "1 other pod ends" if rest == 1 else f"{rest} other pods end"
        ends = f"the {what} {'fails' if what == 'Job' else 'ends'}"
        yield f"{text}, and its {bearing}: {ends}" + (f", and its {pods} with it" if rest else "")


def _ends(pods: Sequence[PodRef]) -> bool:
    """Whether the controller of pods ends, rather than keep so many of them at all times."""
    return any(pod.owner_kind for pod in pods) and not any(pod.serves for pod in pods)


def _kinds(document: Job) -> set[str]:
    """Kinds of the controllers that own the running pods of a job."""
    pods = (pod for podset in document.pod_sets for pod in podset.placed_refs)
    return {pod.owner_kind for pod in pods} - {""}
