"""What the types of a document cannot say: contradictions within it and between documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.errors import Problem
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.plan import Plan
from kantopt.schema.base import Part
from kantopt.schema.duration import duration_seconds
from kantopt.schema.hints import did_you_mean, one_of, quote
from kantopt.schema.job_consistency import (
    check_amount,
    check_amounts,
    check_expressions,
    check_jobs,
    listed_at,
    repeats,
)
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model, PriorityObjective
from kantopt.schema.objectives import BalanceObjective, FragmentObjective
from kantopt.schema.quantity import is_price, parse_quantity
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import NODE_NAME, ClusterSnapshot, Node, PodDisruptionBudget, Queue
from kantopt.schema.trace import Trace, TraceJob
from kantopt.schema.windows import check_schedule

MOST_WEIGHT = 10**9
"""Of a queue, in thousandths."""


def check_documents(pairs: Sequence[tuple[RawDocument, Part]]) -> list[Problem]:
    """Check each document, and pending jobs against the snapshot if there is exactly one."""
    snapshots = [part for _, part in pairs if isinstance(part, ClusterSnapshot)]
    snapshot = snapshots[0] if len(snapshots) == 1 else None
    problems: list[Problem] = []
    for raw, part in pairs:
        if isinstance(part, ClusterSnapshot):
            problems += check_snapshot(part, raw.label)
        elif isinstance(part, JobList):
            problems += check_jobs(part.jobs, snapshot, raw.label)
        elif isinstance(part, Model):
            problems += check_model(part, raw.label)
        elif isinstance(part, Plan):
            problems += check_plan(part, raw.label)
        elif isinstance(part, Certificate):
            problems += check_certificate(part, raw.label)
        elif isinstance(part, Trace):
            problems += check_trace(part, snapshot, raw.label)
    return problems


def check_trace(doc: Trace, snapshot: ClusterSnapshot | None, file: str) -> list[Problem]:
    """Find what is contradictory in a trace, and what it names that a snapshot does not have."""
    problems = check_jobs(doc.jobs, snapshot, file)
    for i, job in enumerate(doc.jobs):
        for k, podset in enumerate(job.pod_sets):
            if podset.assignments:
                path = f"jobs[{i}].podSets[{k}].assignments"
                expected = "none: jobs that run at the start are the snapshot's"
                problems.append(Problem(file, path, "pods that run", expected))
        if not duration_seconds(job.duration):
            problems.append(Problem(file, f"jobs[{i}].duration", "0s", "some time"))
        problems += _check_scale(job, file, f"jobs[{i}]")
    if snapshot is not None:
        names = {node.name: None for node in snapshot.nodes}
        running = {job.full_name: None for job in snapshot.jobs}
        running |= {job.name: None for job in snapshot.jobs}
        for path, name, known, what in (
            *((f"outages[{i}].node", o.node, names, "node") for i, o in enumerate(doc.outages)),
            *((f"endings[{i}].job", e.job, running, "job") for i, e in enumerate(doc.endings)),
        ):
            if name not in known:
                found = f"the unknown {what} {quote(name)}"
                expected = f"a {what} of the snapshot"
                problems.append(Problem(file, path, found, expected, did_you_mean(name, known)))
    return problems


def _check_scale(job: TraceJob, file: str, path: str) -> Iterator[Problem]:
    if job.scale and job.replicas is None:
        yield Problem(file, f"{path}.replicas", "nothing", "a number, since scale changes it")
    before = "0s"
    for i, step in enumerate(job.scale):
        if duration_seconds(step.after) <= duration_seconds(before):
            yield Problem(file, f"{path}.scale[{i}].after", step.after, f"more than {before}")
        before = step.after


def check_snapshot(doc: ClusterSnapshot, file: str) -> list[Problem]:
    """Find what is contradictory in a snapshot, its running jobs included."""
    problems: list[Problem] = []
    levels, classes = doc.topology.levels, doc.priority_classes
    budgets = doc.pod_disruption_budgets
    for subject, name, path, names in (
        ("node", ".name", "nodes", [node.name for node in doc.nodes]),
        ("topology level", ".name", "topology.levels", [level.name for level in levels]),
        ("node label", ".nodeLabel", "topology.levels", [level.node_label for level in levels]),
        ("priority class", ".name", "priorityClasses", [item.name for item in classes]),
        ("queue", ".name", "queues", [queue.name for queue in doc.queues]),
        ("job", ".job", "victims", [item.job for item in doc.victims]),
        ("budget", ".name", "podDisruptionBudgets", [item.full_name for item in budgets]),
    ):
        problems += repeats(listed_at(names, path, name), file, subject)
    for i, level in enumerate(levels[:-1]):
        if level.node_label == NODE_NAME:
            path = f"topology.levels[{i}].nodeLabel"
            problems.append(Problem(file, path, f"{NODE_NAME} above another level", "it last"))
    defaults = [i for i, item in enumerate(classes) if item.global_default]
    for i in defaults[1:]:
        path = f"priorityClasses[{i}].globalDefault"
        first = quote(classes[defaults[0]].name)
        problems.append(Problem(file, path, "a second default", f"one, as {first} is"))
    for i, node in enumerate(doc.nodes):
        problems += _check_node(node, file, f"nodes[{i}]")
    for i, queue in enumerate(doc.queues):
        problems += _check_queue(queue, file, f"queues[{i}]")
    for i, budget in enumerate(budgets):
        problems += _check_budget(budget, file, f"podDisruptionBudgets[{i}]")
    return problems + check_jobs(doc.jobs, doc, file)


def _check_node(node: Node, file: str, path: str) -> Iterator[Problem]:
    yield from check_amounts(node.allocatable, file, f"{path}.allocatable", up=False)
    for i, devices in enumerate(node.devices):
        place = f"{path}.devices[{i}].capacity"
        yield from check_amounts(devices.capacity, file, place, up=False)
    if not is_price(node.price):
        found = quote(node.price) if isinstance(node.price, str) else str(node.price)
        yield Problem(
            file, f"{path}.price", found, "a price, to the millionth, below 2^62 of these"
        )


def _check_queue(queue: Queue, file: str, path: str) -> Iterator[Problem]:
    weight = 1000 * parse_quantity(queue.weight)
    if weight.denominator != 1 or weight > MOST_WEIGHT:
        found = quote(queue.weight) if isinstance(queue.weight, str) else str(queue.weight)
        expected = "a weight up to 1000000, to a thousandth"
        yield Problem(file, f"{path}.weight", found, expected)
    names = (resource.full_name for resource in queue.resources)
    yield from repeats(listed_at(names, f"{path}.resources", ".name"), file, "resource")
    for i, resource in enumerate(queue.resources):
        place = f"{path}.resources[{i}]"
        for name, amount in (
            ("nominalQuota", resource.nominal_quota),
            ("borrowingLimit", resource.borrowing_limit),
            ("lendingLimit", resource.lending_limit),
            ("held", resource.held),
        ):
            if amount is not None:
                yield from check_amount(resource.name, amount, file, f"{place}.{name}", up=False)


def _check_budget(budget: PodDisruptionBudget, file: str, path: str) -> Iterator[Problem]:
    limits = {
        "disruptionsAllowed": budget.disruptions_allowed,
        "minAvailable": budget.min_available,
        "maxUnavailable": budget.max_unavailable,
    }
    given = [name for name, value in limits.items() if value is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "no limit"
        yield Problem(file, path, found, f"exactly one of {', '.join(limits)}")
    for name in ("minAvailable", "maxUnavailable"):
        value = limits[name]
        if isinstance(value, str) and int(value.removesuffix("%")) > 100:
            yield Problem(file, f"{path}.{name}", quote(value), "at most 100%")
    yield from check_expressions(budget.selector.match_expressions, file, f"{path}.selector")


def check_model(doc: Model, file: str, prefix: str = "") -> list[Problem]:
    """Find what is contradictory in a model as it is written, without what it extends."""
    problems: list[Problem] = []
    for i, objective in enumerate(doc.objectives or ()):
        path = f"{prefix}objectives[{i}]"
        problems += _check_objective(objective, file, path)
    problems += check_schedule(doc.schedule, file, f"{prefix}schedule")
    return problems + list(repeats(listed_at(doc.required, f"{prefix}required"), file, "job"))


def _check_objective(objective: PriorityObjective, file: str, path: str) -> Iterator[Problem]:
    value = getattr(objective, objective.name)
    if value is None:
        name = objective.name
        yield Problem(file, f"{path}.{name}", "nothing (null)", f"{{}}, or just {name}")
    elif isinstance(value, FragmentObjective):
        place = f"{path}.{objective.name}.size"
        yield from check_amount(value.resource, value.size, file, place)
        if not parse_quantity(value.size):
            yield Problem(file, place, str(value.size), "more than nothing")
    elif isinstance(value, BalanceObjective):
        tenths = 10 * parse_quantity(value.target)
        place = f"{path}.{objective.name}"
        if tenths.denominator != 1 or tenths > 1000:
            expected = "a percentage up to 100, to a tenth"
            yield Problem(file, f"{place}.target", str(value.target), expected)
        named = listed_at(value.resources or (), f"{place}.resources")
        yield from repeats(named, file, "resource")
    elif isinstance(value, tuple):
        for i, inner in enumerate(value):
            yield from _check_objective(inner, file, f"{path}.{objective.name}[{i}]")
    else:
        for i, shape in enumerate(getattr(value, "mix", ())):
            place = f"{path}.{objective.name}.mix[{i}]"
            yield from check_amounts(shape.requests, file, f"{place}.requests")
            classes = (request.device_class for request in shape.devices)
            named = listed_at(classes, f"{place}.devices", ".class")
            yield from repeats(named, file, "device class")


def check_plan(doc: Plan, file: str) -> list[Problem]:
    """Find what is contradictory in a plan: its waves, its actions, what it embeds."""
    problems: list[Problem] = []
    actions = [
        *((item.id, f"assignments[{i}].id") for i, item in enumerate(doc.assignments)),
        *((item.id, f"evictions[{i}].id") for i, item in enumerate(doc.evictions)),
        *((item.id, f"moves[{i}].id") for i, item in enumerate(doc.moves)),
    ]
    problems += repeats(actions, file, "action")
    problems += _check_waves(doc, {identity for identity, _ in actions}, file)
    used = {identity for wave in doc.waves for identity in wave.actions}
    for identity, path in actions:
        if identity not in used:
            found = f"the action {quote(identity)} in no wave"
            problems.append(Problem(file, path, found, "every action in one wave"))
    objectives = {tier.name for tier in doc.objectives}
    for i, goal in enumerate(doc.goals):
        if goal.objective not in objectives:
            found = f"no objective {quote(goal.objective)}"
            problems.append(Problem(file, f"goals[{i}].objective", found, "one of the objectives"))
    problems += _check_embedded(doc.model, file)
    return problems + check_jobs(doc.jobs, None, file)


def check_certificate(doc: Certificate, file: str) -> list[Problem]:
    """Find what is contradictory in the documents that a certificate embeds."""
    problems = _check_embedded(doc.model, file) + check_plan(doc.plan, f"{file}: plan")
    if doc.counter_example is not None:
        problems += check_plan(doc.counter_example.plan, f"{file}: counterExample.plan")
    return problems


def _check_embedded(doc: Model, file: str) -> list[Problem]:
    """Check a model inside another document: it is whole, for such a document opens no file."""
    problems = check_model(doc, file, "model.")
    if doc.extends is not None:
        expected = "a whole model, as every plan and certificate has it"
        problems.append(Problem(file, "model.extends", quote(doc.extends), expected))
    return problems


def _check_waves(doc: Plan, ids: set[str], file: str) -> Iterator[Problem]:
    earlier: list[int] = []
    used: dict[str, int] = {}
    for i, wave in enumerate(doc.waves):
        path = f"waves[{i}]"
        if wave.id in earlier:
            yield Problem(file, f"{path}.id", f"the wave {wave.id} again", "each wave once")
        for k, before in enumerate(wave.after):
            if before not in earlier:
                waves = one_of([str(number) for number in earlier]) or "none: it is the first"
                found = f"wave {before}"
                yield Problem(file, f"{path}.after[{k}]", found, f"an earlier wave, {waves}")
        for k, identity in enumerate(wave.actions):
            place = f"{path}.actions[{k}]"
            if identity not in ids:
                found = f"the unknown action {quote(identity)}"
                yield Problem(file, place, found, "the id of an action of the plan")
            elif identity in used:
                found = f"the action {quote(identity)} again"
                yield Problem(file, place, found, f"it once, as in wave {used[identity]}")
            used.setdefault(identity, wave.id)
        earlier.append(wave.id)
