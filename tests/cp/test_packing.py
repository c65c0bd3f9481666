"""Gangs packed into regions: compared with trying everything."""

from __future__ import annotations

import random
from itertools import product

from ortools.sat.python.cp_model import CpSolver

from kantopt.cp.relaxed.packing import Packing

SEEDS = 25


def least_of_all(packing: Packing) -> int | None:
    """Fewest regions beyond the fewest, over all ways to give slots to gangs."""
    regions = list(packing.slots.values())
    found: int | None = None
    # Which gangs are in which region, and whether slots can be given so.
    for used in product(range(2 ** len(packing.widths)), repeat=len(regions)):
        beyond = sum(
            max(0, sum(mask >> g & 1 for mask in used) - fewest)
            for g, fewest in enumerate(packing.fewest)
        )
        if (found is None or beyond < found) and _fits(packing, regions, used):
            found = beyond
    return found


def _fits(packing: Packing, regions: list[int], used: tuple[int, ...]) -> bool:
    """By Hall: each set of gangs finds enough slots in all the regions where any of it may be."""
    return all(
        sum(w for g, w in enumerate(packing.widths) if chosen >> g & 1)
        <= sum(b for b, mask in zip(regions, used, strict=True) if mask & chosen)
        for chosen in range(1, 2 ** len(packing.widths))
    )


def test_packing_is_least() -> None:
    compared = 0
    for seed in range(SEEDS):
        rng = random.Random(seed)
        regions = [rng.randint(1, 5) for _ in range(rng.randint(2, 5))]
        widths = tuple(rng.randint(2, 8) for _ in range(rng.randint(1, 3)))
        packing = Packing(widths, tuple(-(-w // 5) for w in widths), dict(enumerate(regions)))
        expected = least_of_all(packing)
        if expected is None:
            continue
        bound, parts = packing.shared(_solver())
        assert packing.at_least() <= bound == expected, f"seed {seed}"
        assert parts is not None
        for g, width in enumerate(widths):
            assert sum(parts[g].values()) == width, f"seed {seed}"
        for d, slots in packing.slots.items():
            assert sum(part.get(d, 0) for part in parts.values()) <= slots, f"seed {seed}"
        assert packing.beyond(parts) == expected, f"seed {seed}"
        _apart_and_then_shared(packing, expected, f"seed {seed}")
        compared += 1
    assert compared >= 8


def least_with_levels(packing: Packing) -> int | None:
    """The same over all numbers of slots of each gang in each region, as levels may have them."""
    gangs = range(len(packing.widths))
    choices = []
    for region in packing.slots:
        rooms = packing.rooms(region)
        counts = product(*(range(min(w, rooms[0]) + 1) for w in packing.widths))
        choices.append([c for c in counts if _as_levels_may(packing, rooms, c)])
    found: int | None = None
    for parts in product(*choices):
        if all(sum(part[g] for part in parts) >= packing.widths[g] for g in gangs):
            used = [sum(part[g] > 0 for part in parts) for g in gangs]
            beyond = sum(max(0, u - f) for u, f in zip(used, packing.fewest, strict=True))
            found = beyond if found is None else min(found, beyond)
    return found


def _as_levels_may(packing: Packing, rooms: tuple[int, ...], parts: tuple[int, ...]) -> bool:
    return all(
        sum(part for g, part in enumerate(parts) if packing.level(g) >= level) <= room
        for level, room in enumerate(rooms)
    )


def test_packing_is_least_where_slots_are_kept_from_some() -> None:
    compared = kept = sharper = 0
    for seed in range(160):
        rng = random.Random(seed)
        slots = {d: rng.randint(1, 4) for d in range(3)}
        widths = tuple(rng.randint(1, 4) for _ in range(rng.randint(2, 3)))
        fewest = tuple(-(-w // 4) for w in widths)
        levels = tuple(rng.randint(0, 2) for _ in widths)
        first = {d: rng.randint(0, k) for d, k in slots.items()}
        second = {d: rng.randint(0, k) for d, k in first.items()}
        packing = Packing(widths, fewest, slots, levels, (first, second))
        expected = least_with_levels(packing)
        if expected is None:
            continue
        compared += 1
        kept += expected > (least_of_all(Packing(widths, fewest, slots)) or 0)
        bound, parts = packing.shared(_solver())
        assert packing.at_least() <= bound == expected, f"seed {seed}"
        assert parts is not None
        for d in slots:
            given = tuple(parts[g].get(d, 0) for g in range(len(widths)))
            assert _as_levels_may(packing, packing.rooms(d), given), f"seed {seed}"
        sharper += _apart_and_then_shared(packing, expected, f"seed {seed}")
    assert compared >= 30
    assert kept >= 5
    assert sharper >= 5


def _apart_and_then_shared(packing: Packing, expected: int, note: str) -> bool:
    """Check bounds where regions are shared only below what gangs use apart.

    Returns whether the bound apart is above what counting says.
    """
    bound, apart = packing.apart(_solver())
    assert packing.at_least() <= bound <= expected, note
    if apart is None:
        return bound > packing.at_least()
    value = packing.beyond(apart)
    assert value >= expected, note
    bound_below, closer = packing.shared(_solver(), value)
    assert bound_below == expected, note
    assert (closer is None) == (value == expected), note
    assert closer is None or packing.beyond(closer) == expected, note
    return bound > packing.at_least()


def test_as_close_as_gangs_can_be_apart_is_a_bound_where_each_region_is_needed() -> None:
    """Nothing is left over: who shares a region uses one more, and apart two do not fit as well."""
    slots = dict(enumerate((8, 8, 8, 8, 5, 5)))
    for widths, least in (((21, 21), 0), ((20, 22), 1)):
        packing = Packing(widths, (3, 3), slots)
        assert packing.at_least() == 0
        bound, _ = packing.apart(_solver())
        assert bound == least_of_all(packing) == least


def _solver() -> CpSolver:
    solver = CpSolver()
    solver.parameters.num_workers = 1
    return solver
