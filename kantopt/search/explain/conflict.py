"""Which rules together leave a job no place? As few as possible, and each shown to be needed.

Rules first, then inside them what they are about. Rules are left out one by one, in a fixed order,
for as long as the others still prove that there is no place; what each of those left contributes
is shown by a placement that breaks no other. Every proof is a solve of the plain encoding with
only these rules on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline
from kantopt.cp.reach import Reached, reach, relaxed_impossible
from kantopt.cp.switches import Group, Switches
from kantopt.cp.variables import Subject
from kantopt.problem.condensed import condensed
from kantopt.problem.focus import is_placed, may_be_evicted, may_be_moved, under
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.schema.model import Limits, Rule
from kantopt.search.construct import construct
from kantopt.search.explain.decide import is_small
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check

_DISPENSABLE = (
    Rule.GANG_VICTIMS,
    Rule.SPREAD,
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


@dataclass(frozen=True, slots=True)
class Found:
    """A conflict.

    Attributes
    ----------
    rules
        Rules that together leave no place.
    groups
        What they are about; all that there is if it was not narrowed down.
    minimal_rules, minimal_groups
        Without any one of them the others are proved to admit a placement.
    proved
        The plain encoding with these rules alone was proved to have no placement.
    """

    rules: tuple[Rule, ...]
    groups: tuple[Group, ...]
    minimal_rules: bool
    minimal_groups: bool
    proved: bool


class Puzzle:
    """A question about one job under some of its rules.

    Parameters
    ----------
    question
        A question that is known to be impossible.
    empty
        Ask about the empty cluster, where nothing else runs.
    """

    def __init__(self, question: Instance, j: int, deadline: Deadline, *, empty: bool) -> None:
        self.question = question
        self.j = j
        self.deadline = deadline
        self.empty = empty
        self.whole = not empty and is_small(question, pinned=False)
        """Solve the question itself; else what is left of it when all that may leave is gone."""

    def rules(self) -> tuple[Rule, ...]:
        """Rules that have anything to say, the dispensable ones first."""
        return tuple(rule for rule in _DISPENSABLE if self._speaks(rule))

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
                return not self.empty and question.model.limits != Limits()
        return True

    def ask(self, rules: Sequence[Rule]) -> tuple[Reached, bool]:
        """Look for a placement under some rules; say as well whether the judge found it legal."""
        if self.whole:
            answer = reach(self.question, self.j, rules, self.deadline)
            if answer.placement is None:
                return answer, False
            return answer, not check(self.question, answer.placement, rules)
        leaves = self.leaving(rules)
        small = condensed(self.question, self.j, leaves)
        own = [*(r for r in rules if r in _OF_ARRIVALS), Rule.PINNED]
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
        placement = construct(asked, self.deadline, Strategy.BEST_FIT, relocate=True)
        placed = is_placed(asked, self.j, placement)
        return best, placed and not check(self.question, placement, rules)

    def leaving(self, rules: Collection[Rule]) -> Callable[[PodSet], bool]:
        """Return which running pod sets of others may leave their nodes under some rules."""
        question, j = self.question, self.j
        if self.empty:
            return lambda podset: podset.job != j
        return lambda podset: (
            podset.job != j
            and (
                may_be_evicted(question, podset, j, rules) or may_be_moved(question, podset, rules)
            )
        )


_OF_ARRIVALS = frozenset(
    (
        Rule.CAPACITY,
        Rule.DEVICES,
        Rule.ELIGIBILITY,
        Rule.GANG,
        Rule.TOPOLOGY,
        Rule.SLICES,
        Rule.QUOTA,
        Rule.ANTI_AFFINITY,
        Rule.SPREAD,
        Rule.REQUIRED,
    )
)
"""Rules about pods that arrive; the others are about those that are in the way."""


def conflict_of(
    question: Instance,
    j: int,
    deadline: Deadline,
    *,
    empty: bool,
    node_class: Callable[[int], int],
) -> Found | None:
    """Find a conflict of a question about one job that is known to be impossible.

    Parameters
    ----------
    empty
        The question is about the empty cluster.
    node_class
        Class of a node: of large clusters whole classes are named, not single nodes.

    Returns
    -------
    Found or None
        Nothing if the time was up before the rules together were proved to leave no place.
    """
    puzzle = Puzzle(question, j, deadline, empty=empty)
    kept = list(puzzle.rules())
    answer, _ = puzzle.ask(kept)
    if not answer.impossible:
        return None
    needed: set[Rule] = set()
    for rule in puzzle.rules():
        rest = [other for other in kept if other is not rule]
        answer, legal = puzzle.ask(rest)
        if answer.impossible:
            kept = rest
        elif legal:
            needed.add(rule)
    for rule in kept:  # with fewer rules beside it there may be a placement that shows the need
        if rule not in needed and puzzle.ask([other for other in kept if other is not rule])[1]:
            needed.add(rule)
    rules = tuple(rule for rule in Rule if rule in kept)
    groups, minimal = _narrowed(puzzle, rules, node_class)
    minimal_rules = needed.issuperset(kept)
    # Where each rule holds for one thing only, what shows the need of one shows that of the other.
    minimal = minimal or (minimal_rules and len(groups) == len(rules))
    return Found(rules, groups, minimal_rules, minimal, proved=True)


def _narrowed(
    puzzle: Puzzle, rules: tuple[Rule, ...], node_class: Callable[[int], int]
) -> tuple[tuple[Group, ...], bool]:
    """Narrow rules down to what they are about; say whether nothing more can be left out."""
    question, j = puzzle.question, puzzle.j
    numbers: Mapping[str, tuple[int, ...]] = {}
    if not puzzle.whole:
        small = condensed(question, j, puzzle.leaving(rules))
        question, j, numbers = small.instance, 0, small.numbers
        rules = tuple(rule for rule in rules if rule in _OF_ARRIVALS)
    switches = Switches(question, j, rules, _keys(question, j, node_class))
    order = sorted(switches.groups, key=lambda group: _DISPENSABLE.index(group[0]))
    kept, minimal = frozenset(order), False
    deadline = puzzle.deadline
    if not puzzle.whole:
        deadline = deadline.less(max(0.0, deadline.remaining() - _PATIENCE))
    core = switches.core(order, deadline)
    if core.contradiction is not None:
        kept, minimal = _shrunk(switches, order, core.contradiction, deadline)
    return tuple(_original(g, numbers) for g in switches.groups if g in kept), minimal


def _shrunk(
    switches: Switches, order: Sequence[Group], kept: frozenset[Group], deadline: Deadline
) -> tuple[frozenset[Group], bool]:
    """Leave out one group after the other; say whether each that is left is needed."""
    minimal = True
    for group in order:
        if group not in kept:
            continue
        if deadline.over():
            return kept, False
        core = switches.core([g for g in order if g in kept and g != group], deadline)
        if core.contradiction is not None:
            kept = core.contradiction
        elif not core.possible:
            minimal = False
    return kept, minimal


def _original(group: Group, numbers: Mapping[str, tuple[int, ...]]) -> Group:
    """Return a group with its subject numbered as in the question itself."""
    rule, subject = group
    if subject[0] not in numbers or len(subject) < 2:
        return group
    return rule, (subject[0], numbers[str(subject[0])][int(subject[1])])


def _keys(
    question: Instance, j: int, node_class: Callable[[int], int]
) -> Callable[[Rule, Subject], Subject]:
    """Return which subjects are counted together: only few nodes or jobs stand for themselves."""
    many_nodes, many_jobs = len(question.nodes) > MANY, len(question.jobs) > MANY

    def key(rule: Rule, subject: Subject) -> Subject:
        if subject[0] == "node" and many_nodes:
            return "nodes", node_class(int(subject[1]))
        if subject[0] == "job" and many_jobs and subject[1] != j:
            return ("jobs",)
        return subject

    return key


_PATIENCE = 0.6
"""Seconds for narrowing a conflict of a large question down, at most."""
MANY = 48
"""Nodes, or jobs, that are looked at one by one."""
