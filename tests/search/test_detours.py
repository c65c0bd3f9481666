"""An order is found if there is one, with the fewest stop-overs: beside trying everything."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest

from kantopt.problem.difference import difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.order.detours import way_round
from kantopt.search.order.sequence import sequence
from kantopt.search.order.units import units_of
from kantopt.verify.replay import replay
from tests.campaign import some
from tests.verify.world import job, node, pods, put, question

SEEDS, BLOCKS = 280, 4
Where = tuple[int, ...]


@dataclass(frozen=True)
class Puzzle:
    """Pods that must go elsewhere on nodes with little room; nodes and pods are numbers."""

    rooms: tuple[int, ...]
    sizes: tuple[int, ...]
    jobs: tuple[int, ...]
    """Job of each pod; pods of one job are equal."""
    live: tuple[bool, ...]
    """By job."""
    start: Where
    goal: Where
    slots: int
    """Restarts at a time."""
    limit: int | None

    def key(self, where: Where) -> tuple[tuple[int, int], ...]:
        return tuple(sorted(zip(self.jobs, where, strict=True)))

    def asked(self) -> tuple[Instance, Placement]:
        """The question, and the placement that is wanted."""
        jobs = []
        for j, live in enumerate(self.live):
            mine = [p for p, job_of in enumerate(self.jobs) if job_of == j]
            on = [f"n{self.start[p]}" for p in mine]
            podset = pods(count=len(mine), cpu=self.sizes[mine[0]], minCount=0, on=on)
            jobs.append(job(f"j{j}", podset, moveMode="live" if live else "restart"))
        budget = {"name": "b", "selector": {}, "disruptionsAllowed": self.slots}
        instance = question(
            [node(f"n{i}", cpu=room) for i, room in enumerate(self.rooms)],
            jobs,
            podDisruptionBudgets=[budget],
            **({} if self.limit is None else {"limits": {"moves": self.limit}}),
        )
        target = {
            f"j{j}": [f"n{self.goal[p]}" for p, job_of in enumerate(self.jobs) if job_of == j]
            for j in range(len(self.live))
        }
        return instance, put(instance, target)


def drawn(seed: int) -> Puzzle | None:
    """Draw a puzzle; ``None`` if nothing came of the draw."""
    rng = random.Random(seed)
    rooms = tuple(rng.choice((3, 4, 4, 6)) for _ in range(rng.choice((3, 3, 4))))
    live = tuple(rng.random() < 0.75 for _ in range(rng.randint(2, 5)))
    sizes: list[int] = []
    jobs: list[int] = []
    for j in range(len(live)):
        size = rng.choice((1, 2, 2, 3))
        for _ in range(rng.choice((1, 1, 1, 2))):
            sizes.append(size)
            jobs.append(j)
    sizes, jobs = sizes[:6], jobs[:6]
    live = live[: jobs[-1] + 1]
    wheres = []
    for _ in range(2):
        for _ in range(50):
            where = tuple(rng.randrange(len(rooms)) for _ in sizes)
            if fits(rooms, tuple(sizes), where):
                wheres.append(where)
                break
    if len(wheres) < 2:
        return None
    limit = rng.choice((None, None, None, 7))
    return Puzzle(
        rooms,
        tuple(sizes),
        tuple(jobs),
        live,
        wheres[0],
        wheres[1],
        rng.choice((1, 1, 2, 3)),
        limit,
    )


def fits(rooms: tuple[int, ...], sizes: tuple[int, ...], where: Where) -> bool:
    used: Counter[int] = Counter()
    for size, n in zip(sizes, where, strict=True):
        used[n] += size
    return all(used[n] <= room for n, room in enumerate(rooms))


def movers(puzzle: Puzzle) -> tuple[list[int], Counter[tuple[int, int]]]:
    """Pods that have to move, and which places of which job they have to fill."""
    here = Counter(zip(puzzle.jobs, puzzle.start, strict=True))
    there = Counter(zip(puzzle.jobs, puzzle.goal, strict=True))
    leave = here - there
    found = []
    for p, place in enumerate(zip(puzzle.jobs, puzzle.start, strict=True)):
        if leave[place] > 0:
            leave[place] -= 1
            found.append(p)
    return found, there - here


def fewest_moves(puzzle: Puzzle) -> int | None:
    """Moves of the shortest order, by trying all; ``None`` if there is none."""
    moving, wanted = movers(puzzle)
    goal = puzzle.key(puzzle.goal)
    layers: dict[int, list[Where]] = {0: [puzzle.start]}
    best = {puzzle.key(puzzle.start): 0}
    moves = 0
    while layers:
        for where in layers.pop(moves, []):
            if best[puzzle.key(where)] < moves:
                continue
            if puzzle.key(where) == goal:
                return moves
            for then, pods_moved in following(puzzle, moving, wanted, where):
                key, total = puzzle.key(then), moves + pods_moved
                if total < best.get(key, total + 1):
                    best[key] = total
                    layers.setdefault(total, []).append(then)
        moves += 1
    return None


def following(
    puzzle: Puzzle, moving: list[int], wanted: Counter[tuple[int, int]], where: Where
) -> Iterator[tuple[Where, int]]:
    """What one wave can make of a state: one pod moved, or restarts together."""
    nodes = range(len(puzzle.rooms))
    for p in moving:
        live = puzzle.live[puzzle.jobs[p]]
        if not live and puzzle.slots < 1:
            continue
        for n in nodes:
            then = (*where[:p], n, *where[p + 1 :])
            if n != where[p] and fits(puzzle.rooms, puzzle.sizes, then):
                yield then, 1
    restarts = [p for p in moving if not puzzle.live[puzzle.jobs[p]]]
    ends = [
        [where[p], *sorted({n for job_of, n in wanted if job_of == puzzle.jobs[p]})]
        for p in restarts
    ]
    for chosen in product(*ends):
        moved = [(p, n) for p, n in zip(restarts, chosen, strict=True) if n != where[p]]
        if 2 <= len(moved) <= puzzle.slots:
            changed = list(where)
            for p, n in moved:
                changed[p] = n
            if fits(puzzle.rooms, puzzle.sizes, tuple(changed)):
                yield tuple(changed), len(moved)


def compared(seed: int) -> tuple[bool, bool] | None:
    """Compare with trying everything; say whether there is an order, and one that stops over.

    ``None`` if nothing is drawn that must move, or nothing that may.
    """
    puzzle = drawn(seed)
    if puzzle is None:
        return None
    instance, placement = puzzle.asked()
    needed = len(movers(puzzle)[0])
    if needed == 0 or (puzzle.limit is not None and needed > puzzle.limit):
        return None
    least = fewest_moves(puzzle)
    possible = least is not None and (puzzle.limit is None or least <= puzzle.limit)
    waves = sequence(instance, placement)
    assert (waves is not None) is possible, f"seed {seed}"
    units = way_round(instance, units_of(instance, difference(instance, placement)))
    assert (units is not None) is possible, f"seed {seed}"
    if units is None or waves is None:
        return False, False
    assert sum(unit.moves for unit in units) == least, f"seed {seed}"
    assert sum(a.pods for wave in waves for a in wave.actions) == least, f"seed {seed}"
    assert replay(instance, waves)[0] == [], f"seed {seed}"
    return True, least != needed


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_an_order_is_found_if_there_is_one(block: int) -> None:
    told = [found for seed in range(block, SEEDS, BLOCKS) if (found := compared(seed))]
    orders = sum(order for order, _ in told)
    assert orders > len(told) / 2
    assert any(around for _, around in told)
    assert len(told) > orders, "some have no order at all"


if __name__ == "__main__":
    every = [found for seed in range(int(sys.argv[1])) if (found := compared(seed))]
    print(f"{len(every)} puzzles, {sum(order for order, _ in every)} with an order, ", end="")
    print(f"{sum(around for _, around in every)} of these by a stop-over: all as by trying all")
