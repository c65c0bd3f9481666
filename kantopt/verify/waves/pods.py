"""Are the pods there that actions speak of, and do they move no more than they say?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kantopt.problem.actions import Action
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.rules.devices import as_wanted
from kantopt.verify.rules.limits import beyond, beyond_jobs
from kantopt.verify.step import Step, Violation
from kantopt.verify.waves.most import Ledger, Sum
from kantopt.verify.waves.order import Order


def judge_pods(instance: Instance, order: Order) -> Iterator[Violation]:
    """No more pods leave a spot, or are bound, than are there whatever the order.

    Pods that came by a stop-over are there once the wave that brought them is done.
    """
    leaving = Ledger[tuple[int, Spot]]()
    left: set[tuple[int, Spot]] = set()
    bound: Counter[int] = Counter()
    for p, action in order.actions:
        podset = instance.podsets[action.podset]
        if (action.kind == "bind") is podset.running:
            state = "run already" if podset.running else "do not run"
            yield Violation("actions", f"action {action.id}", f"{action.pods} pods that {state}")
        if action.source is None:
            bound[podset.index] += action.pods
        else:
            left.add((podset.index, action.source))
            leaving.change((podset.index, action.source), p, action.pods)
        if action.target is not None:
            leaving.change((podset.index, action.target), p, -action.pods)
    for s, spot in sorted(left):
        there = instance.podsets[s].current.get(spot, 0)
        total = Sum(order, leaving[s, spot])
        if total.can_exceed(there) and (pods := total.most()) > there:
            node = instance.nodes[spot.node].name
            message = f"{pods} of {there} pods leave node {node}"
            yield Violation("actions", instance.subject(s), message)
    for s, pods in sorted(bound.items()):
        if pods > instance.podsets[s].count:
            message = f"{pods} of {instance.podsets[s].count} pods bound"
            yield Violation("actions", instance.subject(s), message)


def judge_stopovers(
    instance: Instance, actions: Sequence[Action], final: Placement
) -> Iterator[Violation]:
    """Each pod moves once, but for stop-overs that say so, and these count against the limit."""
    step = Step(instance, instance.current, final)
    moving: Counter[int] = Counter()
    stopping: Counter[int] = Counter()
    for action in actions:
        if action.kind == "move":
            moving[action.podset] += action.pods
            if action.stopover:
                stopping[action.podset] += action.pods
    for action in actions:
        if action.podset in stopping:
            yield from _arrives(instance, action)
    for s, pods in sorted(moving.items()):
        once = pods - stopping[s]
        if once != step.moved(s):
            message = f"{once} of {step.moved(s)} pods move that need to"
            yield Violation("actions", instance.subject(s), message)
    if stopping:
        yield from beyond_limits(instance, actions)


def beyond_limits(instance: Instance, actions: Sequence[Action]) -> Iterator[Violation]:
    """Each stop-over counts as a move of its own, and as an arrival and a departure."""
    limits, counts = instance.model.limits, _move_counts(instance, actions)
    yield from beyond(counts.total, limits.moves)
    yield from beyond_jobs(instance, counts.jobs, "moves with stop-overs")
    yield from beyond(counts.namespaces, limits.moves_per_namespace)
    yield from beyond(counts.arrivals, limits.arrivals_per_node)
    yield from beyond(counts.departures, limits.departures_per_node)


class _Counts(NamedTuple):
    """Pods that move, stop-overs included, by what limits look at."""

    total: Counter[str]
    jobs: Counter[int]
    namespaces: Counter[str]
    arrivals: Counter[str]
    departures: Counter[str]


def _move_counts(instance: Instance, actions: Iterable[Action]) -> _Counts:
    """Count what actions move, each stop-over as a move of its own."""
    counts = _Counts(Counter(), Counter(), Counter(), Counter(), Counter())
    for action in actions:
        job, pods = instance.job_of(action.podset), action.pods
        if action.kind == "move" and action.target is not None:
            counts.total["moves with stop-overs"] += pods
            counts.jobs[job.index] += pods
            counts.namespaces[f"namespace {job.namespace}: moves with stop-overs"] += pods
            node = instance.nodes[action.target.node].name
            counts.arrivals[f"node {node}: arrivals with stop-overs"] += pods
        if action.source is not None:
            node = instance.nodes[action.source.node].name
            counts.departures[f"node {node}: departures with stop-overs"] += pods
    return counts


def _arrives(instance: Instance, action: Action) -> Iterator[Violation]:
    """Judge a place that pods come to, also if the last placement does not show it."""
    podset, spot = instance.podsets[action.podset], action.target
    if spot is None:
        return
    node = instance.nodes[spot.node]
    if instance.on(Rule.ELIGIBILITY) and spot.node not in podset.allowed:
        message = f"{action.pods} of 0 pods allowed on node {node.name} (on the way)"
        yield Violation(Rule.ELIGIBILITY, instance.subject(podset.index), message)
    if instance.on(Rule.DEVICES) and not as_wanted(node, podset.devices, spot.devices):
        wanted = {need.device_class: need.count for need in podset.devices}
        message = (
            f"devices {list(spot.devices)} of {dict(sorted(wanted.items()))} wanted (on the way)"
        )
        subject = f"{instance.subject(podset.index)} on node {node.name}"
        yield Violation(Rule.DEVICES, subject, message)
