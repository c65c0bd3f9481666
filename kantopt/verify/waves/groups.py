"""R4, R5, R6 and R13 while waves run: does a job hold together, and restart as a whole?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kantopt.problem.actions import Action
from kantopt.problem.difference import changed, crossed, whole_slices
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.rules.gang import check_gang
from kantopt.verify.rules.slices import check_slices
from kantopt.verify.rules.topology import check_topology
from kantopt.verify.step import Step, Violation
from kantopt.verify.waves.order import Order, bits_of

MOST_STATES = 500
"""Past so many states more than it has waves, a job's waves must wait for each other.

Nobody would look at more; a chain has one state for each wave, and is judged at any length.
"""
_CHECKS = {
    Rule.GANG: check_gang,
    Rule.TOPOLOGY: check_topology,
    Rule.SLICES: check_slices,
}


def judge_groups(instance: Instance, order: Order) -> Iterator[Violation]:
    """Judge each job that several waves change, in every state, wave after wave.

    What one wave alone changes is as before until then and as in the end from then on, which is
    what the judge of the whole plan looks at.
    """
    for j, waves in sorted(_changing(instance, order).items()):
        rules = [
            rule
            for rule in _CHECKS
            if instance.on(rule) and (rule is Rule.GANG or j in instance.needs_of)
        ]
        found: dict[Violation, None] = {}
        for count, (before, after, p) in enumerate(_steps(instance, order, waves)):
            if count > MOST_STATES + len(waves):
                ids = ", ".join(str(order.waves[p].id) for p in sorted(waves))
                found[
                    Violation(
                        Rule.GANG,
                        f"job {instance.jobs[j].name}",
                        f"{len(waves)} waves change it in too many orders to judge: {ids}",
                    )
                ] = None
                break
            step = Step(instance, before, after)
            for rule in rules:
                for v in _CHECKS[rule](step):
                    subject = f"wave {order.waves[p].id}: {v.subject}"
                    found[Violation(v.rule, subject, v.message)] = None
        yield from found


def _changing(instance: Instance, order: Order) -> dict[int, dict[int, list[Action]]]:
    """By job: waves that change how many of its pods run or in which domains, if several do.

    Those of whole slices are left out: no state with any of them is worse than one without.
    """
    found: dict[int, dict[int, list[Action]]] = {}
    for p, wave in enumerate(order.waves):
        for action in wave.actions:
            job = instance.job_of(action.podset)
            both = any(r.running is not None and r.pending is not None for r in job.roles)
            counts = job.is_gang or both
            if (action.kind != "move" and counts) or crossed(instance, action):
                found.setdefault(job.index, {}).setdefault(p, []).append(action)
    for j, waves in found.items():
        found[j] = _mattering(instance, waves)
    return {j: waves for j, waves in found.items() if len(waves) > 1}


def _mattering(instance: Instance, waves: dict[int, list[Action]]) -> dict[int, list[Action]]:
    """Leave out waves of whole slices, and those whose moves alone matter to a need."""
    kept = {p: own for p, own in waves.items() if not whole_slices(instance, own)}
    needs = {p: {n.index for a in own for n in crossed(instance, a)} for p, own in kept.items()}
    times = Counter(i for own in needs.values() for i in own)
    return {
        p: own
        for p, own in kept.items()
        if any(a.kind != "move" for a in own) or any(times[i] > 1 for i in needs[p])
    }


def _steps(
    instance: Instance, order: Order, waves: dict[int, list[Action]]
) -> Iterator[tuple[Placement, Placement, int]]:
    """Each state that a job can be in, and each wave that can be the next to be done there.

    A state is known by the waves that are done in it, as bits.
    """
    listed = sum(1 << p for p in waves)
    placements = {0: instance.current}
    todo = [0]
    while todo:
        done = todo.pop()
        before = placements[done]
        for p in bits_of(listed & ~done):
            if order.before[p] & listed & ~done:
                continue
            after = done | 1 << p
            if after not in placements:
                todo.append(after)
                placements[after] = changed(before, waves[p])
            yield before, placements[after], p


def judge_together(instance: Instance, order: Order) -> Iterator[Violation]:
    """In a wave that moves pods of such a job all of its running pods move, if only in place."""
    for wave in order.waves:
        moving = Counter[int]()
        for action in wave.actions:
            j = instance.podsets[action.podset].job
            if action.kind == "move" and j in instance.together:
                moving[j] += action.pods
        for j, pods in sorted(moving.items()):
            running = instance.running_pods(j)
            if pods != running:
                subject = f"wave {wave.id}: job {instance.jobs[j].name}"
                yield Violation(
                    Rule.GANG_VICTIMS, subject, f"{pods} of {running} pods restart together"
                )
