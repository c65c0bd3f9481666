"""Blocks of pods that come as a whole, beside pods that are there: mixed-integer rounding.

A domain that has room for ``limit`` bears ``standing`` now, and blocks of at least ``width`` come
or do not. What stays of the standing is at most ``min(standing, limit - width * s)`` beside ``s``
blocks. Of whole numbers of blocks that is cut off more closely than by the row alone, which lets
parts of blocks into the gaps (Nemhauser and Wolsey 1990, Math. Programming 46).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar

from kantopt.cp.relaxed.kinds import PodKind
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.relaxed.rows import Row
from kantopt.cp.variables import Terms, weighted


@dataclass(frozen=True, slots=True)
class Block:
    """Blocks of pods in a domain: how many, and how many pods of which kinds each has at least."""

    number: IntVar
    pods: tuple[tuple[tuple[PodKind, ...], int], ...]

    @property
    def kinds(self) -> tuple[int, ...]:
        """Kinds of their pods, as far as each of them has any for certain."""
        return tuple(kind.index for kinds, least in self.pods if least for kind in kinds)

    def width(self, m: Relaxation, rows: Mapping[int, Row]) -> int:
        """Return what one of them takes at least of rows, which are given by class."""
        total = 0
        for kinds, least in self.pods:
            here = [(k.index, row) for c, row in rows.items() for k in kinds if c in m.at[k.index]]
            total += least * min((row.weights.get(k, 0) for k, row in here), default=0)
        return total


def add_rounding(
    m: Relaxation, cp: CpModel, domains: Iterable[tuple[Sequence[int], Sequence[Block]]]
) -> None:
    """Add how much of what stands in domains, given by their classes, stays beside blocks.

    ``cp`` is the model of the relaxation or a copy of it. No two blocks share pods: what these take
    would count twice.
    """
    standing: dict[int, list[tuple[int, int]]] = {}
    for kind in m.kinds.pods:
        if kind.one.running and not kind.fixed:
            for c, here in m.classes.standing(kind).items():
                standing.setdefault(c, []).append((kind.index, here))
    for classes, blocks in domains:
        by_unit = [{row.unit: row for row in m.rows[c]} for c in classes]
        for unit in sorted(set.intersection(*map(set, by_unit))):
            rows = {c: units[unit] for c, units in zip(classes, by_unit, strict=True)}
            _add(m, cp, rows, standing, blocks)


def _add(
    m: Relaxation,
    cp: CpModel,
    rows: Mapping[int, Row],
    standing: Mapping[int, Sequence[tuple[int, int]]],
    blocks: Sequence[Block],
) -> None:
    limit = sum(row.limit for row in rows.values())
    now = 0
    stays: Terms = []
    for c, row in rows.items():
        for k, here in standing.get(c, ()):
            if weight := row.weights.get(k, 0):
                now += weight * here
                stays.append((m.stay[k].get(c, m.at[k][c]), weight))
    widths = [(block.number, block.width(m, rows)) for block in blocks] if stays else []
    for width in sorted({width for _, width in widths if width}):
        beside, gap = divmod(limit - now, width)
        # Without a gap the row says as much, and so it does where no more come than have room.
        if gap and 0 <= beside < limit // width:
            numbers: Terms = [(number, w // width) for number, w in widths if w >= width]
            more = weighted(numbers) - beside
            cp.add(weighted(stays) <= now - (width - gap) * more)
