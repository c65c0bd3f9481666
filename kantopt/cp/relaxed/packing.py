"""How close gangs can be packed into the regions that are left to them: exact, in slots.

Once it is settled which gangs are placed and who goes, each region has a number of slots, and each
gang takes a number of slots in one or more regions. What it uses beyond its fewest regions is to be
least. Regions with equally many slots are counted, not named, except those that gangs share.

There are fewer of these than gangs. For draw a line from a gang to each region that it shares: as
long as the lines have a circle, slots can be exchanged along it until one line is gone, and nobody
uses more regions than before. Lines without a circle are fewer than what they connect, and each
shared region has two at least. That is so where each slot is open to all gangs: some slots may be
kept from some of them, of which so many are left to all who may not use those.

Each region that is shared is used once more than it would be alone, while so many regions are in
use whatever is shared. So where the closest that gangs are apart is one region above that count,
nothing closer is shared, and otherwise few regions are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from ortools.sat.python.cp_model import INFEASIBLE, CpModel, CpSolver, IntVar

from kantopt.cp.relaxed.parts import fewest_regions
from kantopt.cp.solver import SOLVED, bound_of
from kantopt.cp.variables import Terms, weighted

MOST_PAIRS = 8_000
"""Most pairs of a gang and a region that it may share with others."""

Parts = dict[int, dict[int, int]]
"""Slots of each gang in each region."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Gangs by their number of slots, and the slots of each region.

    ``fewest`` are the regions below which nothing is gained. Gangs of a level from 1 on have, with
    those of higher levels, as many slots of a region as ``kept`` says of their level.
    """

    widths: tuple[int, ...]
    fewest: tuple[int, ...]
    slots: Mapping[int, int]
    levels: tuple[int, ...] = ()
    kept: tuple[Mapping[int, int], ...] = ()

    def level(self, g: int) -> int:
        """Return the level of a gang."""
        return self.levels[g] if self.levels else 0

    def rooms(self, region: int) -> tuple[int, ...]:
        """Return the slots of a region that gangs of each level may use, those of level 0 all."""
        slots = self.slots[region]
        return (slots, *(min(slots, kept.get(region, 0)) for kept in self.kept))

    @property
    def most_shared(self) -> int:
        """How many regions may have to be shared."""
        return len(self.slots) if any(self.levels) else len(self.widths) - 1

    def apart(self, solver: CpSolver) -> tuple[int, Parts | None]:
        """Return a bound, and parts that use few regions of which nobody shares one, if found."""
        model = _Model(self, 0)
        status = solver.solve(model.cp)
        least = self.counted + 1  # where a region is shared
        if status != INFEASIBLE:
            least = min(least, bound_of(solver))
        return max(self.at_least(), least), model.parts(solver) if status in SOLVED else None

    def shared(self, solver: CpSolver, value: int | None = None) -> tuple[int, Parts | None]:
        """Return a bound on the regions used beyond the fewest, and parts that use few of them.

        Parameters
        ----------
        value
            Below which parts are looked for, if parts that use so many are known.
        """
        most = self.most_shared
        if value is not None:
            most = min(most, value - 1 - self.counted)
            if most <= 0:
                return value, None
        model = _Model(self, most)
        if value is not None:
            model.cp.add(model.total <= value - 1)
        status = solver.solve(model.cp)
        if status == INFEASIBLE:
            if value is None:
                raise ValueError("gangs that are certainly placed have no room")
            return value, None
        bound = max(self.at_least(), bound_of(solver))
        return bound, model.parts(solver) if status in SOLVED else None

    def beyond(self, parts: Parts) -> int:
        """Return how many regions parts use beyond the fewest."""
        return sum(max(0, len(parts[g]) - fewest) for g, fewest in enumerate(self.fewest))

    def at_least(self) -> int:
        """Return a bound by counting: whatever is shared, the slots lie in so many regions."""
        return max(0, self.counted)

    @property
    def counted(self) -> int:
        """Regions that hold the slots of all gangs, less the fewest of each."""
        return fewest_regions(sum(self.widths), list(self.slots.values())) - sum(self.fewest)

    @property
    def share(self) -> float:
        """How much of the slots the gangs take."""
        return sum(self.widths) / max(1, sum(self.slots.values()))

    @property
    def small(self) -> bool:
        """Whether there are few enough gangs and regions."""
        alike = Counter(self.rooms(region) for region in self.slots)
        shared = sum(min(k, self.most_shared) for k in alike.values())
        return shared * len(self.widths) <= MOST_PAIRS


class _Model:
    """A packing in which at most so many regions are shared.

    Which regions are alike depends on who asks: a gang sees the slots of its level and of those
    below, so that few can tell regions apart whose slots are kept from others.
    """

    def __init__(self, packing: Packing, shared: int) -> None:
        self.packing = packing
        self.cp = CpModel()
        self._regions: dict[tuple[int, ...], list[int]] = {}
        """Regions by the slots that each level may use."""
        for region, slots in sorted(packing.slots.items()):
            if slots:
                self._regions.setdefault(packing.rooms(region), []).append(region)
        gangs = range(len(packing.widths))
        self._whole: dict[tuple[int, tuple[int, ...]], IntVar] = {}
        """Regions that a gang has for itself, by the slots of the first levels."""
        self._shared: dict[tuple[tuple[int, ...], int], list[IntVar]] = {}
        """Slots of each gang in a shared region, by its slots and number."""
        self._taken: dict[tuple[int, ...], Terms] = {}
        """Regions in use by the slots of the first levels."""
        self._held: list[Terms] = [[] for _ in gangs]
        self._used: list[Terms] = [[] for _ in gangs]
        alike = Counter(
            rooms[: level + 1]
            for rooms, regions in self._regions.items()
            for level in range(len(rooms))
            for _ in regions
        )
        for g in gangs:
            for seen, regions in alike.items():
                if len(seen) == packing.level(g) + 1 and seen[-1]:
                    self._add_whole(g, seen, regions)
        opened: Terms = [
            (flag, 1)
            for rooms, those in self._regions.items()
            for flag in self._add_shared(rooms, min(len(those), shared))
        ]
        if opened:
            self.cp.add(weighted(opened) <= shared)
        for seen, taken in self._taken.items():
            self.cp.add(weighted(taken) <= alike[seen])
        beyond: Terms = []
        for g in gangs:
            self.cp.add(weighted(self._held[g]) >= packing.widths[g])
            # What is cut up is counted by fractions else: a part in a large region costs little.
            open_to = [packing.rooms(region)[packing.level(g)] for region in packing.slots]
            least = fewest_regions(packing.widths[g], open_to)
            self.cp.add(weighted(self._used[g]) >= least)
            more = self.cp.new_int_var(0, len(packing.slots), f"beyond[{g}]")
            self.cp.add(more >= weighted(self._used[g]) - packing.fewest[g])
            beyond.append((more, 1))
        self.total = weighted(beyond)
        self.cp.add(self.total >= packing.at_least())
        self.cp.minimize(self.total)

    def _add_whole(self, g: int, seen: tuple[int, ...], regions: int) -> None:
        """Let a gang have regions for itself of those that it cannot tell apart."""
        most = min(regions, -(-self.packing.widths[g] // seen[-1]))
        whole = self._whole[g, seen] = self.cp.new_int_var(0, most, f"whole[{g},{seen}]")
        self._held[g].append((whole, seen[-1]))
        self._used[g].append((whole, 1))
        self._take(seen, whole)

    def _take(self, rooms: tuple[int, ...], number: IntVar) -> None:
        for level in range(len(rooms)):
            self._taken.setdefault(rooms[: level + 1], []).append((number, 1))

    def _add_shared(self, rooms: tuple[int, ...], most: int) -> list[IntVar]:
        """Let gangs share at most so many regions of a kind; return whether each is shared."""
        cp, packing, slots = self.cp, self.packing, rooms[0]
        opened: list[IntVar] = []
        for i in range(most if slots > 1 else 0):
            opened.append(cp.new_bool_var(f"open[{rooms},{i}]"))
            parts: list[IntVar] = []
            for g, width in enumerate(packing.widths):
                most_here = min(width, slots - 1, rooms[packing.level(g)])
                part = cp.new_int_var(0, most_here, f"part[{g},{rooms},{i}]")
                flag = cp.new_bool_var(f"used[{g},{rooms},{i}]")
                cp.add(part <= most_here * flag)
                cp.add_implication(flag, opened[i])
                parts.append(part)
                self._held[g].append((part, 1))
                self._used[g].append((flag, 1))
            self._shared[rooms, i] = parts
            for level, room in enumerate(rooms):
                those = [(part, 1) for g, part in enumerate(parts) if packing.level(g) >= level]
                cp.add(weighted([*those]) <= room * opened[i])
            self._take(rooms, opened[i])
        for before, after in pairwise(opened):
            cp.add_implication(after, before)
        return opened

    def parts(self, solver: CpSolver) -> Parts:
        """Return the slots of each gang in each region, no more than it needs."""
        left = list(self.packing.widths)
        found: Parts = {g: {} for g in range(len(left))}
        free = {rooms: list(regions) for rooms, regions in self._regions.items()}

        def give(g: int, region: int, slots: int) -> None:
            slots = min(slots, left[g])
            if slots:
                left[g] -= slots
                found[g][region] = slots

        for (rooms, _), shared in self._shared.items():
            parts = [solver.value(part) for part in shared]
            if any(parts):
                region = free[rooms].pop(0)
                for g, part in enumerate(parts):
                    give(g, region, part)
        # Who tells the most regions apart first: what is left over is alike to all others.
        for (g, seen), number in sorted(self._whole.items(), key=lambda each: -len(each[0][1])):
            for _ in range(solver.value(number)):
                rooms = next(r for r, those in free.items() if r[: len(seen)] == seen and those)
                give(g, free[rooms].pop(0), seen[-1])
        return found
