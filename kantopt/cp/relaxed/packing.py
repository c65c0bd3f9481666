"""How close gangs can be packed into the regions that are left to them: exact, in slots.

Once it is settled which gangs are placed and who goes, each region has a number of slots, and each
gang takes a number of slots in one or more regions. What it uses beyond its fewest regions is to be
least. Regions with equally many slots are counted, not named, except those that gangs share.

There are fewer of these than gangs. For draw a line from a gang to each region that it shares: as
long as the lines have a circle, slots can be exchanged along it until one line is gone, and nobody
uses more regions than before. Lines without a circle are fewer than what they connect, and each
shared region has two at least. That is so where each slot is open to all gangs: some slots may be
kept from some of them, of which so many are left to all who may not use those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from ortools.sat.python.cp_model import INFEASIBLE, CpModel, CpSolver, IntVar

from kantopt.cp.relaxed.parts import fewest_regions
from kantopt.cp.solve import round_up
from kantopt.cp.solver import SOLVED
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
        """How many regions that are alike may have to be shared."""
        return len(self.slots) if any(self.levels) else len(self.widths) - 1

    def apart(self, solver: CpSolver) -> Parts | None:
        """Return parts that use few regions of which nobody shares one, if any are found."""
        model = _Model(self, 0)
        return model.parts(solver) if solver.solve(model.cp) in SOLVED else None

    def shared(self, solver: CpSolver) -> tuple[int, Parts | None]:
        """Return a bound on the regions used beyond the fewest, and parts that use few of them."""
        model = _Model(self, self.most_shared)
        status = solver.solve(model.cp)
        if status == INFEASIBLE:
            raise ValueError("gangs that are certainly placed have no room")
        bound = max(self.at_least(), round_up(solver.best_objective_bound))
        return bound, model.parts(solver) if status in SOLVED else None

    def beyond(self, parts: Parts) -> int:
        """Return how many regions parts use beyond the fewest."""
        return sum(max(0, len(parts[g]) - fewest) for g, fewest in enumerate(self.fewest))

    def at_least(self) -> int:
        """Return a bound by counting: whatever is shared, the slots lie in so many regions."""
        regions = fewest_regions(sum(self.widths), list(self.slots.values()))
        return max(0, regions - sum(self.fewest))

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
    """A packing in which at most so many regions of each kind are shared."""

    def __init__(self, packing: Packing, shared: int) -> None:
        self.packing = packing
        self._most_shared = shared
        self.cp = CpModel()
        self._alike: dict[tuple[int, ...], list[int]] = {}
        """Regions by the slots that each level may use."""
        for region, slots in sorted(packing.slots.items()):
            if slots:
                self._alike.setdefault(packing.rooms(region), []).append(region)
        gangs = range(len(packing.widths))
        self._whole: dict[tuple[int, tuple[int, ...]], IntVar] = {}
        """Regions of so many slots that a gang has for itself."""
        self._shared: dict[tuple[tuple[int, ...], int], list[IntVar]] = {}
        """Slots of each gang in a shared region, by its slots and number."""
        self._held: list[Terms] = [[] for _ in gangs]
        self._used: list[Terms] = [[] for _ in gangs]
        for rooms, regions in self._alike.items():
            self._add(rooms, len(regions))
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
        total = weighted(beyond)
        self.cp.add(total >= packing.at_least())
        self.cp.minimize(total)

    def _add(self, rooms: tuple[int, ...], regions: int) -> None:
        cp, packing, slots = self.cp, self.packing, rooms[0]
        taken: Terms = []
        for g, width in enumerate(packing.widths):
            room = rooms[packing.level(g)]
            most = min(regions, -(-width // room)) if room else 0
            whole = self._whole[g, rooms] = cp.new_int_var(0, most, f"whole[{g},{rooms}]")
            taken.append((whole, 1))
            self._held[g].append((whole, room))
            self._used[g].append((whole, 1))
        opened: list[IntVar] = []
        for i in range(min(regions, self._most_shared) if slots > 1 else 0):
            opened.append(cp.new_bool_var(f"open[{rooms},{i}]"))
            parts: list[IntVar] = []
            for g, width in enumerate(packing.widths):
                most = min(width, slots - 1, rooms[packing.level(g)])
                part = cp.new_int_var(0, most, f"part[{g},{rooms},{i}]")
                flag = cp.new_bool_var(f"used[{g},{rooms},{i}]")
                cp.add(part <= most * flag)
                cp.add_implication(flag, opened[i])
                parts.append(part)
                self._held[g].append((part, 1))
                self._used[g].append((flag, 1))
            self._shared[rooms, i] = parts
            for level, room in enumerate(rooms):
                those = [(part, 1) for g, part in enumerate(parts) if packing.level(g) >= level]
                cp.add(weighted([*those]) <= room * opened[i])
        for before, after in pairwise(opened):
            cp.add_implication(after, before)
        taken += [(each, 1) for each in opened]
        cp.add(weighted(taken) <= regions)

    def parts(self, solver: CpSolver) -> Parts:
        """Return the slots of each gang in each region, no more than it needs."""
        left = list(self.packing.widths)
        found: Parts = {g: {} for g in range(len(left))}

        def give(g: int, region: int, slots: int) -> None:
            slots = min(slots, left[g])
            if slots:
                left[g] -= slots
                found[g][region] = slots

        for rooms, regions in self._alike.items():
            free = iter(regions)
            for i in range(len(regions)):
                parts = [solver.value(part) for part in self._shared.get((rooms, i), ())]
                if any(parts):
                    region = next(free)
                    for g, part in enumerate(parts):
                        give(g, region, part)
            for g in range(len(left)):
                for _ in range(solver.value(self._whole[g, rooms])):
                    give(g, next(free), rooms[self.packing.level(g)])
        return found
