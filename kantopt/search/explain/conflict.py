"""Which rules together leave a job no place? As few as possible, and each shown to be needed.

Rules first, then inside them what they are about. Rules are left out one by one, in a fixed order,
for as long as the others still prove that there is no place; what each of those left contributes
is shown by a placement that breaks no other. Every proof is a solve of the plain encoding with
only these rules on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline
from kantopt.cp.switches import Group, Switches
from kantopt.cp.variables import Subject
from kantopt.problem.derived.condensed import condensed
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.schema.rule_kinds import ARRIVAL_RULES
from kantopt.search.explain.counted import CountedPuzzle
from kantopt.search.explain.counting import countable
from kantopt.search.explain.puzzle import DISPENSABLE, Puzzle
from kantopt.shares import NARROWING


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


def conflict_of(
    question: Instance,
    j: int,
    deadline: Deadline,
    *,
    empty: bool,
    node_class: Callable[[int], int],
    known: Sequence[Placement] = (),
) -> Found | None:
    """Find a conflict of a question about one job that is known to be impossible.

    Parameters
    ----------
    empty
        The question is about the empty cluster.
    node_class
        Class of a node: of large clusters whole classes are named, not single nodes.
    known
        Placements that have the job where it may not be under all rules.

    Returns
    -------
    Found or None
        Nothing if the time was up before the rules together were proved to leave no place.
    """
    puzzle = Puzzle(question, j, deadline, empty=empty)
    if not puzzle.whole and countable(question, j):
        puzzle = CountedPuzzle(question, j, deadline, empty=empty, known=known)
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
    if isinstance(puzzle, CountedPuzzle):
        groups, minimal = puzzle.narrowed(rules, frozenset(needed), node_class)
    else:
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
    numbers: Mapping[str, Sequence[int]] = {}
    if not puzzle.whole:
        small = condensed(question, j, puzzle.leaving(rules), empty=puzzle.empty)
        question, j, numbers = small.instance, 0, small.numbers
        rules = tuple(rule for rule in rules if rule in ARRIVAL_RULES)
    switches = Switches(question, j, rules, _keys(question, j, node_class))
    order = sorted(switches.groups, key=lambda group: DISPENSABLE.index(group[0]))
    kept, minimal = frozenset(order), False
    deadline = puzzle.deadline
    if not puzzle.whole:
        deadline = deadline.at_most(NARROWING)
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


def _original(group: Group, numbers: Mapping[str, Sequence[int]]) -> Group:
    """Return a group with its subject numbered as in the question itself.

    Raises
    ------
    KeyError
        If nobody has said what number the subject has there.
    """
    rule, (kind, *index) = group
    if not index or not numbers:
        return group
    return rule, (kind, numbers[str(kind)][int(index[0])], *index[1:])


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


MANY = 48
"""Nodes, or jobs, that are looked at one by one."""
