"""Moves that lose their purpose with the steps that are cut from a plan."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from kantopt.planning.prefix import LegalPrefix, Outline, Steps, legal_prefix
from kantopt.problem.actions import Action, without_leftovers
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import measure
from kantopt.verify.waves.groups import apply

_CAUSE = ("needless", "no step that is left needs it, and objectives are no worse without it")


def without_needless(
    instance: Instance, outline: Sequence[Outline], steps: Steps, prefix: LegalPrefix
) -> LegalPrefix:
    """Leave out moves for which a step that is cut waits, and which nothing that is left needs.

    A move goes if all other steps are as legal without it, and the objectives, in their order, no
    worse. The last go first, for those before may have made room for them; of many moves several
    are asked about at once.

    Parameters
    ----------
    instance, outline, steps
        As of :func:`kantopt.planning.prefix.longest_legal_prefix`.
    prefix
        What is left so far; the moves that go are cut from it.
    """
    return _Needed(instance, outline, steps, prefix).left([*_awaited(outline, prefix)][::-1])


_Moves = list[tuple[int, Action]]
"""Moves, each with the number of its wave."""


def _awaited(outline: Sequence[Outline], prefix: LegalPrefix) -> Iterator[tuple[int, Action]]:
    """Moves that are left, in waves that those of cut steps wait for, in the order of the plan."""
    awaited: set[int] = set()
    for number, after, ids in reversed(outline):
        if number in awaited or not prefix.causes.keys().isdisjoint(ids):
            awaited.update(after)
    for wave in prefix.waves:
        if wave.id in awaited:
            yield from ((wave.id, action) for action in wave.actions if action.kind == "move")


class _Needed:
    """What is left of a plan while moves go."""

    def __init__(
        self, instance: Instance, outline: Sequence[Outline], steps: Steps, prefix: LegalPrefix
    ) -> None:
        self._instance, self._outline = instance, outline
        self._steps, self._prefix = steps, prefix
        self._tiers = tiers_of(instance)
        self._values = self._measured(prefix)

    def left(self, moves: _Moves, level: int = 0) -> LegalPrefix:
        """Return what is left without as many moves as can go."""
        groups: dict[Hashable, _Moves] = {}
        for wave, move in moves:
            # Pods of a wave may change places, and a job may restart as a whole.
            common = (wave, self._instance.podsets[move.podset].job, move.id)[level]
            groups.setdefault(common, []).append((wave, move))
        self._halve(list(groups.values()), level)
        return self._prefix

    def _halve(self, groups: Sequence[_Moves], level: int) -> None:
        if not groups or self._go([move.id for group in groups for _, move in group]):
            return
        if len(groups) > 1:
            middle = len(groups) // 2
            self._halve(groups[:middle], level)
            self._halve(groups[middle:], level)
        elif len(groups[0]) > 1:
            self.left(groups[0], level + 1)

    def _go(self, ids: Sequence[str]) -> bool:
        """Let moves go if all other steps stay, and the objectives get no worse."""
        was = self._prefix
        causes = {**was.causes, **dict.fromkeys(ids, _CAUSE)}
        steps = replace(self._steps, causes=causes, moot=was.moot.union(ids))
        found = legal_prefix(self._instance, self._outline, steps)
        if found.causes.keys() != causes.keys():
            return False
        values = self._measured(found)
        if values > self._values:
            return False
        self._prefix, self._values = found, values
        return True

    def _measured(self, prefix: LegalPrefix) -> tuple[int, ...]:
        final = apply(self._instance.current, prefix.waves)
        return measure(self._instance, without_leftovers(final, prefix.waves), self._tiers)
