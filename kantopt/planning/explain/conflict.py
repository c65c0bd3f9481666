"""A conflict in words: what each rule holds for, in the one shape ``subject: amount of limit``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import assert_never

from kantopt.planning.drained import stays_words
from kantopt.planning.explain.neighbour_words import neighbours_item
from kantopt.planning.words import listed
from kantopt.problem.derived.focus import pending_podsets, wanted_pods
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.schema.answers.explanation import Conflict, ConflictItem
from kantopt.schema.hints import plural
from kantopt.schema.model import Limits, Rule
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import NODE_NAME
from kantopt.search.explain.conflict import Found
from kantopt.search.explain.places import Places
from kantopt.search.explain.shortage import Shortage
from kantopt.verify.rules.quota import (
    cohorts,
    held_words,
    overdraft,
    queue_limit,
    shared_limit,
    shared_use,
)
from kantopt.verify.step import Loads

_MANY = 8
"""Kinds of shortages that are listed one by one."""


def classes_of(places: Places) -> tuple[tuple[int, ...], ...]:
    """Nodes by the reason why they are out, in order, then those that are available."""
    return (*(reason.nodes for reason in places.reasons), places.available)


class Wording:
    """Words for the parts of a conflict.

    Parameters
    ----------
    question
        What was asked and is impossible.
    places
        Why each node is out as things stand.
    allowed
        The model's own limits: those of the question may be tighter.
    empty
        It was asked about the empty cluster.
    by_kueue
        Kueue alone would make room for the job.
    spared
        Why it does not evict some less important jobs, by name.
    beyond
        Queues of which it may evict jobs that are no less important.
    tied
        Claims that keep pods of the job on one node.
    """

    def __init__(
        self,
        question: Instance,
        j: int,
        found: Found,
        places: Places,
        allowed: Limits,
        *,
        empty: bool,
        by_kueue: bool = False,
        spared: Mapping[str, str] = MappingProxyType({}),
        beyond: Sequence[str] = (),
        tied: Sequence[str] = (),
    ) -> None:
        self.question = question
        self._tied, self._spared, self._beyond = tied, spared, beyond
        barred = "Kueue preempts nobody for its queue", "the job's preemptionPolicy is Never"
        self._barred = barred[not by_kueue]
        self.j = j
        self.found = found
        self.empty = empty
        self.allowed = allowed
        self._reasons = places.reasons
        self._classes = classes_of(places)
        self._wanted = wanted_pods(question, j)
        self._subjects: dict[Rule, list[tuple[str | int, ...]]] = {}
        for rule, subject in found.groups:
            self._subjects.setdefault(rule, []).append(subject)

    def document(self, asked: str) -> Conflict:
        """Write the conflict down."""
        return Conflict(
            question=asked,
            rules=tuple(rule.value for rule in self.found.rules),
            items=tuple(item for rule in self.found.rules for item in self._items(rule)),
            minimal_rules=self.found.minimal_rules,
            minimal_items=self.found.minimal_groups,
            proved=self.found.proved,
        )

    def _items(self, rule: Rule) -> Iterator[ConflictItem]:
        subjects = self._subjects.get(rule, [])
        match rule:
            case Rule.CAPACITY | Rule.DEVICES:
                yield from self._nodes(rule, subjects, self._shortage.words)
            case Rule.ELIGIBILITY:
                yield from self._nodes(rule, subjects, self._refusal)
            case Rule.GANG | Rule.REQUIRED | Rule.GANG_VICTIMS:
                yield from self._jobs(rule, subjects)
            case Rule.TOPOLOGY | Rule.SLICES:
                for _, index in subjects:
                    yield self._closeness(rule, int(index))
            case Rule.QUOTA:
                for kind, q, r in subjects:
                    yield self._quota(str(kind), int(q), int(r))
            case Rule.ANTI_AFFINITY | Rule.SPREAD | Rule.AFFINITY:
                for kind, index in subjects:
                    yield neighbours_item(self.question, rule, str(kind), int(index))
            case Rule.PRIORITY:
                yield from self._priorities(subjects)
            case Rule.PINNED:
                yield from self._pins(subjects)
            case Rule.DISRUPTION:
                yield from self._budgets(subjects)
            case Rule.LIMITS:
                yield from self._limits(subjects)
            case _:
                assert_never(rule)

    # Nodes.

    def _nodes(
        self,
        rule: Rule,
        subjects: list[tuple[str | int, ...]],
        words: Callable[[int], str],
    ) -> Iterator[ConflictItem]:
        """Nodes of which the same is to be said, together."""
        nodes: set[int] = set()
        for subject in subjects:
            which = int(subject[1])
            nodes.update((which,) if subject[0] == "node" else self._classes[which])
        by_words: dict[str, list[int]] = {}
        for n in sorted(nodes):
            by_words.setdefault(words(n), []).append(n)
        if len(by_words) > _MANY and rule is not Rule.ELIGIBILITY:
            by_words = {self._shortage.summary(nodes): sorted(nodes)}
        for text, members in by_words.items():
            names = tuple(self.question.nodes[n].name for n in members)
            what = f"node {names[0]}" if len(names) == 1 else f"{len(names)} nodes"
            yield ConflictItem(rule=rule.value, subject=what, message=text, nodes=names)

    @cached_property
    def _shortage(self) -> Shortage:
        """What nodes are short of beside pods that stay under the conflict's rules."""
        question, may = self.question, freedom_of(self.question, self.found.rules)

        def gone(podset: PodSet) -> bool:
            return not podset.daemon if self.empty else may.gives_way(podset.index, self.j)

        return Shortage(question, self.j, self._wanted, gone)

    def _refusal(self, n: int) -> str:
        if all(n in podset.allowed for podset in pending_podsets(self.question, self.j)):
            return "open to its pods, but closed to some that would move there to make room"
        why = next(
            (r.text for r in self._reasons if n in r.nodes and r.rule is Rule.ELIGIBILITY), ""
        )
        why = why.removeprefix("node(s) ").removeprefix("had ").removeprefix("were ")
        return f"0 pods admitted: {why or 'not admitted'}"

    # Jobs.

    def _jobs(self, rule: Rule, subjects: list[tuple[str | int, ...]]) -> Iterator[ConflictItem]:
        for subject in subjects:
            if len(subject) == 1:
                yield _item(rule, "running gangs", "only whole, or minCount left")
                continue
            job = self.question.jobs[int(subject[1])]
            if job.index != self.j:
                text = "evicted whole or not at all"
            elif rule is Rule.REQUIRED:
                text = f"all its {plural(job.count, 'pod')}"
            else:
                least, total = job.least, job.count
                text = f"at least {least} of {plural(total, 'pod')} together, or none"
                if least == total and (running := self.question.running_pods(job.index)):
                    # Its minimum may run: then the rest is asked about, and nobody would go.
                    runs = f"{running} {'runs' if running == 1 else 'run'}"
                    text = f"all its {plural(total, 'pod')}, of which {runs} now"
            yield _item(rule, f"job {job.name}", text, (job.name,))

    def _priorities(self, subjects: list[tuple[str | int, ...]]) -> Iterator[ConflictItem]:
        question, own = self.question, self.question.jobs[self.j]
        levels = [int(subject[1]) for subject in subjects if len(subject) > 1]
        if len(levels) < len(subjects):
            text = "evicts only pods whose room it needs, and nobody else moves into that"
            yield _item(Rule.PRIORITY, f"job {own.name}", text, (own.name,))
        elif not subjects:
            levels = sorted(
                {
                    job.priority
                    for job in question.jobs
                    if not question.may_evict_for(self.j, job.index)
                    and _runs(question, job.podsets)
                },
                reverse=True,
            )
        for level in levels:
            jobs = [
                job
                for job in question.jobs
                if job.priority == level and job.index != self.j and _runs(question, job.podsets)
            ]
            pods = sum(
                question.podsets[s].count
                for job in jobs
                for s in job.podsets
                if question.podsets[s].running
            )
            why = f"that priority {own.priority} may not evict"
            queues = {question.queues[job.queue].name for job in jobs if job.queue is not None}
            if not queues.isdisjoint(self._beyond):
                why += ", though by queues it may be"
            if level < own.priority:
                why = f"not evicted: {self._barred}"
            subject = f"{plural(len(jobs), 'job')} of priority {level}"
            if len(jobs) == 1:
                subject = f"job {jobs[0].name}, priority {level}"
            text = f"{plural(pods, 'running pod')} {why}"
            yield _item(Rule.PRIORITY, subject, text, (job.name for job in jobs))

    def _pins(self, subjects: list[tuple[str | int, ...]]) -> Iterator[ConflictItem]:
        question = self.question
        chosen = [int(subject[1]) for subject in subjects if len(subject) > 1]
        if not chosen:
            chosen = [
                job.index
                for job in question.jobs
                if job.index != self.j
                and any(
                    p.running and not (p.preemptible and p.movable)
                    for p in (question.podsets[s] for s in job.podsets)
                )
            ]
        by_words: dict[str, list[int]] = {}
        for j in chosen:
            by_words.setdefault(self._pin(j), []).append(j)
        for text, jobs in by_words.items():
            names = tuple(question.jobs[j].name for j in jobs)
            subject = f"job {names[0]}" if len(names) == 1 else plural(len(names), "job")
            yield _item(Rule.PINNED, subject, text, names)

    def _pin(self, j: int) -> str:
        podsets = [self.question.podsets[s] for s in self.question.jobs[j].podsets]
        running = [podset for podset in podsets if podset.running]
        parts = []
        if any(not podset.preemptible for podset in running):
            why = self._spared.get(self.question.jobs[j].name)
            parts.append(f"not evicted: {why}" if why else "not preemptible")
        if any(not podset.movable for podset in running):
            parts.append("not movable")
        return " and ".join(parts) + stays_words(running)

    # Closeness, quotas, budgets.

    def _closeness(self, rule: Rule, index: int) -> ConflictItem:
        need = self.question.topology_needs[index]
        job = self.question.jobs[need.job]
        pods = sum(job.roles[i].count for i in need.roles)
        level = need.required if rule is Rule.TOPOLOGY else need.slice_level
        assert level is not None
        name = self.question.topology.levels[level]
        text = f"all {plural(pods, 'pod')} in one {name}"
        if self._tied and self.question.topology.labels[level] == NODE_NAME:
            text += f": they wait with {listed(self._tied)}, for one node at a time (ReadWriteOnce)"
        if rule is Rule.SLICES:
            text = f"slices of {plural(need.slice_size, 'pod')}, each in one {name}"
        roles = ", ".join(job.roles[i].name for i in need.roles)
        return _item(rule, f"job {job.name} pod set {roles}", text, (job.name,))

    def _quota(self, kind: str, q: int, r: int) -> ConflictItem:
        question, queue = self.question, self.question.queues[q]
        name = question.resources[r]
        usage = Loads.of(question, question.current).queue
        parts = ""
        wanted = sum(pods * question.podsets[s].demand[r] for s, pods in self._wanted.items())
        quota = next(item for item in queue.quotas if item.resource == r)
        held = 0
        if kind == "queue":
            limit = queue_limit(queue, quota) or 0
            subject, standing = f"queue {queue.name}", usage[q][r]
            parts = held_words(from_base(name, quota.held))
            if quota.borrowing_limit:
                owned = quota.nominal + quota.held
                own, more = (from_base(name, part) for part in (owned, quota.borrowing_limit))
                parts += f": {own} of its own and {more} to borrow"
        else:
            members = cohorts(question)[queue.cohort, r]
            asks = question.jobs[self.j].queue
            kept = next((own.guaranteed for who, own in members if who.index == asks), 0)
            over = shared_use(members, usage) - shared_limit(members)
            if over > 0:
                parts = f"; it is {from_base(name, over)} beyond what it shares"
            # What the job's queue never lends counts as well: others may have used that up.
            limit = shared_limit(members) + kept
            standing = overdraft(members, usage, asks) + limit
            held = max(0, -limit)
            subject = f"cohort {queue.cohort}"
        now = f", {from_base(name, standing + held)} of them in use now" if standing + held else ""
        used = from_base(name, standing + held + wanted)
        amounts = f"{used} of {from_base(name, limit + held)} {name}{now}{parts}"
        return _item(Rule.QUOTA, subject, amounts)

    def _budgets(self, subjects: list[tuple[str | int, ...]]) -> Iterator[ConflictItem]:
        budgets = self.question.budgets
        chosen = [int(s[1]) for s in subjects if s[0] == "budget"]
        if not subjects:
            chosen = [budget.index for budget in budgets if not budget.allowed]
        for b in chosen:
            owners = {self.question.podsets[s].job for s in budgets[b].podsets}
            text = f"{plural(budgets[b].allowed, 'disruption')} allowed"
            names = (self.question.jobs[i].name for i in sorted(owners))
            yield _item(Rule.DISRUPTION, f"budget {budgets[b].name}", text, names)
        for subject in subjects:
            if subject[0] == "job":
                name = self.question.jobs[int(subject[1])].name
                text = "0 disruptions allowed under several budgets"
                yield _item(Rule.DISRUPTION, f"job {name}", text, (name,))

    def _limits(self, subjects: list[tuple[str | int, ...]]) -> Iterator[ConflictItem]:
        limits = self.question.model.limits
        every: list[tuple[str | int, ...]] = [(kind,) for kind in Limits.model_fields]
        every += [("max_moves", job.index) for job in self.question.jobs if job.max_moves == 0]
        for kind, *which in subjects or every:
            if which:
                job = self.question.jobs[int(which[0])]
                text = f"at most {job.max_moves}, which its owner bears"
                yield _item(Rule.LIMITS, f"moves of job {job.name}", text)
                continue
            most = getattr(limits, str(kind))
            if most is None:
                continue
            own = getattr(self.allowed, str(kind)) == most
            text = (
                f"at most {most}, the model's limit"
                if own
                else "none: this asks what fits without any"
            )
            yield _item(Rule.LIMITS, str(kind).replace("_", " "), text)


def _item(rule: Rule, subject: str, message: str, jobs: Iterable[str] = ()) -> ConflictItem:
    return ConflictItem(rule=rule.value, subject=subject, message=message, jobs=tuple(jobs))


def _runs(question: Instance, podsets: Iterable[int]) -> bool:
    return any(question.podsets[s].running for s in podsets)
