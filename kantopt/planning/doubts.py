"""What documents say that is allowed and hardly meant: told, for silence would be consent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from kantopt.problem.affinities import PodLabels, Selections
from kantopt.problem.build import labels_of
from kantopt.schema.hints import (
    UNOFFERED,
    did_you_mean,
    listed,
    meant_or_some,
    miswritten,
    nearest,
    perhaps,
    unoffered,
)
from kantopt.schema.jobs import Job, JobList, NodeSelectorTerm, PodSet
from kantopt.schema.quantity import is_bytes, parse_quantity
from kantopt.schema.snapshot import ClusterSnapshot

LEAST_BYTES = 2**20
"""Less memory than this nobody means: a unit is missing."""

_UNKNOWN = "is not among those of the snapshot"
_NONE = "is unknown, for the snapshot lists none"
_What = TypeVar("_What", bound=Hashable)
_Found = dict[str, list[str]]
"""By what is doubtful, the jobs that say it."""


def doubts(
    snapshot: ClusterSnapshot, lists: Sequence[JobList], imported: Sequence[Job] | None = None
) -> Iterator[str]:
    """Name what is unknown, in the wrong place, without a unit or without effect; a line for each.

    Parameters
    ----------
    snapshot
        The cluster.
    lists
        Documents of pending jobs.
    imported
        Pending jobs that were imported with the snapshot. An import tells by itself what its own
        objects name that is not there.
    """
    named = [job for listed in lists for job in listed.jobs]
    every = [*snapshot.jobs, *(imported or ()), *named]
    if imported is None:
        if not snapshot.nodes:
            yield "the snapshot has no nodes"
        yield from _names(snapshot, [*snapshot.jobs, *named])
        yield from _in_no_domain(snapshot)
        yield from _resources_of_few_nodes(snapshot, every)
    else:
        yield from _names(snapshot, named)
    yield from _labels_of_no_node(snapshot, every)
    yield from _quotas_of_no_node(snapshot)
    running = [job for job in named if job.running]
    if running:
        names = [job.full_name for job in running]
        yield (
            f"assignments of {listed(names, 1)} stand in a JobList, which is for pending jobs: "
            "their pods count as running"
        )
    yield from _without_pods(snapshot, every)
    yield from _without_unit(snapshot, every)


def concerning(notes: Iterable[str], job: Job) -> tuple[str, ...]:
    """Leave out what notes say no node offers and a job does not ask for: they are about others."""
    asked = {f" {name}{UNOFFERED}" for podset in job.pod_sets for name, _ in _amounts(podset)}
    asked |= {f" {_label(*pair)}{UNOFFERED}" for podset in job.pod_sets for pair in _labels(podset)}
    return tuple(
        note for note in notes if UNOFFERED not in note or any(name in note for name in asked)
    )


def _names(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Iterator[str]:
    """Name queues, classes and resources that jobs ask for and that are not there."""
    queues = {queue.name for queue in snapshot.queues}
    for queue, who in _by((job.queue_name, job) for job in jobs if job.queue_name).items():
        if queue not in queues:
            none = _UNKNOWN if queues else _NONE
            yield f"queue {queue} of {listed(who, 1)} {none}: it has no quota"
    classes = {each.name for each in snapshot.priority_classes}
    asked = [(job.priority_class_name, job) for job in jobs if job.priority is None]
    for name, who in _by((name, job) for name, job in asked if name).items():
        if name not in classes:
            none = _UNKNOWN if classes else _NONE
            yield f"priority class {name} of {listed(who, 1)} {none}: it counts as none"
    yield from _resources_of_no_node(snapshot, jobs)


def _offered(snapshot: ClusterSnapshot) -> set[str]:
    """Resources that nodes or their devices have, and pods, which all of them take."""
    offered = {name for node in snapshot.nodes for name in node.allocatable}
    devices = (device for node in snapshot.nodes for device in node.devices)
    return {"pods"} | offered | {name for device in devices for name in device.capacity}


def _resources_of_no_node(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Iterator[str]:
    if not snapshot.nodes:
        return
    offered = _offered(snapshot)
    asked = (
        (name, job)
        for job in jobs
        for podset in job.pod_sets
        for name, value in _amounts(podset)
        if name not in offered and parse_quantity(value)
    )
    for name, who in _by(asked).items():
        asks = "asks" if len(who) == 1 else "ask"
        yield f"{listed(who, 1)} {asks} for {unoffered(name, offered)}"


def _resources_of_few_nodes(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Iterator[str]:
    """Name resources that few nodes have, nobody asks for, and that are written nearly like others.

    Where a node has both, they are different things.
    """
    have: dict[str, set[str]] = {}
    for node in snapshot.nodes:
        for name in node.allocatable:
            have.setdefault(name, set()).add(node.name)
    asked = {name for job in jobs for podset in job.pod_sets for name, _ in _amounts(podset)}
    for name, few in have.items():
        others = (other for other in have if miswritten(name, other))
        meant = next((o for o in others if len(have[o]) > len(few) and not have[o] & few), None)
        if meant is not None and name not in asked:
            has = "has" if len(few) == 1 else "have"
            who = listed(sorted(few), 1)
            yield f"node {who} {has} {name}, which nobody asks for (did you mean {meant}?)"


def _labels_of_no_node(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Iterator[str]:
    """Name labels without which pods that wait go to no node, and that none has."""
    values: dict[str, set[str]] = {}
    for node in snapshot.nodes:
        for key, value in labels_of(node).items():
            values.setdefault(key, set()).add(value)
    waiting = (
        (pair, job)
        for job in jobs
        for podset in job.pod_sets
        if snapshot.nodes and podset.waiting
        for pair in _labels(podset)
    )
    missing = ((pair, job) for pair, job in waiting if pair[1] not in values.get(pair[0], ()))
    for (key, value), who in _by(missing).items():
        known = sorted(values.get(key, ()))
        hint = meant_or_some(value, known if len(known) <= _LOOKED_AT else (), "nodes have")
        if not known:
            hint = did_you_mean(key, _near_keys(key, values))
        asks = "asks" if len(who) == 1 else "ask"
        label = _label(key, value)
        yield f"{listed(who, 1)} {asks} for {label}{UNOFFERED}{f' ({hint})' if hint else ''}"


_LOOKED_AT = 200
"""Labels among which one is looked for that was meant: among more, such as names of nodes, that
takes long."""


def _near_keys(key: str, keys: Iterable[str]) -> list[str]:
    """Keys with the same prefix, of which the name could be mistyped, or the same name.

    Prefixes are long and many keys share one: whole keys are near that have nothing to do with
    each other.
    """
    prefix, _, name = key.rpartition("/")
    near = []
    for other in sorted(keys)[:_LOOKED_AT]:
        its, _, own = other.rpartition("/")
        if own == name or (its == prefix and nearest(name, (own,))):
            near.append(other)
    return near


def _label(key: str, value: str) -> str:
    return f"label {key}={value}"


def _labels(podset: PodSet) -> Iterator[tuple[str, str]]:
    """Labels with one value that all nodes of a pod set must have."""
    yield from podset.node_selector.items()
    if len(podset.node_affinity) == 1:
        yield from _of_term(podset.node_affinity[0])


def _of_term(term: NodeSelectorTerm) -> Iterator[tuple[str, str]]:
    for each in term.match_expressions:
        if each.operator == "In" and len(each.values) == 1:
            yield each.key, each.values[0]


def _quotas_of_no_node(snapshot: ClusterSnapshot) -> Iterator[str]:
    """Name resources that queues have a quota of and no node has: such a quota holds nobody."""
    offered = _offered(snapshot)
    found: _Found = {}
    for queue in snapshot.queues if snapshot.nodes else ():
        for row in queue.resources:
            if row.name not in offered and parse_quantity(row.nominal_quota):
                found.setdefault(row.name, []).append(queue.name)
    for name, who in found.items():
        has = "has a quota" if len(who) == 1 else "have quotas"
        text = f"queue {listed(who, 1)} {has} of {name}, which no node has"
        yield f"{text}, so that it limits nothing{perhaps(name, sorted(offered))}"


def _in_no_domain(snapshot: ClusterSnapshot) -> Iterator[str]:
    """Count nodes without the label of a level: they take no job that requires one domain of it."""
    for level in snapshot.topology.labelled:
        out = [node.name for node in snapshot.nodes if not node.labels.get(level.node_label)]
        if out and len(out) == len(snapshot.nodes):
            yield f"no node has {level.node_label}, so that there is no {level.name}"
        elif out:
            have, are = ("has", "is") if len(out) == 1 else ("have", "are")
            who = f"{len(out)} of {len(snapshot.nodes)} nodes {have} no {level.node_label}"
            yield f"{who} and {are} in no {level.name}: {listed(out, 3)}"


def _without_pods(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Iterator[str]:
    """Name disruption budgets that select no pod of the input."""
    if not snapshot.pod_disruption_budgets:
        return
    podsets = [(job.namespace, podset) for job in jobs for podset in job.pod_sets]
    selections = Selections([PodLabels(s, *podset) for s, podset in enumerate(podsets)])
    idle = [
        budget.full_name
        for budget in snapshot.pod_disruption_budgets
        if not selections.selects(budget.selector, budget.namespace)
    ]
    if idle and podsets:
        selects = "selects" if len(idle) == 1 else "select"
        yield f"disruption budget {listed(idle, 1)} {selects} no pod that was read"


def _without_unit(snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> Iterator[str]:
    found: _Found = {}
    small: dict[tuple[str, str | int], bool] = {}  # thousands of jobs ask for a few amounts
    for subject, amounts in _all_amounts(snapshot, jobs):
        for amount in amounts:
            if amount not in small:
                name, value = amount
                small[amount] = is_bytes(name) and 0 < parse_quantity(value) < LEAST_BYTES
            if small[amount]:
                found.setdefault(f"{amount[0]}: {amount[1]}", []).append(subject)
    for text, who in found.items():
        value = text.rpartition(" ")[2]
        meant = f", perhaps {value}Gi is meant" if value.isdecimal() else ""
        yield f"{text} of {listed(who, 1)} is {value} without a unit for bytes{meant}"


def _all_amounts(
    snapshot: ClusterSnapshot, jobs: Sequence[Job]
) -> Iterator[tuple[str, Iterable[tuple[str, str | int]]]]:
    for node in snapshot.nodes:
        devices = ((name, v) for d in node.devices for name, v in d.capacity.items())
        yield f"node {node.name}", [*node.allocatable.items(), *devices]
    for queue in snapshot.queues:
        yield f"queue {queue.name}", [(row.name, row.nominal_quota) for row in queue.resources]
    for job in jobs:
        amounts = [pair for podset in job.pod_sets for pair in _amounts(podset)]
        yield job.full_name, dict.fromkeys(amounts)


def _amounts(podset: PodSet) -> Iterator[tuple[str, str | int]]:
    parts: Iterable[Mapping[str, str | int]] = (
        podset.requests,
        *(need.requests for need in podset.devices),
    )
    for part in parts:
        yield from part.items()


def _by(pairs: Iterable[tuple[_What, Job]]) -> dict[_What, list[str]]:
    found: dict[_What, list[str]] = {}
    for what, job in pairs:
        name = job.full_name
        who = found.setdefault(what, [])
        if not who or who[-1] != name:
            who.append(name)
    return found
