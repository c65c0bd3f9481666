"""Victims of what was made after counts: each has a more important pod where it was, or is back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.insertion.placer import Placer
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.state import State
from kantopt.verify.rules import check

_MOST_PAIRS = 60
"""Exchanges that are tried for one victim."""
_MOST_IN_ALL = 2_000
_MOST_REPAIRS = 4

Pod = tuple[int, Spot]
"""Pod set and spot of a new pod."""


@dataclass(slots=True)
class _Victim:
    job: Job
    nodes: frozenset[int]
    reasons: int = 0
    """On how many of its nodes somebody more important is."""


def justify(state: State, gone: Iterable[tuple[Job, frozenset[int]]]) -> None:
    """Exchange new pods of one shape: a more important one comes where a victim lacks a reason.

    Parameters
    ----------
    gone
        Victims that would come back together, and the nodes where they were.
    """
    _Exchange(state, [_Victim(job, nodes) for job, nodes in gone]).run()


def rightly(placer: Placer, preemption: Preemption) -> Placement | None:
    """Have those come back who are gone without a reason, in place of lesser new jobs.

    ``None`` if some of them are still gone in the end.
    """
    state = placer.state
    instance, dropped = state.instance, set[int]()
    if instance.strict:
        units = preemption.victims.units(range(state.size))
        justify(state, [(j, frozenset(spot.node for _, spot in u)) for j, u in units])
    for _ in range(_MOST_REPAIRS):
        if preemption.put_back.settles(0):
            for j in sorted(dropped):
                with preemption.kept.held(j):
                    placer.place(j)
            return state.placement() if preemption.put_back.settles(0) else None
        gone = {job.index for job, _ in preemption.victims.units(range(state.size))}
        for violation in check(instance, state.placement(), (Rule.PRIORITY,)):
            # Who fits back is named; where room is taken that is kept for others, it is not.
            named = instance.job_index.get(violation.subject.removeprefix("job "))
            for victim in sorted(gone) if named is None else [named]:
                dropped |= _give_way(state, victim)
    return None


def _give_way(state: State, victim: int) -> set[int]:
    """Drop new jobs that may not evict another one from the nodes on which that was."""
    instance, dropped = state.instance, set[int]()
    for s in instance.jobs[victim].podsets:
        for spot, pods in instance.podsets[s].current.items():
            if state.spots[s].get(spot, 0) < pods:
                dropped |= {
                    instance.podsets[other].job
                    for other, _ in state.bound_on.get(spot.node, {})
                    if not instance.may_evict_for(instance.podsets[other].job, victim)
                }
    for j in sorted(dropped):
        drop(state, j)
    return dropped


def drop(state: State, j: int) -> None:
    """Take the new pods of a job off their nodes."""
    for s in state.instance.pending_of(j):
        for spot, pods in sorted(state.spots[s].items()):
            state.add(s, spot, -pods)


class _Exchange:
    def __init__(self, state: State, victims: list[_Victim]) -> None:
        self.state = state
        self._instance = state.instance
        self._victims = victims
        self._left = _MOST_IN_ALL
        self._on: dict[int, list[_Victim]] = {}
        for victim in victims:
            for n in victim.nodes:
                self._on.setdefault(n, []).append(victim)
                victim.reasons += self._reason(victim, n) is not None
        self._fixed = self._instance.close_jobs

    def run(self) -> None:
        """Look after one victim after the other."""
        by_shape: dict[int, list[Pod]] = {}
        for n in sorted(self.state.bound_on):
            for s, spot in sorted(self.state.bound_on[n]):
                by_shape.setdefault(self.state.shape[s].index, []).append((s, spot))
        for pods in by_shape.values():  # those that nobody's absence hangs on come first
            pods.sort(key=lambda pod: (pod[1].node in self._on, pod))
        for victim in self._victims:
            if not victim.reasons:
                self._find(victim, by_shape)

    def _may(self, s: int, victim: _Victim) -> bool:
        return self._instance.may_evict_for(self._instance.podsets[s].job, victim.job.index)

    def _reason(self, victim: _Victim, n: int) -> Pod | None:
        return next(
            (pod for pod in self.state.bound_on.get(n, {}) if self._may(pod[0], victim)), None
        )

    def _find(self, victim: _Victim, by_shape: dict[int, list[Pod]]) -> None:
        pairs = (
            (lesser, higher)
            for n in sorted(victim.nodes)
            for lesser in sorted(self.state.bound_on.get(n, {}))
            for higher in by_shape.get(self.state.shape[lesser[0]].index, ())
            if self._may(higher[0], victim)
        )
        for lesser, higher in islice(pairs, min(_MOST_PAIRS, self._left)):
            self._left -= 1
            if self._exchange(lesser, higher):
                return

    def _exchange(self, lesser: Pod, higher: Pod) -> bool:
        """Exchange two pods, unless another victim would lack its last reason."""
        state, here, there = self.state, lesser[1], higher[1]
        if not (state.spots[lesser[0]].get(here) and state.spots[higher[0]].get(there)):
            return False  # it has changed places before
        if here.devices or there.devices or here.node == there.node:
            return False
        for s, spot in ((lesser[0], there), (higher[0], here)):
            if spot.node not in self._instance.podsets[s].allowed or not self._free(s, spot.node):
                return False
        concerned = {id(v): v for n in (here.node, there.node) for v in self._on.get(n, ())}
        before = {key: v.reasons for key, v in concerned.items()}
        mark = state.mark()
        for s, spot, pods in (
            (lesser[0], here, -1),
            (higher[0], there, -1),
            (lesser[0], there, 1),
            (higher[0], here, 1),
        ):
            state.add(s, spot, pods)
        for victim in concerned.values():
            victim.reasons = sum(self._reason(victim, n) is not None for n in victim.nodes)
        if any(before[key] and not v.reasons for key, v in concerned.items()):
            state.undo(mark)
            for key, victim in concerned.items():
                victim.reasons = before[key]
            return False
        return True

    def _free(self, s: int, n: int) -> bool:
        """Whether neither topology nor neighbours forbid a pod to change its place."""
        state, job = self.state, self._instance.podsets[s].job
        if state.neighbours.concern(s):
            return False
        if job not in self._fixed:
            return True
        levels = self._instance.topology.domain_of
        return all(
            len({level[n], *(level[spot.node] for spot in state.spots[s])}) == 1 for level in levels
        )
