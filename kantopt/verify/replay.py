"""Every intermediate state of a plan, judged: does each wave find the room it needs?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kantopt.problem.actions import Action, Wave
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.rules import CHECKS, STATE_RULES, check
from kantopt.verify.step import Step, Violation

_HELD_RULES = (Rule.CAPACITY, Rule.DEVICES)
"""Rules that must hold while pods that leave are still there."""
_SHARED_RULES = (Rule.QUOTA, Rule.ANTI_AFFINITY)
"""Rules that must hold while evicted pods are still there; a pod that moves counts once."""


def replay(instance: Instance, waves: Sequence[Wave]) -> tuple[list[Violation], Placement]:
    """Judge a plan wave by wave, then as a whole; return the violations and the last placement.

    Waves of which neither waits for the other may run at the same time in any order: each must
    find its room although what the other brings is there and what it takes away still is.
    """
    waits = _all_before(waves)
    violations: list[Violation] = []
    for wave in waves:
        done = [a for other in waves if other.id in waits[wave.id] for a in other.actions]
        beside = [
            a
            for other in waves
            if other.id != wave.id
            and other.id not in waits[wave.id]
            and wave.id not in waits[other.id]
            for a in other.actions
        ]
        violations += [
            Violation(v.rule, f"wave {wave.id}: {v.subject}", v.message)
            for v in _judge(instance, done, beside, wave.actions)
        ]
    actions = [action for wave in waves for action in wave.actions]
    final = _apply(instance.current, actions)
    violations += _contradictions(instance, actions)
    violations += _moves_in_vain(instance, actions, final)
    violations += check(instance, final)
    return violations, final


def _all_before(waves: Sequence[Wave]) -> dict[int, set[int]]:
    """Waves that are done when a wave starts, directly or not; listed in a legal order."""
    waits: dict[int, set[int]] = {}
    for wave in waves:
        waits[wave.id] = set(wave.after).union(*(waits.get(w, set()) for w in wave.after))
    return waits


def _judge(
    instance: Instance, done: list[Action], beside: list[Action], actions: Sequence[Action]
) -> Iterator[Violation]:
    first = _apply(instance.current, done)
    crowded = _apply(first, beside, leave=False)
    # A wave may run before those beside it, with them or after them: a gang that starts half in
    # one and half in another would look whole if all of them were always taken as there.
    starts = [first, crowded, _apply(first, beside)] if beside else [first]
    settled = [Step(instance, start, _apply(start, actions)) for start in starts]
    if any(action.source is not None for action in actions):
        held, shared = _before_done(instance, crowded, actions)
    else:  # nothing leaves: the wave is as crowded while it runs as when it is done
        held, shared = [settled[len(starts) // 2]], []
    found: dict[Violation, None] = {}
    for rule in STATE_RULES:
        if instance.on(rule):
            steps = settled
            if rule in _HELD_RULES:
                steps = held
            elif rule in _SHARED_RULES:
                steps = [*settled, *shared]
            for step in steps:
                found.update(dict.fromkeys(CHECKS[rule](step)))
    yield from found
    if instance.on(Rule.DISRUPTION):
        yield from _in_flight(instance, [*done, *beside, *actions], [*beside, *actions])


def _before_done(
    instance: Instance, crowded: Placement, actions: Sequence[Action]
) -> tuple[list[Step], list[Step]]:
    """What rules must hold in while a wave runs: for places on nodes, and for what is shared."""
    restarts = [a for a in actions if _restarts(instance, a)]
    held = _apply(_apply(crowded, restarts, arrive=False), actions, leave=False)
    # Pods that restart leave together before any of them is back, but nothing else waits for it.
    others = [a for a in actions if not _restarts(instance, a)]
    early = _apply(crowded, others, leave=False)
    shared = _apply(crowded, [a for a in actions if a.kind != "evict"])
    return (
        [Step(instance, crowded, held), Step(instance, crowded, early)],
        [Step(instance, crowded, shared)],
    )


def _in_flight(
    instance: Instance, evicting: Iterable[Action], restarting: Iterable[Action]
) -> Iterator[Violation]:
    """Disruptions that are not made good yet: evictions for good, restarts until ready."""
    away = [0] * len(instance.budgets)
    for action in evicting:
        if action.kind == "evict":
            for b in instance.podsets[action.podset].budgets:
                away[b] += action.pods
    for action in restarting:
        if _restarts(instance, action):
            for b in instance.podsets[action.podset].budgets:
                away[b] += action.pods
    for budget, pods in zip(instance.budgets, away, strict=True):
        if pods > budget.allowed:
            yield Violation(
                Rule.DISRUPTION,
                f"budget {budget.name}",
                f"{pods} of {budget.allowed} pods away at once",
            )


def _restarts(instance: Instance, action: Action) -> bool:
    return action.kind == "move" and instance.job_of(action.podset).move_mode == "restart"


def _apply(
    placement: Placement, actions: Iterable[Action], *, leave: bool = True, arrive: bool = True
) -> Placement:
    changes: dict[int, dict[Spot, int]] = {}
    for action in actions:
        source = action.source if leave else None
        target = action.target if arrive else None
        if source is None and target is None:
            continue
        spots = changes.get(action.podset)
        if spots is None:
            spots = changes[action.podset] = dict(placement.podsets[action.podset])
        if source is not None:
            spots[source] = spots.get(source, 0) - action.pods
        if target is not None:
            spots[target] = spots.get(target, 0) + action.pods
    return placement.replace(changes) if changes else placement


def _contradictions(instance: Instance, actions: Sequence[Action]) -> Iterator[Violation]:
    """Actions on pods that are not there: more leave a spot, or are bound, than there are."""
    leaving: dict[tuple[int, Spot], int] = {}
    bound: dict[int, int] = {}
    for action in actions:
        podset = instance.podsets[action.podset]
        subject = f"action {action.id}"
        if (action.kind == "bind") is podset.running:
            state = "run already" if podset.running else "do not run"
            yield Violation("actions", subject, f"{action.pods} pods that {state}")
        if action.source is not None:
            key = (action.podset, action.source)
            leaving[key] = leaving.get(key, 0) + action.pods
        else:
            bound[action.podset] = bound.get(action.podset, 0) + action.pods
    for (s, spot), pods in sorted(leaving.items()):
        there = instance.podsets[s].current.get(spot, 0)
        if pods > there:
            node = instance.nodes[spot.node].name
            subject = f"job {instance.job_of(s).name} pod set {instance.podsets[s].name}"
            yield Violation("actions", subject, f"{pods} of {there} pods leave node {node}")
    for s, pods in sorted(bound.items()):
        if pods > instance.podsets[s].count:
            subject = f"job {instance.job_of(s).name} pod set {instance.podsets[s].name}"
            yield Violation("actions", subject, f"{pods} of {instance.podsets[s].count} pods bound")


def _moves_in_vain(
    instance: Instance, actions: Sequence[Action], final: Placement
) -> Iterator[Violation]:
    """Moves that cancel out, which rules and metrics would not see in the last placement."""
    step = Step(instance, instance.current, final)
    moving: dict[int, int] = {}
    for action in actions:
        if action.kind == "move":
            moving[action.podset] = moving.get(action.podset, 0) + action.pods
    for s, pods in sorted(moving.items()):
        if pods > step.moved(s):
            subject = f"job {instance.job_of(s).name} pod set {instance.podsets[s].name}"
            yield Violation("actions", subject, f"{pods} of {step.moved(s)} pods move that need to")
