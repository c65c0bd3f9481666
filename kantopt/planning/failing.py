"""Who is not made anew once its pods go: bare pods, jobs that end with one or with too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.jobs import Job, PodRef
from kantopt.verify.ending import ended
from kantopt.verify.step import Step


def bears_of(question: Question, instance: Instance) -> dict[str, int]:
    """Return how many pods of jobs may go before nobody makes them anew, by the jobs' names.

    Of others there is no such number: theirs are always made anew, or nothing is known.
    """
    of_kubernetes = question.read_as is not None and question.read_as.source == "kubernetes"
    found = {}
    for job, document in zip(instance.jobs, question.documents(instance), strict=True):
        pods = [pod for podset in document.pod_sets for pod in podset.placed_refs]
        if of_kubernetes and pods and not any(pod.owner_kind for pod in pods):
            found[job.name] = 0
        elif document.max_moves is not None and _ends(pods):
            found[job.name] = document.max_moves
    return found


def failing_jobs(question: Question, instance: Instance, final: Placement) -> Iterator[str]:
    """Say which jobs end for good: each pod that is evicted or moved counts as failed (R14).

    What they bear keeps moves from them, not evictions, which a scheduler does not ask about.
    """
    bears, step = bears_of(question, instance), Step(instance, instance.current, final)
    for job, document in zip(instance.jobs, question.documents(instance), strict=True):
        most = bears.get(job.name)
        gone = 0 if most is None else ended(step, job)
        if most is None or gone <= most:
            continue
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
