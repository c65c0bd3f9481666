"""The least disruption: bounds by column generation, better plans by choosing among the columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kantopt import shares
from kantopt.clock import Deadline, elapsed
from kantopt.cp.masters.choice import Choices, choose
from kantopt.search.chains.chain import settle
from kantopt.search.chains.packing import Packing
from kantopt.search.chains.scope import scope_of
from kantopt.search.columns.generation import MOST_CELLS, MOST_GROUPS, Generation
from kantopt.search.columns.patterns import Pattern, counts_after, patterns_of
from kantopt.search.columns.program import Program, holds_for_all, program_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.verify.disturbance import DISRUPTION

EFFORTS = ((0.1, 10), (0.5, 30), (1.0, 60), (2.0, 200))
"""How much less than the best patterns gain others may that are added, and how many per node."""
_ROUNDS = 300
_STEPS = 500
"""Rounds, and nodes of a search tree, in a deterministic run."""


def least_disruption(
    best: Incumbent, deadline: Deadline, bound: Callable[[int, int], None]
) -> None:
    """Bound evictions, moves and disruption cost from below, and look for plans that reach it.

    Works on the tiers of disruption that are not proved, in their order. Pods in the scope of
    chains (see :func:`kantopt.search.chains.scope.scope_of`) change places, all others stay where
    ``best`` has them. If other plans are possible (see
    :func:`kantopt.search.columns.program.holds_for_all`), no bound is told.

    Parameters
    ----------
    best
        Where to begin; takes each improvement.
    deadline
        When to be done; a deterministic one makes the work depend on the size alone.
    bound
        Told the index of a tier and a value that no plan goes below that is no worse in the tiers
        above than the best placement so far; called whenever the value rises.
    """
    _Run(best, deadline, bound).work()


@dataclass(slots=True)
class _Stage:
    """What is known of one tier while those above it keep their values."""

    locked: tuple[int, ...]
    program: Program
    generation: Generation | None = None
    chosen: bool = False
    """Whether there was a choice among the patterns already."""


class _Run:
    """The best placement, what is proved, and the stage of each tier."""

    def __init__(
        self, best: Incumbent, deadline: Deadline, bound: Callable[[int, int], None]
    ) -> None:
        self.best = best
        self.instance = best.instance
        self.tiers = best.tiers
        self.deadline = deadline
        self.tell = bound
        self.scope = scope_of(best.instance, best.placement)
        self.counts = [group.start for group in self.scope.groups]
        self.whole = holds_for_all(best.instance, self.scope)
        self.proved = list(best.floors)
        self.stages: dict[int, _Stage] = {}

    def over(self) -> bool:
        """Whether the time is up; a deterministic run counts its work instead."""
        return self.deadline.cuts()

    def open(self) -> list[int]:
        """Tiers of disruption in which something may be left to gain."""
        return [
            t
            for t, tier in enumerate(self.tiers)
            if tier.metric in DISRUPTION and self.best.values[t] > self.proved[t]
        ]

    def work(self) -> None:
        """Take the open tiers in turn, with growing effort."""
        groups = sum(any(group.request) for group in self.scope.groups)
        cells = groups * len(self.instance.nodes)
        if not cells or cells > MOST_CELLS or groups > MOST_GROUPS:
            return
        for slack, each in EFFORTS:
            for t in self.open():
                if self.over():
                    return
                if t in self.open():  # still
                    self._work_on(t, slack, each, (slack, each) == EFFORTS[-1])

    def _work_on(self, t: int, slack: float, each: int, final: bool) -> None:
        """Raise the bound of a tier, then choose among the patterns.

        Where pods that leave cost nothing, prices say little: evictions are bounded as if all
        nodes were one.
        """
        left = self.deadline.remaining()
        end = elapsed() + left * (1.0 if t == max(self.open()) else shares.DISRUPTION)
        priced = elapsed() + shares.DISRUPTION * (end - elapsed())
        stage = self._stage(t)
        program = stage.program
        if not any(program.objective.out):
            return
        if stage.generation is None:
            stage.generation = Generation(program, patterns_of(program, self.counts))
        generation = stage.generation
        rounds = generation.rounds

        def over() -> bool:
            if self.deadline.deterministic:
                return self.over() or generation.rounds - rounds >= _ROUNDS
            return self.over() or elapsed() > priced

        def raised() -> None:
            self._prove(t, program.least_whole(generation.bound))

        generation.converge(self.best.values[t], over, raised)
        if not self.over() and t in self.open():
            if not generation.collect(slack, each) and stage.chosen:
                return
            stage.chosen = True
            self._choose(
                t, generation, max(0.0, end - elapsed()) * (1.0 if final else shares.DISRUPTION)
            )

    def _stage(self, t: int) -> _Stage:
        """Return the stage of a tier as those above it are locked now."""
        stage = self.stages.get(t)
        if stage is None or stage.locked != self.best.values[:t]:
            program = program_of(self.scope, self.tiers, self.best.values, t)
            stage = self.stages[t] = _Stage(self.best.values[:t], program)
            self._prove(t, program.least_whole(program.merged_bound()))
        return stage

    def _prove(self, t: int, value: int) -> None:
        if value > self.proved[t] and self.whole:
            self.proved[t] = value
            self.tell(t, value)

    def _choose(self, t: int, generation: Generation, seconds: float) -> None:
        """Choose a pattern for each node so that the tier comes out best."""
        program = generation.program
        patterns = list(generation.patterns)
        groups = [self.scope.groups[g] for g in program.groups]
        all_of = program.numbers()
        numbers = replace(
            all_of,
            count=[min(k, g.most) for k, g in zip(all_of.count, groups, strict=True)],
            low=[max(k, g.least) for k, g in zip(all_of.low, groups, strict=True)],
            objective=replace(all_of.objective, limit=self.best.values[t]),
        )
        choices = Choices(
            [(p.node, p.outs, p.ins) for p in patterns], len(self.instance.nodes), numbers
        )
        deterministic = self.deadline.deterministic
        known = set(patterns_of(program, self.counts))
        chosen = choose(
            choices,
            (
                [k for k, pattern in enumerate(patterns) if pattern in known],
                [sum(self.counts[g].values()) for g in program.groups],
            ),
            seconds=None if deterministic else seconds,
            steps=_STEPS if deterministic else None,
        )
        if chosen is not None:
            self._try(program, [patterns[k] for k in chosen])

    def _try(self, program: Program, chosen: list[Pattern]) -> None:
        """Judge what the patterns make, as it is and with what else finds a place then."""
        counts = counts_after(program, chosen)
        packing = Packing(self.scope, self.tiers, self.best.values, 0)
        packing.load(counts)
        settle(packing, [], 0.0, None, self.over)
        for candidate in (packing.snapshot(), counts):
            placement = self.scope.placement(candidate)
            if self.best.offer(placement):
                self.counts = candidate
