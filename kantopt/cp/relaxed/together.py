"""Gangs that are certainly placed and should be close: what they are packed as, and where it leads.

A packing counts slots of one resource and looks at nothing else, so that its least is a bound; its
parts are something to aim at, which the other rules may or may not admit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel

from kantopt.cp.relaxed.crossing import Gang
from kantopt.cp.relaxed.domains import DomainRelaxation
from kantopt.cp.relaxed.packing import Packing, Parts
from kantopt.cp.relaxed.settled import Settled
from kantopt.cp.relaxed.tiers import close_gangs, standing_beyond
from kantopt.cp.variables import Terms, weighted
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule


@dataclass(frozen=True, slots=True)
class Together:
    """Gangs with their kinds' indexes that share the domains of a level, as a packing.

    A slot is ``size`` of the resource ``r``.
    """

    level: int
    r: int
    size: int
    gangs: tuple[tuple[int, Gang], ...]
    packing: Packing

    @property
    def names(self) -> tuple[int, ...]:
        """Indexes of the gangs' kinds."""
        return tuple(j for j, _ in self.gangs)

    def spread(self, m: DomainRelaxation) -> Terms:
        """Return what the gangs use beyond the fewest domains, as terms."""
        found: Terms = []
        for j, gang in self.gangs:
            beyond = m.spread(j, self.level, gang.roles, gang.fewest)
            if beyond is not None and not isinstance(beyond, int):
                found.append((beyond, 1))
        return found

    def aim(self, m: DomainRelaxation, cp: CpModel, parts: Parts) -> None:
        """Add to a copy of a model that gangs whose pods take a slot each are in these parts."""
        domains = m.classes_by_domain(self.level)
        for g, (j, gang) in enumerate(self.gangs):
            pods = [pods for i in gang.roles for pods in m.kinds.jobs[j].roles[i]]
            if len(pods) == 1 and pods[0].one.requests[self.r] // self.size == 1:
                for d, classes in domains.items():
                    here = 0 if d is None else parts[g].get(d, 0)
                    cp.add(m.inside(pods[0], classes) == here)

    def aim_loosely(self, m: DomainRelaxation, cp: CpModel, parts: Parts) -> None:
        """Add that each gang is in as many domains of each number of slots as in these parts.

        Which ones is left open: it decides who has a reason to go, and what has to move.
        """
        packing = self.packing
        for g, (j, gang) in enumerate(self.gangs):
            alike: dict[tuple[int, ...], Terms] = {}
            for d, flag in m.touched(j, self.level, gang.roles).items():
                rooms = packing.rooms(d) if d in packing.slots else ()
                alike.setdefault(rooms, []).append((flag, 1))
            most = Counter(packing.rooms(d) for d in parts[g])
            for number, flags in alike.items():
                cp.add(weighted(flags) <= most[number])


def standing_for_certain(m: DomainRelaxation, tier: Tier, settled: Settled) -> int:
    """Domains beyond the fewest of gangs that certainly stay as they are."""
    return sum(
        excess * len(m.kinds.jobs[j].jobs)
        for j, excess in standing_beyond(m, tier)
        if settled.keeps(m, j)
    )


def together(m: DomainRelaxation, tier: Tier, settled: Settled) -> Iterator[Together]:
    """Yield the gangs of a tier that are certainly placed, for each level that they should share.

    Slots are of the resource of which they take most of what there is.
    """
    if not m.instance.on(Rule.CAPACITY):
        return
    by_level: dict[int, list[tuple[int, Gang]]] = {}
    for j, level, gang in close_gangs(m, tier):
        if level is not None and len(gang.kind.jobs) == 1 and settled.satisfied.get(j) == 1:
            by_level.setdefault(level, []).append((j, gang))
    for level, gangs in by_level.items():
        found = [
            each
            for r in range(len(m.instance.resources))
            if (each := _in_slots(m, level, gangs, settled, r)) is not None
        ]
        if found:
            yield max(found, key=lambda each: each.packing.share)


def _in_slots(
    m: DomainRelaxation, level: int, gangs: list[tuple[int, Gang]], settled: Settled, r: int
) -> Together | None:
    """Gangs and domains in slots of a resource; ``None`` if that says nothing."""
    size = max(gang.largest(r) for _, gang in gangs)
    kept = [(j, gang) for j, gang in gangs if size and gang.width(r, size) > 1]
    if not kept:
        return None
    stay: Counter[int] = Counter()
    for j, kind in enumerate(m.kinds.jobs):
        for pods in kind.pods:
            if not pods.fixed and settled.stays(m, j, pods):
                for s in pods.podsets:
                    for spot, k in m.instance.podsets[s].current.items():
                        stay[spot.node] += k * pods.one.requests[r]
    slots: Counter[int] = Counter()
    for n, offer in enumerate(m.classes.offers):
        limit, region = offer.capacity[r], m.instance.topology.domain_of[level][n]
        free = None if limit is None else (limit - stay[n]) // size
        if free is None or (free > 0 and region is None):
            return None  # room without end, or room where nothing counts
        if region is not None and free > 0:
            slots[region] += free
    widths = tuple(gang.width(r, size) for _, gang in kept)
    levels, rooms = _kept_room(m, level, [gang for _, gang in kept], settled, (r, size, stay))
    fewest = tuple(gang.fewest for _, gang in kept)
    packing = Packing(widths, fewest, slots, levels, rooms)
    if not packing.small:
        packing = Packing(widths, fewest, slots)  # of room that is kept it knows nothing
    return Together(level, r, size, tuple(kept), packing) if packing.small else None


def _kept_room(
    m: DomainRelaxation,
    level: int,
    gangs: list[Gang],
    settled: Settled,
    taken: tuple[int, int, Counter[int]],
) -> tuple[tuple[int, ...], tuple[Mapping[int, int], ...]]:
    """Level of each gang, and the slots that victims who certainly go leave to those of each.

    A gang's level is how many priorities of victims it may not evict, the highest first.
    """
    r, size, stay = taken
    none = (0,) * len(gangs), ()
    if not m.instance.strict or not m.instance.on(Rule.PRIORITY):
        return none
    gone: dict[int, Counter[int]] = {}
    for j, kind in enumerate(m.kinds.jobs):
        for pods in kind.pods:
            if pods.one.running and settled.goes(m, j, pods):
                here = gone.setdefault(kind.one.priority, Counter())
                for s in pods.podsets:
                    for spot, k in m.instance.podsets[s].current.items():
                        here[spot.node] += k * pods.one.requests[r]
    highest = sorted(gone, reverse=True)
    levels = tuple(
        sum(not (gang.kind.one.may_preempt and gang.kind.one.priority > q) for q in highest)
        for gang in gangs
    )
    if not any(levels):
        return none
    back: Counter[int] = Counter()
    rooms = []
    for q in highest:
        back.update(gone[q])
        free: Counter[int] = Counter()
        for n, offer in enumerate(m.classes.offers):
            limit, region = offer.capacity[r], m.instance.topology.domain_of[level][n]
            if limit is not None and region is not None:
                free[region] += max(0, (limit - stay[n] - back[n]) // size)
        rooms.append(free)
    return levels, tuple(rooms)
