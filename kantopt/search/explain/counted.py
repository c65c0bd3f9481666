"""Conflicts of large questions by counting, for jobs about which counting is exact.

That the job has no place follows from sums over nodes, domains and queues with all gone that may
leave, or from the relaxation with merged nodes. That a rule is needed is shown by a placement that
breaks no other, as everywhere: one that is known, one that disturbs nobody, or one where others
leave the nodes that the job takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kantopt.clock import Deadline
from kantopt.cp.reach import Reached, relaxed_impossible
from kantopt.cp.switches import Group
from kantopt.problem.derived.focus import under, with_model
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Limits, Rule
from kantopt.search.explain.counting import Counting, Gone, nobody
from kantopt.search.explain.displace import Displacing
from kantopt.search.explain.puzzle import DISPENSABLE, Puzzle
from kantopt.search.shapes import Ints
from kantopt.verify.rules import check

_EASED = (Rule.PRIORITY, Rule.LIMITS)
"""Rules of which a part is left out by changing the question."""


class CountedPuzzle(Puzzle):
    """A large question about one job that counting decides, as far as others stay where they are.

    Parameters
    ----------
    known
        Placements that have the job somewhere, under other limits or rules.
    """

    def __init__(
        self,
        question: Instance,
        j: int,
        deadline: Deadline,
        *,
        empty: bool,
        known: Sequence[Placement] = (),
    ) -> None:
        super().__init__(question, j, deadline, empty=empty)
        self.counting = Counting(question, j)
        self._known = list(known)

    def ask(self, rules: Sequence[Rule]) -> tuple[Reached, bool]:
        """Look for a placement under some rules; say as well whether the judge found it legal."""
        gone = self.leaving(rules)
        counting = self.counting
        if not counting.fits(rules, gone) or (not self.empty and counting.too_much(rules)):
            return Reached(None, impossible=True), False
        if self.empty:
            return Reached(None, impossible=False), True
        placement = self._witness(self.question, rules)
        if placement is not None:
            return Reached(placement, impossible=False), True
        impossible = relaxed_impossible(under(self.question, self.j, rules), self.deadline)
        return Reached(None, impossible=impossible), False

    def _witness(self, question: Instance, rules: Sequence[Rule]) -> Placement | None:
        """Find a placement of the job that breaks none of some rules."""
        for placement in self._known:
            if not check(question, placement, rules):
                return placement
        for placement in self._candidates(question, rules):
            if not check(question, placement, rules):
                self._known.append(placement)
                return placement
            if self.deadline.over():
                break
        return None

    def _candidates(self, question: Instance, rules: Sequence[Rule]) -> Iterator[Placement]:
        counting = self.counting
        if question is not self.question:
            counting = Counting(question, self.j)
        still = counting.placed(rules)
        if still is not None:
            yield still
        else:
            yield from Displacing(question, counting, rules).placements()

    def narrowed(
        self, rules: Sequence[Rule], needed: frozenset[Rule], node_class: Callable[[int], int]
    ) -> tuple[tuple[Group, ...], bool]:
        """Narrow rules down to what they are about; say whether nothing more can be left out."""
        classes: Ints = np.array([node_class(n) for n in range(self.counting.size)], np.int64)
        kept = [group for rule in DISPENSABLE if rule in rules for group in self._of(rule, classes)]
        loose = frozenset(group for group in kept if group[0] in _EASED)
        minimal = True
        for group in tuple(kept):
            rest = [other for other in kept if other != group]
            eased = self._eased(loose.difference(rest))
            if self._impossible(rules, rest, classes, eased):
                kept = rest
            elif not (
                (group[0] in needed and not any(other[0] is group[0] for other in rest))
                or self._fits(rules, rest, classes, nobody)
                or (eased is not self.question and self._witness(eased, rules) is not None)
            ):
                minimal = False
        # Of rules without groups all is listed: that is one thing, or it was not looked at.
        told = {group[0] for group in kept}
        others = [rule for rule in rules if rule not in told]
        minimal = minimal and needed.issuperset(others) and Rule.DISRUPTION not in others
        return tuple(group for rule in rules for group in kept if group[0] is rule), minimal

    def _of(self, rule: Rule, classes: Ints) -> Iterator[Group]:
        """What a rule is about, piece by piece."""
        question, j = self.question, self.j
        match rule:
            case Rule.CAPACITY:
                for c in np.unique(classes).tolist():
                    yield rule, ("nodes", c)
            case Rule.ELIGIBILITY:
                for c in np.unique(classes[~self.counting.admitted]).tolist():
                    yield rule, ("nodes", c)
            case Rule.GANG | Rule.REQUIRED:
                yield rule, ("job", j)
            case Rule.TOPOLOGY:
                for need in question.needs_of.get(j, ()):
                    if need.required is not None:
                        yield rule, ("need", need.index)
            case Rule.QUOTA:
                yield from ((rule, each) for each in self.counting.over_quota(self.counting.wanted))
            case Rule.PRIORITY:
                levels = {
                    question.jobs[p.job].priority
                    for p in question.podsets
                    if p.running and p.job != j and not question.may_evict_for(j, p.job)
                }
                for level in sorted(levels):
                    yield rule, ("priority", level)
            case Rule.LIMITS:
                for kind in Limits.model_fields:
                    if getattr(question.model.limits, kind) is not None:
                        yield rule, (kind,)
                for job in question.jobs:
                    if job.max_moves is not None and job.most_moves is not None:
                        yield rule, ("max_moves", job.index)

    def _eased(self, groups: Collection[Group]) -> Instance:
        """Return the question without some limits, with jobs of some priorities below the job's."""
        question = self.question
        named = {subject for rule, subject in groups if rule is Rule.LIMITS}
        free = {subject[1] for subject in named if subject[0] == "max_moves"}
        lifted = {str(subject[0]): None for subject in named if subject[0] != "max_moves"}
        if named:
            limits = question.model.limits.model_copy(update=lifted)
            question = with_model(question, limits=limits)
            bound = [
                replace(job, max_moves=None) if job.index in free else job for job in question.jobs
            ]
            per_job = limits.moves_per_job
            jobs = tuple(
                job if job.most_moves is None else replace(job, most_moves=job.move_limit(per_job))
                for job in bound
            )
            question = replace(question, jobs=jobs)
        below = {subject[1] for rule, subject in groups if rule is Rule.PRIORITY}
        if below:
            own = question.jobs[self.j]
            eased = [
                replace(job, priority=own.priority - 1) if job.priority in below else job
                for job in question.jobs
            ]
            eased[self.j] = replace(own, may_preempt=True)
            question = replace(question, jobs=tuple(eased))
        return question

    def _leaving(self, question: Instance, rules: Sequence[Rule]) -> Gone:
        if self.empty:
            return self.leaving(rules)
        return freedom_of(question, rules).may_leave_for(self.j)

    def _impossible(
        self, rules: Sequence[Rule], groups: Sequence[Group], classes: Ints, question: Instance
    ) -> bool:
        """Whether sums prove that there is no place where only some groups hold."""
        if not self._fits(rules, groups, classes, self._leaving(question, rules)):
            return True
        bound = {subject[1] for rule, subject in groups if rule is Rule.CAPACITY}
        gang = any(rule in (Rule.GANG, Rule.REQUIRED) for rule, _ in groups)
        whole = gang and bound.issuperset(np.unique(classes).tolist()) and not self.empty
        shut = {subject[1] for rule, subject in groups if rule is Rule.ELIGIBILITY}
        if not shut.issuperset(classes[~self.counting.admitted].tolist()):
            rules = [rule for rule in rules if rule is not Rule.ELIGIBILITY]
        return whole and self.counting.too_much(rules, question)

    def _fits(
        self, rules: Sequence[Rule], groups: Sequence[Group], classes: Ints, gone: Gone
    ) -> bool:
        """Whether sums leave the job a place where only some groups hold."""
        counting, on = self.counting, set(groups)
        held = {rule for rule, _ in groups}
        pods = counting.pods(held)
        bound = [subject[1] for rule, subject in on if rule is Rule.CAPACITY]
        room = np.where(np.isin(classes, bound), counting.room(gone), counting.wanted)
        shut = [subject[1] for rule, subject in on if rule is Rule.ELIGIBILITY]
        room = np.where(counting.admitted | ~np.isin(classes, shut), room, 0)
        level = counting.level if Rule.TOPOLOGY in held else None
        if counting.held(room, level) < pods:
            return False
        broken = counting.over_quota(pods, gone) if Rule.QUOTA in rules else []
        return not any((Rule.QUOTA, each) in on for each in broken)
