"""Who is tied to units that got stuck: by room, slots, quota or company that is not for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from kantopt.search.disjoint_sets import DisjointSets
from kantopt.search.order.detours import Most
from kantopt.search.order.ledger import Ledger
from kantopt.search.order.run import Run
from kantopt.search.order.units import Unit, may_step_aside, taken


def parts(run: Run, most: int) -> Iterator[list[Unit]]:
    """Split what is stuck where nothing ties it, each part with what is done that is tied to it.

    The closest first, as long as they are at most ``most`` together.
    """
    ties = _Ties(run)
    known: set[Unit] = set()
    for unit in run.stuck:
        if unit not in known:
            own = [other for other in run.stuck if ties.tied(unit, other) and other not in known]
            part = ties.grown(own, most, known)
            known.update(part)
            yield part


class _Ties:
    """What units share: where there is too little for all who come, somebody waits for another."""

    def __init__(self, run: Run) -> None:
        self._instance = run.instance
        self._ledger = Ledger(run.instance)
        self._units = [*(unit for unit, _ in run.done), *run.stuck]
        self._needed: Counter[Hashable] = Counter()
        for unit in self._units:
            self._needed.update(unit.needs)
        self._shared = self._things(run)
        self._sharing: dict[Hashable, list[Unit]] = {}
        self._touching: dict[int, list[Unit]] = {}
        for unit, things in self._shared.items():
            for thing in things:
                self._sharing.setdefault(thing, []).append(unit)
            spots = (spot for change in unit.changes for spot in (change.source, change.target))
            for n in sorted({spot.node for spot in spots if spot is not None}):
                self._touching.setdefault(n, []).append(unit)
        self._most = Most(run.instance, self._units, ())
        self._index = {unit: i for i, unit in enumerate(self._units)}
        self._union = DisjointSets(len(self._units))
        for units in self._sharing.values():
            self._union.tie_all(self._index[unit] for unit in units)

    def _things(self, run: Run) -> dict[Unit, list[Hashable]]:
        """Return what each unit shares; slots of which each is given back tie nobody."""
        near, stuck = run.near, set(run.stuck)
        kept = {
            key
            for unit in self._units
            for key, amount in unit.needs.items()
            if amount > unit.frees.get(key, 0) or key[0] in ("node", "device")
        }
        scarce = {key for key in kept if self._needed[key] > self._ledger.free(key)}
        sides: dict[int, list[int]] = {}
        if any(near.concerns(unit) for unit in self._units):
            for i, side in enumerate(near.instance.related):
                for s in side:
                    sides.setdefault(s, []).append(i)
        found: dict[Unit, list[Hashable]] = {}
        for unit in self._units:
            podsets = sorted({change.podset for change in unit.changes})
            found[unit] = [key for key in {**unit.needs, **unit.frees} if key in scarce]
            found[unit] += [unit, *unit.first, *run.groups(unit)]
            if unit in stuck:
                found[unit] += [("equal", s) for s in podsets]  # these may change parts
            if near.concerns(unit):
                found[unit] += [("near", i) for s in podsets for i in sides.get(s, ())]
        return found

    def tied(self, unit: Unit, other: Unit) -> bool:
        """Whether two units share something, or others in a row between them."""
        return self._union.find(self._index[unit]) == self._union.find(self._index[other])

    def grown(self, start: Sequence[Unit], most: int, known: set[Unit]) -> list[Unit]:
        """Add what is tied to units, the closest first; then what stop-overs could have to do with.

        Of what ties a unit that comes first which it shares with few.
        """
        found = list(start)
        known = known | set(start)
        i = k = 0
        while len(found) < most and k < len(found):
            if i < len(found):
                groups = [self._sharing[thing] for thing in self._shared[found[i]]]
                groups.sort(key=len)
                i += 1
            else:
                groups = self._around(found[k])
                k += 1
            for other in (unit for group in groups for unit in group):
                if other not in known:
                    known.add(other)
                    found.append(other)
        return found[: max(most, len(start))]

    def _around(self, unit: Unit) -> list[list[Unit]]:
        """Who comes and goes where a pod could stop over, the least room first; who moves like it.

        Equal pods may change parts, and one's stop-overs count against the limits on others' moves.
        """
        if not may_step_aside(unit):
            return []
        s = unit.changes[0].podset
        always: dict[int, bool] = {}
        for n in self._touching:
            for spot in self._most.spots(s, n):
                room = all(
                    self._ledger.free(key) - self._needed[key] >= amount
                    for key, amount in taken(self._instance, s, spot)
                )
                always[n] = always.get(n, False) or room
        nodes = sorted(always, key=lambda n: (always[n], len(self._touching[n]), n))
        own = self._instance.job_of(s)
        alike = set(own.podsets)
        if self._instance.model.limits.moves_per_namespace is not None:
            jobs = (job for job in self._instance.jobs if job.namespace == own.namespace)
            alike.update(podset for job in jobs for podset in job.podsets)
        movers = [other for other in self._units if other.changes[0].podset in alike]
        return [*(self._touching[n] for n in nodes), movers]
