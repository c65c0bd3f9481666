"""Moves that lose their purpose with the steps that are cut, and evictions for such moves."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace

from kantopt.planning.later.prefix import LegalPrefix, Outline, Steps, legal_prefix
from kantopt.problem.actions import Action, without_leftovers
from kantopt.problem.difference import apply
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Metric
from kantopt.verify.metrics import measure

_CAUSE = ("needless", "no step that is left needs it, and objectives are no worse without it")


def without_needless(
    instance: Instance,
    outline: Sequence[Outline],
    steps: Steps,
    prefix: LegalPrefix,
    left: Collection[int] = (),
) -> LegalPrefix:
    """Leave out moves for which a step that is cut waits, and which nothing that is left needs.

    And moves off nodes that pods of cut steps were to leave: perhaps only together they were worth
    anything, as where a node is to be empty.

    A move goes if all other steps are as legal without it, and the objectives, in their order, no
    worse; with it go evictions that were for nothing else. The last go first, for those before may
    have made room for them; of many moves several are asked about at once.

    Parameters
    ----------
    instance, outline, steps
        As of :func:`kantopt.planning.later.prefix.longest_legal_prefix`.
    prefix
        What is left so far; the moves that go are cut from it.
    left
        Nodes that steps which are cut were to leave, where moves have goals of their own.
    """
    moves = _doubtful(outline, prefix, _together(instance, left))
    return _Needed(instance, outline, steps, prefix).left([*moves][::-1])


_Moves = list[tuple[int, Action]]
"""Moves, each with the number of its wave."""


def _together(instance: Instance, nodes: Collection[int]) -> set[int]:
    """Some nodes, and those that share a domain with them that is to be empty."""
    found = set(nodes)
    for tier in tiers_of(instance):
        if tier.metric is Metric.DOMAINS_IN_USE and tier.level is not None:
            domain_of = instance.topology.domain_of[tier.level]
            domains = {domain_of[n] for n in nodes} - {None}
            found |= {n for n, domain in enumerate(domain_of) if domain in domains}
    return found


def _doubtful(
    outline: Sequence[Outline], prefix: LegalPrefix, nodes: Collection[int]
) -> Iterator[tuple[int, Action]]:
    """Moves that are left, off some nodes or in waves that those of cut steps wait for.

    In the order of the plan.
    """
    awaited: set[int] = set()
    for number, after, ids in reversed(outline):
        if number in awaited or not prefix.causes.keys().isdisjoint(ids):
            awaited.update(after)
    for wave in prefix.waves:
        for action in wave.actions:
            leaves = action.source is not None and action.source.node in nodes
            if action.kind == "move" and (leaves or wave.id in awaited):
                yield wave.id, action


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
        """Let moves go if all other steps stay, and the objectives get no worse.

        All but evictions: who left for these moves alone has a place without them.
        """
        was = self._prefix
        causes = {**was.causes, **dict.fromkeys(ids, _CAUSE)}
        steps = replace(self._steps, causes=causes, moot=was.moot.union(ids))
        found = legal_prefix(self._instance, self._outline, steps)
        more = found.causes.keys() - causes.keys()
        if any(self._steps.actions[each].kind != "evict" for each in more):
            return False
        found = replace(found, causes={**found.causes, **dict.fromkeys(more, _CAUSE)})
        values = self._measured(found)
        if values > self._values:
            return False
        self._prefix, self._values = found, values
        return True

    def _measured(self, prefix: LegalPrefix) -> tuple[int, ...]:
        final = apply(self._instance.current, prefix.waves)
        return measure(self._instance, without_leftovers(final, prefix.waves), self._tiers)
