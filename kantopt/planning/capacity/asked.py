"""Which job is to be copied: one of the input by its name, or one given in short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kantopt.errors import UsageError
from kantopt.formats.imported import Unnamed
from kantopt.planning.question import Question
from kantopt.planning.wanted import find_job
from kantopt.problem.chosen import as_pending
from kantopt.problem.not_modelled import why_not_placed
from kantopt.schema.eligibility import admitted_with
from kantopt.schema.features import Feature
from kantopt.schema.hints import one_of, perhaps
from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.model import Model
from kantopt.schema.quantity import from_base, gpu_milli, resource_called, to_base


@dataclass(frozen=True, slots=True)
class Short:
    """A job in short: pods alike that start together.

    Attributes
    ----------
    pods
        Pods of the gang.
    gpus
        GPUs of each pod, by whatever name the nodes offer them.
    requests
        What else each pod asks for, by resource.
    required
        Level of which the pods share a domain.
    queue
        Queue whose quota they use.
    """

    pods: int = 1
    gpus: int | None = None
    requests: Mapping[str, str] = field(default_factory=dict)
    required: str | None = None
    queue: str = ""


def job_in_short(question: Question, short: Short) -> Job:
    """Write out a job that is given in short.

    Raises
    ------
    UsageError
        If the cluster has no such resource, level or queue.
    """
    offered = sorted({name for node in question.snapshot.nodes for name in node.allocatable})
    requests: dict[str, str | int] = {
        resource_called(name, offered): amount for name, amount in short.requests.items()
    }
    if short.gpus is not None:
        gpus = [name for name in offered if gpu_milli(name, 1000)]
        if len(gpus) != 1:
            found = f"nodes that offer {one_of(gpus)}" if gpus else "no node that offers GPUs"
            raise UsageError(
                f"--gpus: found {found}, expected one kind of GPU; name it: --request NAME=AMOUNT"
            )
        requests[gpus[0]] = str(short.gpus)
    if question.unnamed is not None:
        requests = _completed(requests, question.unnamed)
    topology = question.snapshot.topology
    levels = [level.name for level in topology.levels]
    labels = [level.node_label for level in topology.levels]
    _check("--required", short.required, [*levels, *labels], "a topology level")
    queues = [queue.name for queue in question.snapshot.queues]
    _check("--queue", short.queue, queues, "a queue")
    request = None if short.required is None else TopologyRequest(required=short.required)
    podset = PodSet(
        count=short.pods,
        requests=requests,
        topology_request=request,
        tolerations=admitted_with(requests),
    )
    return Job(name="asked", queue_name=short.queue, pod_sets=(podset,))


def _completed(requests: Mapping[str, str | int], unnamed: Unnamed) -> dict[str, str | int]:
    """Return what a pod asks for with what it gets all the same."""
    amounts = {name: to_base(name, amount) for name, amount in requests.items()}
    gpus = sum(n for name, n in amounts.items() if gpu_milli(name, 1000))
    cpus = -(-amounts.get("cpu", 1000 * unnamed.cpus_for(gpus)) // 1000)
    found: dict[str, str | int] = {"cpu": cpus, **requests}
    if memory := unnamed.memory_for(gpus, cpus):
        found = {"memory": from_base("memory", memory), **found}
    return found


def _check(option: str, given: str | None, known: list[str], what: str) -> None:
    if given and given not in known:
        expected = one_of(list(dict.fromkeys(known))) if known else f"{what}; the input has none"
        raise UsageError(f"{option}: found {given}, expected {expected}{perhaps(given, known)}")


def job_of(question: Question, name: str | None, model: Model) -> Job:
    """Return the job of the input to copy: by name, or the only one that waits.

    Raises
    ------
    UsageError
        If there is no such job, or several, or none is named; or its pods ask for what is not
        modelled.
    """
    if name is None:
        pending = [job for job in question.jobs if job.waiting]
        if len(pending) != 1:
            found = f"{len(pending)} pending jobs" if pending else "no pending job"
            raise UsageError(
                f"capacity: found {found} and none named, expected NAMESPACE/NAME behind the "
                "files, or a job in short: --gpus, --cpu, --memory, --request"
            )
        (job,) = pending
    else:
        full = find_job(question, name, "capacity")
        job = next(job for job in question.jobs if job.full_name == full)
    assumed: tuple[Feature, ...] = (*model.assume, *question.assume)
    if words := why_not_placed(as_pending(job), assumed):
        raise UsageError(f"capacity: {job.full_name} cannot be planned: {words}")
    return job
