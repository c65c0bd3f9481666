"""Rules that can be switched one by one: which of them together leave a job no place?

Every constraint of a rule holds only if the literal of its group is true; a group is a rule and
what it is about. The solver is given literals as assumptions and no objective: then it tells which
of them contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ortools.sat.python import cp_model

from kantopt.clock import Deadline
from kantopt.cp.kept_room import add_kept_room
from kantopt.cp.rules import CONSTRAINTS
from kantopt.cp.rules.pinned import beside_held
from kantopt.cp.rules.priority import add_victim, preemptors
from kantopt.cp.solver import solver_of
from kantopt.cp.variables import Subject, Variables, weighted
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.schema.rule_kinds import About, rules_about

Group = tuple[Rule, Subject]
"""A rule and what it is about."""

_LIFTED = frozenset(rules_about(About.ROOM, About.NODES, About.GANG, About.CHANGES, About.ARRIVAL))
"""Rules that shape the variables: a model in which they can be off must not presume them."""


@dataclass(frozen=True, slots=True)
class Core:
    """What assuming some groups came to.

    Attributes
    ----------
    contradiction
        Groups that together leave no place; empty if the model has none whatever is assumed.
        ``None`` if there is a place, or it was not decided.
    possible
        There is a place under all groups assumed.
    """

    contradiction: frozenset[Group] | None
    possible: bool


class Switches:
    """A question about one job with all rules behind literals.

    Parameters
    ----------
    question
        The question; of pending pods only those of the job may arrive, and it is required.
    rules
        Rules to encode; others are off for good.
    key
        Group to count a subject of a rule to: subjects with one key share a literal.
    """

    def __init__(
        self,
        question: Instance,
        j: int,
        rules: Iterable[Rule],
        key: Callable[[Rule, Subject], Subject] = lambda rule, subject: subject,
    ) -> None:
        self.question = question
        self.j = j
        self._key = key
        chosen = frozenset(rules)
        self.m = Variables(question, chosen - _LIFTED)
        self.on: dict[Group, cp_model.IntVar] = {}
        self.m.cp.add(weighted([(self.m.arrived(s), 1) for s in question.pending_of(j)]) >= 1)
        for rule in Rule:
            if rule in chosen:
                self._add(rule)

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups, in the order of the rules."""
        return tuple(self.on)

    def core(self, assumed: Iterable[Group], deadline: Deadline) -> Core:
        """Assume that some groups hold, and no others."""
        cp = self.m.cp
        chosen = {self.on[group].index: group for group in assumed}
        cp.clear_assumptions()
        cp.add_assumptions([self.on[group] for group in chosen.values()])
        solver = solver_of(deadline.remaining(), _WORK)
        status = solver.solve(cp)
        if status == cp_model.MODEL_INVALID:
            raise ValueError(f"switches: {cp.validate()[:200]}")
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Core(None, possible=True)
        if status == cp_model.INFEASIBLE:
            # A core has been seen to hold literals that nobody assumed: only ours count.
            found = solver.sufficient_assumptions_for_infeasibility()
            return Core(frozenset(chosen[i] for i in found if i in chosen), possible=False)
        return self._settled(chosen, deadline)

    def _settled(self, chosen: dict[int, Group], deadline: Deadline) -> Core:
        """Settle all literals: that proves more, for sums over nodes hold then, but has no core."""
        cp = self.m.cp.clone()
        cp.clear_assumptions()
        for literal in self.on.values():
            var = cp.get_bool_var_from_proto_index(literal.index)
            cp.add(var == int(literal.index in chosen))
        status = solver_of(deadline.remaining()).solve(cp)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Core(None, possible=True)
        if status == cp_model.INFEASIBLE:
            return Core(frozenset(chosen.values()), possible=False)
        return Core(None, possible=False)

    def _literal(self, rule: Rule, subject: Subject) -> cp_model.IntVar:
        group = (rule, self._key(rule, subject))
        if group not in self.on:
            self.on[group] = self.m.cp.new_bool_var(f"on[{rule},{group[1]}]")
        return self.on[group]

    def _add(self, rule: Rule) -> None:
        """Add the constraints of a rule, each behind the literal of its group."""
        match rule:
            case Rule.ELIGIBILITY:
                self._eligibility()
            case Rule.PINNED:
                self._pinned()
            case Rule.PRIORITY:
                self._priority()
            case Rule.REQUIRED:
                self._required()
            case _:
                first = len(self.m.cp.proto.constraints)
                self.m.subjects.clear()
                CONSTRAINTS[rule](self.m)
                self._guard(rule, first)

    def _guard(self, rule: Rule, first: int) -> None:
        constraints = self.m.cp.proto.constraints
        defined = {i for start, end in self.m.definitions for i in range(start, end)}
        subjects = self.m.subjects
        ends = [*(start for start, _ in subjects[1:]), len(constraints)][: len(subjects)]
        whole: list[int] = []
        for (start, subject), end in zip(subjects, ends, strict=True):
            for i in range(max(first, start), end):
                if i in defined:
                    continue
                if subject == ("nodes",):
                    whole.append(i)
                    continue
                constraints[i].enforcement_literal.append(self._literal(rule, subject).index)
        for i in whole:  # implied by what is said of all nodes, and only by that
            for (other, _), literal in self.on.items():
                if other is rule:
                    constraints[i].enforcement_literal.append(literal.index)

    def _guard_all(self, first: int, literal: cp_model.IntVar) -> None:
        """Have constraints hold only if a literal is true, but those that define variables."""
        constraints = self.m.cp.proto.constraints
        defined = {i for start, end in self.m.definitions for i in range(start, end)}
        for i in range(first, len(constraints)):
            if i not in defined:
                constraints[i].enforcement_literal.append(literal.index)

    def _eligibility(self) -> None:
        for podset in self.question.podsets:
            for n, var in self.m.arrive[podset.index].items():
                if n not in podset.allowed:
                    if podset.job != self.j and not podset.running:
                        self.m.cp.add(var == 0)  # the question is about one job alone
                        continue
                    literal = self._literal(Rule.ELIGIBILITY, ("node", n))
                    self.m.cp.add(var == 0).only_enforce_if(literal)

    def _pinned(self) -> None:
        for podset in self.question.podsets:
            s = podset.index
            if podset.running and not podset.preemptible:
                literal = self._literal(Rule.PINNED, ("job", podset.job))
                self.m.cp.add(self.m.evicted(s) == 0).only_enforce_if(literal)
            if podset.running and not podset.movable and self.m.arrive[s]:
                literal = self._literal(Rule.PINNED, ("job", podset.job))
                self.m.cp.add(self.m.arrived(s) == 0).only_enforce_if(literal)
            if podset.movable and self.question.on_held(podset):
                literal = self._literal(Rule.PINNED, ("job", podset.job))
                most = self.question.beside_held(podset.current)
                self.m.cp.add(beside_held(self.m, podset) <= most).only_enforce_if(literal)

    def _priority(self) -> None:
        """Nobody is evicted for a job that is not more important, or does not need the room."""
        first = len(self.m.cp.proto.constraints)
        if self.question.strict:
            add_kept_room(self.m)
            arriving = preemptors(self.m)
            for j in self._running():
                if self.question.may_evict_for(self.j, j):
                    add_victim(self.m, self.question.jobs[j], arriving)
        if len(self.m.cp.proto.constraints) > first:
            self._guard_all(first, self._literal(Rule.PRIORITY, ("room",)))
        for j in self._running():
            if not self.question.may_evict_for(self.j, j):
                job = self.question.jobs[j]
                literal = self._literal(Rule.PRIORITY, ("priority", job.priority))
                for s in self.question.running_of(j):
                    self.m.cp.add(self.m.evicted(s) == 0).only_enforce_if(literal)

    def _running(self) -> Iterator[int]:
        """Jobs of which pods run."""
        for job in self.question.jobs:
            if self.question.running_of(job.index):
                yield job.index

    def _required(self) -> None:
        literal = self._literal(Rule.REQUIRED, ("job", self.j))
        self.m.cp.add(self.m.satisfied(self.j) == 1).only_enforce_if(literal)


_WORK = 0.2
"""Deterministic seconds for a solve with assumptions."""
