"""Would an evicted pod fit where it was? Then it must come back, or need not have gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.schema.model import Rule
from kantopt.search.counts.quotas import Quotas
from kantopt.search.preemption.full import Full
from kantopt.search.preemption.kept_room import KeptRoom
from kantopt.search.preemption.victims import Unit, Victims
from kantopt.search.state import State


class PutBack:
    """The put-back part of the priority rule, on a state in the making."""

    def __init__(self, victims: Victims) -> None:
        self.victims = victims
        self.state = victims.state
        self.kept = KeptRoom(victims.state, victims.gone)
        self._looked = 0
        """Of the changes of what victims have left, those that were looked at."""
        self._taken = Full(victims.state)
        """Where pods had no room beside all that was there when they were put back last."""
        self._kept_away = Full(victims.state)
        """Where they had none even without those who may not evict them."""

    def settles(self, seen: int) -> bool:
        """Put back who still fits on nodes touched since; return if the rest are gone rightly.

        Who had moved before and is evicted now may fit where he first was.
        """
        state, left = self.state, self.victims.gone.changed()
        nodes = {*state.touched[seen:], *left[self._looked :]}
        self._looked = len(left)
        with self.kept.given_back():
            self.reprieve(nodes)
            if not (self.holds(nodes | {*state.touched[seen:]}) and state.pace.kept()):
                return False
        watched = state.instance.spreads or state.instance.affinities
        return not watched or state.neighbours.holds(self.victims.gone.podsets())

    def reprieve(self, nodes: Iterable[int], below: int = 2**31) -> None:
        """Put back evicted pods that still fit, the most important and the dearest first.

        Some nodes changed since all that fits was put back last: only there it can fit again.
        """
        units = sorted(
            (u for u in self.victims.units(nodes, self._taken) if u[0].priority < below),
            key=lambda u: (-u[0].priority, -self._cost(u[1]), u[0].index, sorted(u[1])),
        )
        for job, unit in units:
            self._restore(job, unit)

    def spare(self, mark: int, below: int) -> None:
        """Put back lesser pods evicted since a mark that still fit, the dearest first."""
        nodes = {spot.node for _, spot, pods in self.state.journal[mark:] if pods < 0}
        self.reprieve(nodes, below)

    def _cost(self, unit: Unit) -> int:
        podsets = self.state.instance.podsets
        return sum(podsets[s].disruption_cost * pods for (s, _), pods in unit.items())

    def _restore(self, job: Job, unit: Unit) -> bool:
        state, mark = self.state, self.state.mark()
        for (s, spot), pods in sorted(unit.items()):
            for _ in range(pods):
                if self.victims.evicted(s) and not self._has_room(s, spot):
                    state.undo(mark)
                    self._taken.note(s, spot, whole=self.victims.is_whole(job))
                    return False
                if not (self.victims.evicted(s) and self._borne(s, spot.node)):
                    state.undo(mark)
                    return False
                state.add(s, spot, 1)
        return True

    def _has_room(self, s: int, spot: Spot) -> bool:
        """Whether a pod that was on a spot has room there beside everything that is there now."""
        state, n = self.state, spot.node
        return not (state.bound_on.get(n) or state.moved_on.get(n)) or state.has_room(s, spot)

    def _borne(self, s: int, n: int) -> bool:
        """Whether quotas and neighbours let a pod back."""
        return self.state.admitted(s, 1) > 0 and self.state.neighbours.bear(s, n)

    def holds(self, nodes: Iterable[int]) -> bool:
        """Whether every evicted pod is away for good reason: without lesser pods it has no room.

        Some nodes changed since that held last.
        """
        if not self.state.instance.strict or not self.state.instance.on(Rule.PRIORITY):
            return True
        lesser: dict[int, _Lesser] = {}
        for job, unit in self.victims.units(nodes, self._kept_away):
            if job.priority not in lesser:
                lesser[job.priority] = _Lesser(self.state, job)
            if full := lesser[job.priority].lacking(unit):
                self._kept_away.note(*full, whole=self.victims.is_whole(job))
            elif lesser[job.priority].let_back(job, unit):
                return False
        return self.kept.holds()


class _Lesser:
    """Arrivals that may not evict a victim's pods: what they take does not count."""

    def __init__(self, state: State, victim: Job) -> None:
        self._state = state
        self._victim = victim

    @cached_property
    def _pods(self) -> list[tuple[int, Spot, int]]:
        """Lesser pods that are bound now, or that came from elsewhere."""
        state = self._state
        return [
            (s, spot, pods)
            for places in (*state.bound_on.values(), *state.moved_on.values())
            for (s, spot), pods in places.items()
            if self._is_lesser(s)
        ]

    @cached_property
    def _quotas(self) -> Quotas:
        """Quotas without the lesser pods that are new: who moves uses what he used."""
        instance = self._state.instance
        return self._state.quotas.without(
            (instance.job_of(s).queue, podset.demand, pods, pods)
            for s, _, pods in self._pods
            if not (podset := instance.podsets[s]).running
        )

    @cached_property
    def _neighbours(self) -> list[tuple[int, int, int]]:
        """Pod set, node and number of the lesser pods that neighbours look at."""
        concern = self._state.neighbours.concern
        return [(s, spot.node, pods) for s, spot, pods in self._pods if concern(s)]

    def _is_lesser(self, s: int) -> bool:
        instance = self._state.instance
        return not instance.may_evict_for(instance.podsets[s].job, self._victim.index)

    def lacking(self, unit: Unit) -> tuple[int, Spot] | None:
        """Return a place on a node that has no room for who was there, if there is one."""
        by_node: dict[int, Unit] = {}
        for (s, spot), pods in unit.items():
            by_node.setdefault(spot.node, {})[s, spot] = pods
        for n, those in by_node.items():
            if not self._node_fits(n, those):
                return next(iter(those))
        return None

    def let_back(self, job: Job, unit: Unit) -> bool:
        """Whether quotas and neighbours let those back who have room where they were."""
        instance, state = self._state.instance, self._state
        extra = [0] * len(instance.resources)
        for (s, _), pods in unit.items():
            for r, amount in enumerate(instance.podsets[s].demand):
                extra[r] += pods * amount
        limited = job.queue is not None and instance.on(Rule.QUOTA)
        if limited and not self._quotas.allows_back(job.queue, extra):
            return False
        return not any(
            state.neighbours.repelled(s, spot.node, self._neighbours)
            for s, spot in unit
            if state.neighbours.concern(s)
        )

    def _node_fits(self, n: int, unit: Unit) -> bool:
        state = self._state
        lacking = Counter[int]()
        devices = Counter[tuple[int, int]]()
        for (s, spot), pods in unit.items():
            for r, amount in state.shape[s].asks:
                lacking[r] += pods * amount
            for row, d, amount in state.device_asks(s, spot) if spot.devices else ():
                devices[row, d] += pods * amount
        for r in lacking:
            lacking[r] -= int(state.free[r, n])
        for row, d in devices:
            devices[row, d] -= int(state.devices[row, n, d])
        if max((*lacking.values(), *devices.values()), default=0) <= 0:
            return True
        arrived = (*state.bound_on.get(n, {}).items(), *state.moved_on.get(n, {}).items())
        for (s, spot), pods in arrived:
            if self._is_lesser(s):
                for r, amount in state.shape[s].asks:
                    lacking[r] -= pods * amount
                for row, d, amount in state.device_asks(s, spot) if spot.devices else ():
                    devices[row, d] -= pods * amount
        return max((*lacking.values(), *devices.values()), default=0) <= 0
