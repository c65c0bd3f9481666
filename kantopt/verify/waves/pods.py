"""Are the pods there that actions speak of, and do they move no more than they say?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kantopt.problem.actions import Action
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.rules.devices import as_wanted, unwanted
from kantopt.verify.rules.limits import Moves, moved_beyond
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
    moves = Moves(Counter(), Counter(), Counter())
    for action in actions:
        if action.kind == "move" and action.target is not None:
            moves.jobs[instance.podsets[action.podset].job] += action.pods
            moves.arrivals[action.target.node] += action.pods
        if action.source is not None:
            moves.departures[action.source.node] += action.pods
    yield from moved_beyond(instance, moves, " with stop-overs")


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
        message = f"{unwanted(podset.devices, spot.devices)} (on the way)"
        subject = f"{instance.subject(podset.index)} on node {node.name}"
        yield Violation(Rule.DEVICES, subject, message)
