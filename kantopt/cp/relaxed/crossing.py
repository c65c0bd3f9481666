"""How many regions gangs must use beyond the fewest: domains of a level, or nodes.

Count room in slots: a node has ``offer // size`` of them, a pod takes ``request // size``. If the
``w`` slots of a gang lie in ``n`` regions, then the sum of ``part // t`` over its parts is at least
some ``h(n)``, for every step ``t``, while over all parts in a region of ``b`` slots it is at most
``b // t``. With ``x`` regions more than the fewest for each gang that gives

    sum over gangs of (h(fewest) - slope * x) <= sum over regions of (b // t)

where ``slope`` is what one more region spares at most. Pods that cannot move keep the slots that
they have unless they are evicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.relaxed.kinds import JobKind
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.relaxed.parts import fewest_regions, least_parts, spared
from kantopt.cp.variables import Terms, weighted
from kantopt.schema.model import Rule

MOST_STEPS = 12
"""Most steps that are tried."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Gangs of a kind that should be close, and the fewest regions of each.

    ``roles`` are those concerned; ``placed`` says how many of the gangs are placed, at most.
    """

    kind: JobKind
    roles: tuple[int, ...]
    fewest: int
    placed: IntVar

    def largest(self, r: int) -> int:
        """Most of a resource that a pod asks for."""
        return max(self.kind.roles[i][0].one.requests[r] for i in self.roles)

    def width(self, r: int, size: int) -> int:
        """Fewest slots of a resource that a placed gang takes."""
        one, width = self.kind.one, 0
        for i in self.roles:
            pods = one.needed(one.roles[i])
            width += pods * (self.kind.roles[i][0].one.requests[r] // size)
        return width


def beyond_fewest(
    m: Relaxation, gangs: Sequence[Gang], region_of: Sequence[Hashable], name: str
) -> LinearExprT:
    """Return an expression of at most what gangs use beyond the fewest regions.

    Parameters
    ----------
    m
        The relaxation, to which rows are added.
    gangs
        Gangs that count, none with running pods that cannot move.
    region_of
        Region of each node.
    name
        Name for the variables.
    """
    if not gangs or not m.instance.on(Rule.CAPACITY):
        return 0
    regions = len(set(region_of))
    extra = [
        m.cp.new_int_var(0, len(gang.kind.jobs) * regions, f"{name}[{i}]")
        for i, gang in enumerate(gangs)
    ]
    for r in range(len(m.instance.resources)):
        size = max(gang.largest(r) for gang in gangs)
        if size and all(node.capacity[r] is not None for node in m.classes.offers):
            _add_rows(m, gangs, extra, region_of, r, size)
    return weighted([(var, 1) for var in extra])


def _add_rows(
    m: Relaxation,
    gangs: Sequence[Gang],
    extra: Sequence[IntVar],
    region_of: Sequence[Hashable],
    r: int,
    size: int,
) -> None:
    slots: Counter[Hashable] = Counter()
    for node, region in zip(m.classes.offers, region_of, strict=True):
        slots[region] += (node.capacity[r] or 0) // size
    held, given_up = _held(m, region_of, r, size)
    largest = max(slots.values())
    wide = [
        (gang, var, gang.width(r, size))
        for gang, var in zip(gangs, extra, strict=True)
        if gang.width(r, size)
    ]
    for gang, var, width in wide:
        more = fewest_regions(width, list(slots.values())) - gang.fewest
        if more > 0:
            m.cp.add(var >= more * gang.placed)
    for step in _steps([width for _, _, width in wide], largest):
        terms: Terms = []
        for gang, var, width in wide:
            terms.append((gang.placed, least_parts(width, gang.fewest, largest, step)))
            terms.append((var, -spared(width, gang.fewest, largest, step)))
        room = sum((number - held[region]) // step for region, number in slots.items())
        gains: Counter[int] = Counter()
        for region, taken in held.items():
            free = slots[region] - taken
            more = slots[region] // step - free // step
            if more:
                gains[step - free % step] += 1
                gains[step] += more - 1
        regained = [
            (m.cp.new_int_var(0, number, f"regained[{r},{step},{cost}]"), cost)
            for cost, number in gains.items()
            if number
        ]
        m.cp.add(weighted([(var, cost) for var, cost in regained]) <= given_up)
        m.cp.add(weighted(terms) <= weighted([(var, 1) for var, _ in regained]) + room)


def _held(
    m: Relaxation, region_of: Sequence[Hashable], r: int, size: int
) -> tuple[Counter[Hashable], LinearExprT]:
    """Slots of each region that pods hold which leave only if evicted, and how many are left."""
    held: Counter[Hashable] = Counter()
    given_up: Terms = []
    for kind in m.kinds.pods:
        each = kind.one.requests[r] // size
        if each and kind.evictable and not kind.movable:
            given_up.append((m.evicted(kind), each))
            for s in kind.podsets:
                for spot, pods in m.instance.podsets[s].current.items():
                    held[region_of[spot.node]] += pods * each
    return held, weighted(given_up)


def _steps(widths: Sequence[int], largest: int) -> list[int]:
    """Steps worth trying: the widths, and just above the parts of the largest region."""
    found = {largest // k + 1 for k in range(2, 5)} | {largest}
    found |= {width for width, _ in Counter(widths).most_common(MOST_STEPS)}
    return sorted(step for step in found if 1 < step <= largest)
