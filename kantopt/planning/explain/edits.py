"""Changes to try out, ``remove=JOB``, ``add-nodes=NODE:2`` and others, made to the documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches

from kantopt.errors import UsageError
from kantopt.planning.explain.patch import patched
from kantopt.planning.explain.quoting import cut, masked, unquoted
from kantopt.planning.fresh_nodes import fresh_nodes, with_daemons
from kantopt.planning.question import Question
from kantopt.problem.chosen import as_cordoned
from kantopt.schema.base import Toleration
from kantopt.schema.eligibility import CORDONED
from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.model import Limits, Model
from kantopt.schema.pools import resized
from kantopt.schema.quantity import parse_quantity, resource_called, to_base
from kantopt.schema.snapshot import Node, Queue

FORMS = (
    "add-nodes=NODE:COUNT",
    "drain=NODE",
    "cordon=NODE",
    "uncordon=NODE",
    "remove=JOB",
    "set=JOB[:PODSET]:FIELD=VALUE",
    "priority=JOB:VALUE",
    "quota=QUEUE:RESOURCE=VALUE",
    "limit=evictions|moves:COUNT",
    "@FILE",
)
"""What changes look like; fields of ``set`` are resources, ``count``, ``minCount``, ``required``,
``tolerate``, ``nodeSelector``, ``preemptible`` and ``movable``. Names that hold ``:``, ``=`` or
spaces are quoted as in JSON: ``quota="team:a":cpu=4``."""

Edited = tuple[Question, Model]


def edited(question: Question, model: Model, edits: Sequence[str]) -> Edited:
    """Return the documents with some changes made; a text may hold several, as remedies name them.

    Raises
    ------
    UsageError
        If a change cannot be read or names what is not there.
    """
    for text in _single(edits):
        if text.startswith("@"):
            question = patched(question, text[1:])
            continue
        kind, separator, rest = cut(text, "=")
        change = _CHANGES.get(kind)
        if change is None or not separator or not rest:
            close = get_close_matches(kind, list(_CHANGES), n=1)
            hint = f" (did you mean {close[0]}=?)" if close and close[0] != kind else ""
            raise _wrong(text, f"one of {', '.join(FORMS)}{hint}")
        question, model = change(text, rest, question, model)
    return question, model


def _single(edits: Sequence[str]) -> Iterator[str]:
    """Part a text where another change begins: names may have spaces in them."""
    begins = re.compile(rf"\s+(?=(?:{'|'.join(map(re.escape, _CHANGES))})=)")
    for text in edits:
        if text.startswith("@"):
            yield text
            continue
        text = text.strip()
        start = 0
        for gap in begins.finditer(masked(text)):
            yield text[start : gap.start()]
            start = gap.end()
        yield text[start:]


def _wrong(text: str, expected: str) -> UsageError:
    return UsageError(f"--what-if: found {text}, expected {expected}")


def _index(text: str, name: str, known: Sequence[str], what: str) -> int:
    """Position of a name; a job may be named without its namespace where that is unique."""
    name = unquoted(name)
    exact = [i for i, full in enumerate(known) if full == name]
    found = exact or [i for i, full in enumerate(known) if full.rpartition("/")[2] == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise _wrong(text, f"{what}, one of {', '.join(known[i] for i in found)}")
    close = get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise _wrong(text, f"{what} that the input has{hint}")


def _parts(text: str) -> Iterator[str]:
    """Split at colons that are not quoted."""
    separator = ":"
    while separator:
        part, separator, text = cut(text, ":")
        yield part


def _number(text: str, value: str, *, least: int = 0) -> int:
    try:
        number = int(value)
    except ValueError:
        number = least - 1
    if number < least:
        raise _wrong(text, f"a whole number of at least {least} at its end")
    return number


def _quantity(text: str, value: str) -> str | int:
    try:
        parse_quantity(value)
    except ValueError:
        raise _wrong(text, "a quantity such as 4, 500m or 16Gi at its end") from None
    return int(value) if value.isdecimal() else value


def _pair(text: str, rest: str) -> tuple[str, str]:
    name, separator, value = cut(rest, ":", last=True)
    if not (separator and name and value):
        raise _wrong(text, next(form for form in FORMS if form.startswith(text.split("=")[0])))
    return name, value


# Nodes.


def _nodes(question: Question, nodes: Sequence[Node]) -> Question:
    return replace(question, snapshot=question.snapshot.model_copy(update={"nodes": tuple(nodes)}))


def _node(text: str, name: str, question: Question) -> int:
    return _index(text, name, [node.name for node in question.snapshot.nodes], "a node")


def _add_nodes(text: str, rest: str, question: Question, model: Model) -> Edited:
    name, value = _pair(text, rest)
    like = question.snapshot.nodes[_node(text, name, question)]
    added = fresh_nodes(question.snapshot.nodes, like, _number(text, value, least=1))
    question = _nodes(question, [*question.snapshot.nodes, *added])
    running = with_daemons(question.snapshot.jobs, like, added)
    return _jobs(question, running, question.pending), model


def _cordon(question: Question, n: int, *, on: bool) -> Question:
    nodes = list(question.snapshot.nodes)
    # Kubernetes taints a cordoned node for it, and takes that taint off with the cordon.
    taints = tuple(taint for taint in nodes[n].taints if on or taint.key != CORDONED)
    nodes[n] = nodes[n].model_copy(update={"unschedulable": on, "taints": taints})
    question, shut = _nodes(question, nodes), {nodes[n].name} if on else ()
    running = as_cordoned(question.snapshot.jobs, shut)
    return _jobs(question, running, as_cordoned(question.pending, shut))


def _uncordon(text: str, rest: str, question: Question, model: Model) -> Edited:
    return _cordon(question, _node(text, rest, question), on=False), model


def _close(text: str, rest: str, question: Question, model: Model) -> Edited:
    return _cordon(question, _node(text, rest, question), on=True), model


def _drain(text: str, rest: str, question: Question, model: Model) -> Edited:
    """Cordon a node and take its pods off, but for daemons: they are pending then.

    Who is nominated to it, and tolerates the cordon, is not there to be taken off.
    """
    n = _node(text, rest, question)
    name = question.snapshot.nodes[n].name
    question = _cordon(question, n, on=True)

    def without(podset: PodSet) -> PodSet:
        stays = podset.nominated
        places = tuple(place for place in podset.assignments if stays or place.node != name)
        return podset.model_copy(update={"assignments": places})

    jobs = [
        job
        if job.daemon
        else job.model_copy(update={"pod_sets": tuple(map(without, job.pod_sets))})
        for job in question.snapshot.jobs
    ]
    return _jobs(question, jobs, question.pending), model


# Jobs.


def _jobs(question: Question, running: Sequence[Job], pending: Sequence[Job]) -> Question:
    snapshot = question.snapshot.model_copy(update={"jobs": tuple(running)})
    return replace(question, snapshot=snapshot, pending=tuple(pending))


def _job(text: str, name: str, question: Question) -> int:
    known = [job.full_name for job in question.jobs]
    return _index(text, name, known, "a job")


def _with_job(question: Question, index: int, job: Job | None) -> Question:
    """Return the question with one job changed, or gone."""
    jobs: list[Job | None] = list(question.jobs)
    jobs[index] = job
    running = len(question.snapshot.jobs)
    return _jobs(
        question,
        [job for job in jobs[:running] if job is not None],
        [job for job in jobs[running:] if job is not None],
    )


def _remove(text: str, rest: str, question: Question, model: Model) -> Edited:
    return _with_job(question, _job(text, rest, question), None), model


def _priority(text: str, rest: str, question: Question, model: Model) -> Edited:
    name, value = _pair(text, rest)
    j = _job(text, name, question)
    try:
        priority = int(value)
    except ValueError:
        raise _wrong(text, "a whole number at its end") from None
    job = question.jobs[j].model_copy(
        update={"priority": priority, "preemption_policy": "PreemptLowerPriority"}
    )
    return _with_job(question, j, job), model


def _set(text: str, rest: str, question: Question, model: Model) -> Edited:
    where, separator, value = cut(rest, "=")
    *path, field = _parts(where)
    if not separator or not value or not path or not field or len(path) > 2:
        raise _wrong(text, "set=JOB[:PODSET]:FIELD=VALUE")
    if field == "priority" and len(path) == 1:
        return _priority(text, f"{path[0]}:{value}", question, model)
    field = unquoted(field)
    j = _job(text, path[0], question)
    job = question.jobs[j]
    names = [podset.name for podset in job.pod_sets]
    chosen = [_index(text, path[1], names, "a pod set")] if len(path) == 2 else range(len(names))
    if field in ("preemptible", "movable"):
        if value not in ("true", "false"):
            raise _wrong(text, "true or false at its end")
        job = job.model_copy(update={field: value == "true"})
    elif field == "minCount" and len(path) == 1 and job.min_count is not None:
        job = job.model_copy(update={"min_count": _number(text, value)})
    elif field == "required" and len(path) == 1 and job.topology_request is not None:
        request = _required(text, job.topology_request, value, question)
        job = job.model_copy(update={"topology_request": request})
    else:
        podsets = list(job.pod_sets)
        for i in chosen:
            podsets[i] = _with_field(text, podsets[i], field, value, question)
        job = job.model_copy(update={"pod_sets": tuple(podsets)})
    return _with_job(question, j, job), model


def _with_field(text: str, podset: PodSet, field: str, value: str, question: Question) -> PodSet:
    if field == "count":
        count = _number(text, value, least=1)
        least = podset.min_count
        if podset.running > count:
            raise _wrong(text, "at least as many pods as run")
        changes: dict[str, object] = {"count": count}
        if least is not None and least > count:
            changes["min_count"] = count
        return podset.model_copy(update=changes)
    if field == "minCount":
        return podset.model_copy(update={"min_count": _number(text, value)})
    if field == "required":
        request = podset.topology_request or TopologyRequest()
        request = _required(text, request, value, question)
        return podset.model_copy(update={"topology_request": request})
    if field == "tolerate":
        toleration = Toleration(key=unquoted(value), operator="Exists")
        return podset.model_copy(update={"tolerations": (*podset.tolerations, toleration)})
    if field == "nodeSelector":
        if value != "none":
            raise _wrong(text, "none at its end")
        return podset.model_copy(update={"node_selector": {}, "node_affinity": ()})
    known = _resources(question)
    field = resource_called(field, known)
    if field not in known:
        close = get_close_matches(field, sorted({*known, *_FIELDS}), n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise _wrong(text, f"a resource of the cluster or one of {', '.join(_FIELDS)}{hint}")
    quantity = _quantity(text, value)
    return podset.model_copy(update={"requests": {**podset.requests, field: quantity}})


_FIELDS = (
    *("count", "minCount", "required", "tolerate", "nodeSelector"),
    *("preemptible", "movable", "priority"),
)
"""Fields of ``set`` that are no resources."""


def _resources(question: Question) -> frozenset[str]:
    """Resources that nodes offer or pods ask for."""
    return frozenset(
        (
            *(name for node in question.snapshot.nodes for name in node.allocatable),
            *(name for job in question.jobs for p in job.pod_sets for name in p.requests),
        )
    )


def _required(
    text: str, request: TopologyRequest, value: str, question: Question
) -> TopologyRequest:
    levels = [level.name for level in question.snapshot.topology.levels]
    labels = [level.node_label for level in question.snapshot.topology.levels]
    value = unquoted(value) if unquoted(value) in (*levels, *labels) else value
    if value != "none" and value not in (*levels, *labels):
        raise _wrong(text, f"none or one of {', '.join(levels) or 'the levels; there are none'}")
    return request.model_copy(update={"required": None if value == "none" else value})


# Queues and limits.


def _quota(text: str, rest: str, question: Question, model: Model) -> Edited:
    where, separator, value = cut(rest, "=")
    name, colon, resource = cut(where, ":")
    if not (separator and colon and value):
        raise _wrong(text, "quota=QUEUE:RESOURCE=VALUE")
    queues: list[Queue] = list(question.snapshot.queues)
    q = _index(text, name, [queue.name for queue in queues], "a queue")
    rows = list(queues[q].resources)
    names = [row.full_name for row in rows]
    r = _index(text, resource_called(resource, names), names, "a resource of the queue")
    amount = to_base(rows[r].name, _quantity(text, value), up=False)
    rows[r] = resized(queues, queues[q], rows[r], amount)
    queues[q] = queues[q].model_copy(update={"resources": tuple(rows)})
    snapshot = question.snapshot.model_copy(update={"queues": tuple(queues)})
    return replace(question, snapshot=snapshot), model


def _limit(text: str, rest: str, question: Question, model: Model) -> Edited:
    kind, value = _pair(text, rest)
    if kind not in Limits.model_fields:
        raise _wrong(text, "limit=evictions:COUNT or limit=moves:COUNT")
    limits = model.limits.model_copy(update={kind: _number(text, value)})
    return question, model.model_copy(update={"limits": limits})


_CHANGES: dict[str, Callable[[str, str, Question, Model], Edited]] = {
    "add-nodes": _add_nodes,
    "drain": _drain,
    "cordon": _close,
    "uncordon": _uncordon,
    "remove": _remove,
    "set": _set,
    "priority": _priority,
    "quota": _quota,
    "limit": _limit,
}
