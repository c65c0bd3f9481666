"""A question about one job under some of its rules: has it a place, has it none?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from kantopt.clock import Deadline
from kantopt.cp.reach import Reached, reach, relaxed_impossible
from kantopt.problem.derived.condensed import condensed
from kantopt.problem.derived.focus import is_placed, under
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.schema.model import Limits, Rule
from kantopt.schema.rule_kinds import ARRIVAL_RULES
from kantopt.search.construct import How, construct
from kantopt.search.explain.decide import is_small
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check

DISPENSABLE = (
    Rule.GANG_VICTIMS,
    Rule.SPREAD,
    Rule.AFFINITY,
    Rule.SLICES,
    Rule.LIMITS,
    Rule.DISRUPTION,
    Rule.ANTI_AFFINITY,
    Rule.PRIORITY,
    Rule.PINNED,
    Rule.QUOTA,
    Rule.TOPOLOGY,
    Rule.ELIGIBILITY,
    Rule.GANG,
    Rule.REQUIRED,
    Rule.DEVICES,
    Rule.CAPACITY,
)
"""In which order to try to do without rules: what is plain to an operator stays the longest."""


class Puzzle:
    """A question about one job under some of its rules.

    Parameters
    ----------
    question
        A question that is known to be impossible.
    empty
        Ask about the empty cluster, where nothing else runs but daemons.
    """

    def __init__(self, question: Instance, j: int, deadline: Deadline, *, empty: bool) -> None:
        self.question = question
        self.j = j
        self.deadline = deadline
        self.empty = empty
        self.whole = not empty and is_small(question, (Rule.ELIGIBILITY,))
        """Solve the question itself; else what is left of it when all that may leave is gone."""

    def rules(self) -> tuple[Rule, ...]:
        """Rules that have anything to say, the dispensable ones first."""
        return tuple(rule for rule in DISPENSABLE if self._speaks(rule))

    def _speaks(self, rule: Rule) -> bool:
        question, gang = self.question, self.question.jobs[self.j].is_gang
        if not question.on(rule):
            return False
        match rule:
            case Rule.GANG:
                return gang
            case Rule.REQUIRED:
                return not gang
            case Rule.SPREAD:
                return bool(question.spreads)
            case Rule.ANTI_AFFINITY:
                return bool(question.anti_affinities)
            case Rule.AFFINITY:
                return not self.empty and bool(question.affinities)
            case Rule.TOPOLOGY | Rule.SLICES:
                needs = question.topology_needs
                return any(
                    (need.required if rule is Rule.TOPOLOGY else need.slice_level) is not None
                    for need in needs
                    if self.whole or need.job == self.j
                )
            case Rule.DEVICES:
                own = question.jobs[self.j].podsets
                return any(question.podsets[s].devices for s in own) or self.whole
            case Rule.QUOTA:
                return not self.empty and question.jobs[self.j].queue is not None
            case Rule.PINNED | Rule.PRIORITY:
                return not self.empty
            case Rule.GANG_VICTIMS:
                return self.whole
            case Rule.DISRUPTION:
                return not self.empty and bool(question.budgets)
            case Rule.LIMITS:
                owners = any(job.max_moves is not None for job in question.jobs)
                return not self.empty and (owners or question.model.limits != Limits())
        return True

    def ask(self, rules: Sequence[Rule]) -> tuple[Reached, bool]:
        """Look for a placement under some rules; say as well whether the judge found it legal."""
        if self.whole:
            answer = reach(self.question, self.j, rules, self.deadline)
            if answer.placement is None:
                return answer, False
            return answer, not check(self.question, answer.placement, rules)
        leaves = self.leaving(rules)
        small = condensed(self.question, self.j, leaves, empty=self.empty)
        own = [*(r for r in rules if r in ARRIVAL_RULES), Rule.PINNED]
        answer = reach(small.instance, 0, own, self.deadline)
        if answer.placement is None or self.empty:
            return answer, answer.placement is not None
        if not check(self.question, small.lift(answer.placement, leaves), rules):
            return answer, True
        return self._as_a_whole(rules, answer)

    def _as_a_whole(self, rules: Sequence[Rule], best: Reached) -> tuple[Reached, bool]:
        """There is a place if pods that may move are simply gone: is there one for them as well?"""
        asked = under(self.question, self.j, rules)
        if relaxed_impossible(asked, self.deadline):
            return Reached(None, impossible=True), False
        placement = construct(asked, self.deadline, How(Strategy.BEST_FIT, relocate=True))
        placed = is_placed(asked, self.j, placement)
        return best, placed and not check(self.question, placement, rules)

    def leaving(self, rules: Collection[Rule]) -> Callable[[PodSet], bool]:
        """Return which running pod sets of others may leave their nodes under some rules."""
        question, j = self.question, self.j
        if self.empty:
            return lambda podset: podset.job != j and not podset.daemon
        return freedom_of(question, rules).may_leave_for(j)
