"""What stays on nodes that are to be emptied, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kantopt.planning.document.held_to import SPARED, spared
from kantopt.problem.chosen import nominated_to
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement
from kantopt.schema.features import FEATURES
from kantopt.schema.features import WORDS as FEATURE_WORDS
from kantopt.schema.hints import first_of, plural
from kantopt.schema.jobs import Job
from kantopt.schema.model import Rule
from kantopt.schema.stays import CAUSES, WORDS
from kantopt.search.causes import FITS, Causes
from kantopt.search.relocation.movers import Movers
from kantopt.search.state import State
from kantopt.verify.bounds.departures import may_leave
from kantopt.verify.step import Step

_NAMED = 3
"""Nodes that a line names."""
MOST_NAMED = 20
"""Pod sets that are named; of more only their number is told."""


_WORDS: Mapping[str, str] = dict(
    (
        *WORDS.items(),
        *FEATURE_WORDS.items(),
        ("nominated", "nominated to its node and not started"),
        ("exempt", "exempt by a label (--exempt)"),
    )
)


def drain_words(instance: Instance, placement: Placement) -> tuple[str, ...]:
    """Say what a plan leaves on the nodes to be emptied: pod sets with cause, daemons counted."""
    if not instance.drained:
        return ()
    daemons = leaving = 0
    left: list[tuple[PodSet, Counter[int]]] = []
    for podset, spots in zip(instance.podsets, placement.podsets, strict=True):
        there = Counter[int]()
        for spot, pods in spots.items():
            if spot.node in instance.drained:
                there[spot.node] += pods
        if podset.daemon:
            daemons += there.total()
        elif podset.leaving:
            leaving += there.total()
        elif there:
            left.append((podset, there))
    words = list(_words(instance, placement, left))
    if daemons:
        words.append(f"stay with the nodes to be emptied: {plural(daemons, 'pod')} of daemons")
    if leaving:
        verb = "leaves" if leaving == 1 else "leave"
        words.append(
            f"{verb} the nodes to be emptied already: {plural(leaving, 'terminating pod')}"
        )
    return tuple(words)


def unseated_words(jobs: Iterable[Job], nodes: Collection[str]) -> Iterator[str]:
    """Say who is only nominated to the nodes to be emptied: cordoned, they let nobody in."""
    told = [
        (f"{job.full_name}/{podset.name}", place.node)
        for job in (jobs if nodes else ())
        for podset in job.pod_sets
        for place in nominated_to(podset, nodes)
    ]
    if told:
        named = first_of([f"{name} on {node}" for name, node in told], MOST_NAMED)
        yield (
            f"nominated to nodes to be emptied, where nothing of it runs: {named}; once the node "
            "is cordoned it waits as any pending pod"
        )


def _words(
    instance: Instance,
    placement: Placement,
    left: list[tuple[PodSet, Counter[int]]],
) -> Iterator[str]:
    state = State(instance, placement)
    alike: dict[str, list[tuple[PodSet, Counter[int]]]] = {}
    for podset, there in left[:MOST_NAMED]:
        why = _why(instance, state, podset, there)
        if podset.index in spared(instance):
            why += f"; not evicted: {SPARED}"
        alike.setdefault(why, []).append((podset, there))
    for why, kept in alike.items():
        names = ", ".join(f"{instance.job_of(s.index).name}/{s.name}" for s, _ in kept)
        stay = "stays" if len(kept) == 1 else "stay"
        yield f"{stay} on {_places(instance, kept)}: {names}, {why}"
    if len(left) > MOST_NAMED:
        yield f"stay on nodes to be emptied: {len(left) - MOST_NAMED} pod sets more"


def _places(instance: Instance, kept: list[tuple[PodSet, Counter[int]]]) -> str:
    """Name the nodes that pod sets stay on, with the pods where one of them has several on one."""
    pods = Counter[int]()
    for _, there in kept:
        pods.update(there)
    return ", ".join(
        instance.nodes[n].name + (f" x{k}" if k > 1 and len(kept) == 1 else "")
        for n, k in sorted(pods.items())
    )


def _why(instance: Instance, state: State, podset: PodSet, there: Counter[int]) -> str:
    """Say what keeps a pod set, the plainest first; at last why each other node refuses it."""
    if _fixed(instance, podset):
        if instance.model.limits.moves == 0:
            return "no pod may move (limit moves: 0)"
        return _limited_job(instance, state, podset) or _not_movable(podset)
    budgets = [instance.budgets[b] for b in podset.budgets]
    if instance.on(Rule.DISRUPTION) and instance.job_of(podset.index).move_mode == "restart":
        if len(budgets) > 1:
            return f"under {len(budgets)} disruption budgets, which bear nothing"
        if any(budget.allowed == 0 for budget in budgets):
            return f"disruption budget {budgets[0].name} allows 0"
    if podset.job in instance.together:
        return _why_together(instance, state, podset.job)
    return _limited(instance, state, podset) or _beside(state, podset, there)


def _fixed(instance: Instance, podset: PodSet) -> bool:
    """Whether pods stay whatever disruption budgets bear."""
    return not may_leave(instance, replace(podset, budgets=()))


def _limited(instance: Instance, state: State, podset: PodSet) -> str:
    """Say which limit of moves a plan has used up, or why the job has one that bears nothing."""
    if not instance.on(Rule.LIMITS):
        return ""
    most = instance.model.limits.moves
    if most is not None and state.pace.moves >= most:
        return f"no more pods may move (limit moves: {most})"
    return _limited_job(instance, state, podset)


def _limited_job(instance: Instance, state: State, podset: PodSet) -> str:
    """Say that a plan moves as many pods of a job as it bears; nothing if it bears more."""
    job = instance.jobs[podset.job]
    if job.most_moves is None or not instance.on(Rule.LIMITS):
        return ""
    step = Step(instance, instance.current, state.placement())
    moved = sum(map(step.moved, instance.running_of(podset.job)))
    if moved < job.most_moves:
        return ""
    own = job.most_moves == job.max_moves
    if own and podset.stays and not moved:
        return _not_movable(podset)
    why = "maxMoves, of a Job its backoffLimit: --disturb backoff-limit"
    why = why if own else "limit movesPerJob"
    if not moved:
        return f"none of its job's pods may move ({why})"
    return f"{moved} of its job's pods {'moves' if moved == 1 else 'move'}, no more may ({why})"


def _not_movable(podset: PodSet) -> str:
    return f"not movable{stays_words((podset,))}"


def _beside(state: State, podset: PodSet, there: Counter[int]) -> str:
    """Say why other nodes refuse pods: for want of room, or for the pods that are there.

    Where a node would take one of them, all that is known is that none was sent there.
    """
    s, nodes = podset.index, state.instance.nodes
    causes, movers = Causes(state, s), Movers(state)
    fit = [n for n in range(state.size) if causes.room_cause[n] == FITS and n not in there]
    spots = [spot for spot in sorted(state.spots[s]) if spot.node in there]
    if not fit:
        return causes.counts
    reached = [movers.targets(s, spot) for spot in spots]
    if taking := sum(any(mask[n] for mask in reached) for n in fit):
        ways = (
            (spot.node, n)
            for spot, mask in zip(spots, reached, strict=True)
            for n in fit
            if mask[n]
        )
        why = _used_up(state, s, ways) or "no plan that moves it was found"
        return f"{taking} of {state.size} nodes would take a pod, but {why}"
    listed = first_of([nodes[n].name for n in fit], _NAMED)
    if not any(movers.within_topology(s, spot.node)[n] for spot in spots for n in fit):
        return _why_close(state.instance, podset, listed)
    return f"pods near it, or the closeness asked for, refuse it where there is room: {listed}"


_LIMITS = {
    "job": "movesPerJob",
    "namespace": "movesPerNamespace",
    "arrivals": "arrivalsPerNode",
    "departures": "departuresPerNode",
}
"""Limits that are counted apart, by the names that models have for them."""


def _used_up(state: State, s: int, ways: Iterable[tuple[int, int]]) -> str:
    """Name limits that a plan has used up, where one is in each way from node to node."""
    if not state.instance.on(Rule.LIMITS):
        return ""
    found: dict[tuple[str, int], None] = {}
    for source, target in ways:
        limit = state.pace.used_up(s, source, target)
        if limit is None:
            return ""
        found[limit] = None
    limits = ", ".join(f"{_LIMITS[name]}: {most}" for name, most in found)
    return f"no more may move ({limits})"


def stays_words(podsets: Iterable[PodSet]) -> str:
    """Say why an import left pods where they are, and what lifts that; begins with a colon."""
    words = []
    for name in dict.fromkeys(name for podset in podsets for name in podset.stays):
        option = "--assume" if name in FEATURES else "--disturb" if name in CAUSES else ""
        words.append(_WORDS[name] + (f" ({option} {name})" if option else ""))
    return f": {' and '.join(words)}" if words else ""


def _why_together(instance: Instance, state: State, j: int) -> str:
    """Say what keeps a job that restarts as a whole: a pod that may not, a limit, or the room."""
    said = f"all {instance.running_pods(j)} pods of the job restart together"
    running = instance.running_of(j)
    for s in running:
        if _fixed(instance, instance.podsets[s]):
            podset = instance.podsets[s]
            limited = "" if podset.stays else _limited_job(instance, state, podset)
            return f"{said}, and {limited or f'{podset.name} is {_not_movable(podset)}'}"
    if freedom_of(instance).moves[running[0]]:
        return f"{said}: no place for all of them elsewhere was found"
    if bounded := _too_many(instance, running):
        return f"{said}, {bounded}"
    away = sorted({spot.node for s in running for spot in instance.podsets[s].current})
    unready = [instance.nodes[n].name for n in away if n in instance.held]
    where = f"{unready[0]} is not ready" if unready else "not all of them may move"
    return f"{said}, and {where}"


def _why_close(instance: Instance, podset: PodSet, where: str) -> str:
    """Say that pods leave a domain only with those that must be close, and what keeps them all."""
    needs = [need for need in instance.needs_of[podset.job] if podset.role in need.roles]
    needs = [need for need in needs if need.required is not None]
    close = sorted({s for need in needs for s in instance.podsets_of(need)})
    running = [s for s in close if instance.podsets[s].running]
    why = f"and no plan was found that moves them where there is room: {where}"
    why = _too_many(instance, running) or why
    return f"all {instance.pods_of(running)} pods that must be close leave together, {why}"


def _too_many(instance: Instance, running: Sequence[int]) -> str:
    """Say which budget or limit bears not all pods of some pod sets of a job at once."""
    job, limits = instance.job_of(running[0]), instance.model.limits
    counted = instance.on(Rule.DISRUPTION) and job.move_mode == "restart"
    for b in sorted({b for s in running for b in instance.podsets[s].budgets}) if counted else ():
        budget = instance.budgets[b]
        held = sum(instance.podsets[s].count for s in running if s in budget.podsets)
        if held > budget.allowed:
            return f"disruption budget {budget.name} allows {budget.allowed} of {held}"
    bounds = (
        *(limits.moves, limits.moves_per_namespace, limits.moves_per_wave),
        *(job.most_moves, job.moves_at_once),
    )
    most = min((n for n in bounds if n is not None), default=None)
    few = most is not None and most < instance.pods_of(running)
    return f"{most} may move" if few else ""
