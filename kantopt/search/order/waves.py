"""From units and what each waits for to the fewest waves in which nobody waits in vain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantopt.problem.actions import Wave
from kantopt.problem.difference import Change, Numbering
from kantopt.search.order.units import Unit

Done = Sequence[tuple[Unit, frozenset[int]]]
"""Units in an order that is legal, each with the numbers of those that it waits for."""


def widest(done: Done, before: dict[int, int]) -> tuple[Wave, ...]:
    """Gather units into waves without making any unit wait for more than it must.

    Two units share a wave if they wait for the same units and the same units wait for them. The
    waves are listed by the length of the longest chain before them.
    """
    waits = [_latest(known, before) for _, known in done]
    followers: list[list[int]] = [[] for _ in done]
    depth = [0] * len(done)
    for v, known in enumerate(waits):
        for w in known:
            followers[w].append(v)
            depth[v] = max(depth[v], depth[w] + 1)
    together: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for v in range(len(done)):
        together.setdefault((waits[v], tuple(followers[v])), []).append(v)
    groups = sorted(together.values(), key=lambda group: (depth[group[0]], group[0]))
    wave_of = {v: i for i, group in enumerate(groups, start=1) for v in group}
    numbering = Numbering()
    return tuple(
        Wave(
            i,
            tuple(sorted({wave_of[w] for w in waits[group[0]]})),
            numbering.actions(change for v in group for change in done[v][0].changes),
        )
        for i, group in enumerate(groups, start=1)
    )


def _latest(known: frozenset[int], before: dict[int, int]) -> tuple[int, ...]:
    """Of those waited for the ones that no other of them waits for."""
    latest: list[int] = []
    covered = 0
    for w in sorted(known, reverse=True):
        if not covered >> w & 1:
            latest.append(w)
            covered |= before[w]
    return tuple(sorted(latest))


def one_wave(changes: Iterable[Change]) -> tuple[Wave, ...]:
    """Make one wave of all changes."""
    return (Wave(1, (), Numbering().actions(changes)),)


def in_a_row(done: Done) -> tuple[Wave, ...]:
    """Make each unit a wave that waits for the one before it, needed or not."""
    numbering = Numbering()
    return tuple(
        Wave(i, (i - 1,) if i > 1 else (), numbering.actions(unit.changes))
        for i, (unit, _) in enumerate(done, start=1)
    )
