"""Nodes and pieces that are alike, and which of their pods could stay on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

from kantopt.verify.slots.pieces import Two, taken_by
from kantopt.verify.slots.program import Program

Counts = tuple[tuple[int, int], ...]
"""Kinds and pods of each, by kind."""

Lack = tuple[int, bool, Two | None]
"""What a piece has beyond whole units, whether it counts, and all of its room if that is asked."""

MOST_CHOICES = 200_000
"""Most ways to keep some of the pods, summed over the classes."""
MOST_PIECES = 64
"""Most pieces of a node."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Pods of one class that stay, and what they take of each piece."""

    pods: Counts
    load: Two


@dataclass(frozen=True, slots=True)
class PieceClass:
    """Pieces with the same room and the same pods, which admit the same kinds."""

    room: Two
    beyond: int
    counts: bool
    full: Two | None
    welcome: tuple[int, ...]
    home: Counts
    choices: tuple[Kept, ...]

    @property
    def lack(self) -> Lack:
        """What decides how much the piece lacks at so much room left."""
        return self.beyond, self.counts, self.full


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes with the same pieces and the same pods that take all pieces at once.

    ``nodes`` holds, with each node, the positions of its pieces in the order of ``pieces``.
    """

    pieces: tuple[int, ...]
    welcome: tuple[int, ...]
    home: Counts
    choices: tuple[Kept, ...]
    nodes: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Rooms:
    """All classes of a program."""

    pieces: tuple[PieceClass, ...]
    nodes: tuple[NodeClass, ...]


def rooms_of(program: Program) -> Rooms | None:
    """Find the classes; ``None`` if there are too many pieces or ways to keep some of the pods."""
    if any(len(on_node) > MOST_PIECES for on_node in program.pieces.of_node):
        return None
    narrow, wide = _homes(program)
    pieces: dict[tuple[Two, int, bool, Two | None, tuple[int, ...], Counts], int] = {}
    nodes: dict[
        tuple[tuple[int, ...], tuple[int, ...], Counts], list[tuple[int, tuple[int, ...]]]
    ] = {}
    for n, on_node in enumerate(program.pieces.of_node):
        if not on_node:
            continue
        welcome = [k for k, kind in enumerate(program.kinds) if n in kind.allowed]
        small = tuple(k for k in welcome if program.kinds[k].ask.width == 1)
        large = tuple(k for k in welcome if program.kinds[k].ask.width == len(on_node) > 1)
        ids = []
        for i, piece in enumerate(on_node):
            what = piece.room, piece.beyond, piece.counts, piece.full
            key = (*what, small, narrow.get((n, i), ()))
            ids.append(pieces.setdefault(key, len(pieces)))
        order = tuple(sorted(range(len(ids)), key=lambda i: (ids[i], i)))
        sorted_ids = tuple(ids[i] for i in order)
        nodes.setdefault((sorted_ids, large, wide.get(n, ())), []).append((n, order))
    homes = [*(key[5] for key in pieces), *(key[2] for key in nodes)]
    if sum(prod(pods + 1 for _, pods in home) for home in homes) > MOST_CHOICES:
        return None
    return Rooms(
        tuple(PieceClass(*key, tuple(_choices(program, key[5]))) for key in pieces),
        tuple(
            NodeClass(*key, tuple(_choices(program, key[2])), tuple(members))
            for key, members in nodes.items()
        ),
    )


def _homes(program: Program) -> tuple[dict[tuple[int, int], Counts], dict[int, Counts]]:
    """Pods that run now on one piece, by node and position, and on all pieces of a node."""
    narrow: dict[tuple[int, int], Counter[int]] = {}
    wide: dict[int, Counter[int]] = {}
    for k, kind in enumerate(program.kinds):
        for s in kind.podsets:
            for spot, pods in program.instance.podsets[s].current.items():
                positions = taken_by(program.instance, program.tier, spot)
                if len(positions) == 1:
                    narrow.setdefault((spot.node, positions[0]), Counter())[k] += pods
                else:
                    wide.setdefault(spot.node, Counter())[k] += pods
    return (
        {key: tuple(sorted(counts.items())) for key, counts in narrow.items()},
        {n: tuple(sorted(counts.items())) for n, counts in wide.items()},
    )


def _choices(program: Program, home: Counts) -> Iterator[Kept]:
    """Ways to keep some of the pods; those that nothing may disturb are always kept."""
    options: list[Iterable[int]] = []
    for k, pods in home:
        kind = program.kinds[k]
        still = not kind.allowed and kind.least == kind.count
        options.append((pods,) if still else range(pods + 1))
    for counts in product(*options):
        kept = tuple((k, pods) for (k, _), pods in zip(home, counts, strict=True) if pods)
        load = [0, 0]
        for k, pods in kept:
            load[0] += pods * program.kinds[k].ask.request[0]
            load[1] += pods * program.kinds[k].ask.request[1]
        yield Kept(kept, (load[0], load[1]))
