"""One small question, asked of every command; each way in which two answers contradict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kantopt.planning.explain.edits import edited
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Engine
from kantopt.problem.derived.focus import focused, is_placed, runs_enough
from kantopt.problem.instance import Instance
from kantopt.schema.answers.explanation import Explanation, Remedy
from kantopt.schema.dump import canonical_digest
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from tests.generate import random_documents
from tests.one_truth import ask
from tests.one_truth.ask import Said
from tests.one_truth.claims import Claim, Found, contradictions
from tests.one_truth.leftover import leftover_question
from tests.one_truth.neighbours import neighbours_question
from tests.oracle import best

ENGINES: tuple[Engine, ...] = ("fast", "exact", "auto")
LEVELS = ("block", "rack")
LEFT_OVER = NEIGHBOURS = 10
"""One of so many questions is about left-over room, and one about pods that look at each other."""
REPEATED = 5
"""Of so many questions one is asked twice in the same way."""
ALONE = "FITS_ALONE"
FITS = ("FITS_NOW", "FITS_AFTER_MOVING", "FITS_AFTER_PREEMPTING", ALONE)


@dataclass
class Outcome:
    """What came of a question."""

    seed: int
    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    beside: list[str] = field(default_factory=list)
    """Jobs that only a plan for all that waits places: no contradiction, but to be looked at."""


def question_of(seed: int) -> Question:
    """Draw a question; every third one without a model, so that each command takes its own.

    One in ten is about room that victims leave over, one about pods that look at each other.
    """
    if seed % LEFT_OVER == LEFT_OVER - 1:
        return leftover_question(seed)
    if seed % NEIGHBOURS == NEIGHBOURS - 3:
        return neighbours_question(seed)
    snapshot, jobs, model = random_documents(seed)
    return Question("seed", snapshot, jobs.jobs, None if seed % 3 == 2 else model, None, ())


def trial(seed: int) -> Outcome:
    """Ask all commands about one question."""
    asked = Trial(question_of(seed), seed)
    try:
        asked.run()
    except Exception as error:
        asked.fault(f"no answer: {type(error).__name__}: {str(error)[:300]}")
    return asked.outcome


class Trial:
    """All answers about one question."""

    def __init__(self, question: Question, seed: int) -> None:
        self.question = question
        self.outcome = Outcome(seed)
        self.said: list[Said] = []
        self.turn = seed

    def run(self) -> None:
        """Ask, and compare."""
        for engine in ENGINES:
            self.take(ask.plan(self.question, engine))
        for job in self.question.jobs:
            placed = sum(place.count for podset in job.pod_sets for place in podset.assignments)
            if placed < sum(podset.count for podset in job.pod_sets):
                self.about(f"{job.namespace}/{job.name}")
        self.certify()
        if self.outcome.seed % REPEATED == 0:
            self.repeat()
        self.compare()

    def take(self, said: Said) -> Said:
        """Remember an answer."""
        self.said.append(said)
        self.outcome.counts["answers"] += 1
        if said.plan is not None:
            for warning in said.plan.warnings:
                if "failed" in warning or "time limit" in warning:
                    self.fault(f"{said.by}: {warning}")
        return said

    def engine(self) -> Engine:
        """Return one engine after the other."""
        self.turn += 1
        return ENGINES[self.turn % len(ENGINES)]

    def fault(self, text: str) -> None:
        """Note a contradiction."""
        self.outcome.faults.append(text)

    def about(self, name: str) -> None:
        """Ask about one job."""
        self.outcome.counts["questions"] += 1
        question = self.question
        wanted = [self.take(ask.plan_for(question, name, self.engine())) for _ in range(2)]
        required = self.take(ask.plan_requiring(question, name, self.engine()))
        room = self.take(ask.fit(question, name, self.engine()))
        pending = self.take(ask.plan_pending(question, name, self.engine()))
        assert pending.found is not None
        self.legal(pending.found, required.asked)
        level = LEVELS[self.turn % len(LEVELS)]
        for one in map(self.take, ask.cleared(question, name, self.engine(), level)):
            if one.found is not None:
                self.outcome.counts["priced"] += 1
                self.legal(one.found, wanted[0].asked)
        told = ask.explained(question, name)
        steps = [self.take(said) for said in ask.answers(question, told)]
        self.outcome.counts[told.verdict.status] += 1
        instance = question.instance(ask.explaining(question).model_copy(update={"required": ()}))
        enough = runs_enough(instance, instance.jobs[instance.job_index[name]])
        if steps[-1].found is not None:
            self.legal(steps[-1].found, required.asked)
            if instance.strict:
                self.legal(steps[-1].found, wanted[0].asked)
        for one in wanted:
            if one.found is not None and not _missing(one):
                self.legal(one.found, required.asked)
                if instance.strict and not enough:
                    self.legal(one.found, ask.widest(question, name))
        alone = all(answer.answer == "no" for answer in told.verdict.answers)
        if alone and told.verdict.answers and not _missing(required):
            self.outcome.counts["placed only beside others"] += 1
            self.outcome.beside.append(f"{required.by}, explain says {told.verdict.status}")
        self.verdict(told, wanted, room, enough)
        self.left_over(told, wanted)
        self.together(told)
        for remedy in told.remedies:
            self.remedy(name, remedy)

    def legal(self, found: Found, asked: Instance) -> None:
        """A plan of a question is one of any question that allows more."""
        placement = found.placement(asked)
        if placement is None:
            self.fault(f"{found.by}: its plan is not one of {_question(asked)}")
            return
        faults = [v for v in check(asked, placement) if v.rule is not Rule.REQUIRED]
        if faults:
            self.fault(f"{found.by}: its plan is illegal for {_question(asked)}: {faults[0]}")

    def verdict(self, told: Explanation, wanted: list[Said], room: Said, enough: bool) -> None:
        """The verdict in one word, beside what the commands do."""
        status = told.verdict.status
        gently = [each.question for each in told.verdict.answers if each.answer == "yes"]
        now, moving = "as it stands" in gently, "after moves" in gently
        if self.question.model is None and now:
            for one in wanted:
                assert one.plan is not None
                summary = one.plan.summary
                if _missing(one) or summary.evicted_pods or summary.moved_pods:
                    self.fault(f"{one.by}: {summary}, explain says {status}")
        assert room.plan is not None
        proved = room.plan.solver.engine != "fast"
        missed = proved and any(goal.missed_by for goal in room.plan.goals)
        if not enough and (now or moving) and missed:
            self.fault(f"{room.by}: missed, explain says {status}")
        for said in self.said[:3]:
            assert said.plan is not None
            for left in said.plan.unplaced:
                never = left.job == told.job and "never on this hardware" in left.message
                if never and status != "NEVER":
                    self.fault(f"{said.by}: {left.message}; explain says {status}")

    def left_over(self, told: Explanation, wanted: list[Said]) -> None:
        """Who is placed in left-over room by all plans is told so, and nobody else is."""
        plans = [said.plan for said in self.said[: len(ENGINES)] if said.plan is not None]
        placed = [[bind for bind in p.assignments if bind.job == told.job] for p in plans]
        fills = [bool(binds) and all(bind.leftover for bind in binds) for binds in placed]
        whole = [all(left.job != told.job for left in p.unplaced) for p in plans]
        self.outcome.counts["placed in left-over room"] += any(fills)
        self.outcome.counts["told of left-over room"] += told.leftover
        if told.leftover and not any(placed):
            self.fault(f"explain: {told.job} fills left-over room, no plan places it")
        if all(fills) and all(whole) and not told.leftover:
            self.fault(f"explain: {told.verdict.status}, all plans fill left-over room with it")
        for one in wanted:
            assert one.plan is not None
            said = any("left over" in warning for warning in one.plan.warnings)
            if one.impossible and said is not told.leftover:
                self.fault(f"{one.by}: left-over room told: {said}, by explain: {told.leftover}")

    def together(self, told: Explanation) -> None:
        """Who fits has a place in plans for all that waits, or is told that others go first.

        Only what all plans do refutes a verdict: of plans that are equally good one may place the
        job and another not.
        """
        status = told.verdict.status
        if status not in FITS:
            return
        plans = [said for said in self.said[: len(ENGINES)] if said.found is not None]
        placed = [self.places(said, told.job) for said in plans]
        if not any(placed) and status != ALONE:
            self.fault(f"explain: {told.job} {status}, no plan for all places it")
        if all(placed) and status == ALONE:
            self.fault(f"explain: {told.verdict.message}, all plans place it")
        if (status == ALONE) is not ("FITS ALONE" in told.verdict.message.split(";")[0]):
            self.fault(f"explain: {status}, in words {told.verdict.message}")
        for name in told.verdict.behind:
            first = [any(b.job == name for b in s.plan.assignments) for s in plans if s.plan]
            if not any(first):
                self.fault(f"explain: {told.job} waits behind {name}, which no plan places")

    def places(self, said: Said, name: str) -> bool:
        """Whether a plan for all places a job, as far as an explanation asks about it."""
        assert said.found is not None
        placement = said.found.placement(said.asked)
        assert placement is not None, said.by
        job = said.asked.job_index[name]
        return is_placed(focused(said.asked, job), job, placement)

    def remedy(self, name: str, remedy: Remedy) -> None:
        """A remedy, applied, makes every command place the job, that for all as it is told."""
        edit, kind = remedy.edit, remedy.kind
        model = ask.explaining(self.question)
        changed, other = edited(self.question, model, edit.split())
        changed = replace(changed, model=None if self.question.model is None else other)
        if self.question.model is None and other != model:
            return  # a limit was lifted of a model that nobody wrote
        by = f"after {kind} {edit}".strip()
        again = ask.explained(changed, name)
        if again.verdict.status not in (*FITS, "RUNS", "NOMINATED"):
            self.fault(f"{by}: explain {name} says {again.verdict.status}")
        self.outcome.counts[f"remedies: {remedy.together}"] += 1
        if again.verdict.status in FITS:
            told = "waits" if again.verdict.status == ALONE else "placed"
            if remedy.together not in (told, "open"):  # open: there was no time to find out
                self.fault(f"{by}: beside others {remedy.together}, then {again.verdict.message}")
        one = ask.plan_for(changed, name, "exact")
        self.outcome.counts["remedies"] += 1
        if one.impossible or _missing(one):
            self.fault(f"{by}: {one.by} does not place it")

    def certify(self) -> None:
        """Certificate of the plan that one of the engines made."""
        said = self.said[self.outcome.seed // len(ENGINES) % len(ENGINES)]
        assert said.plan is not None
        certificate = ask.certified(self.question, said.plan)
        self.outcome.counts[f"certified {certificate.verdict}"] += 1
        proved = said.plan.solver.status == "OPTIMAL"
        if certificate.verdict == "ILLEGAL":
            self.fault(f"certify: the plan of {said.by} is illegal: {certificate.findings[0]}")
        if certificate.verdict == "BETTER" and proved:
            self.fault(f"certify: better than {said.by}, which says OPTIMAL")
        if certificate.required_impossible != said.impossible and said.by != "plan (fast)":
            self.fault(f"certify: required impossible, {said.by}: {said.impossible}")

    def repeat(self) -> None:
        """Asked again, the same answer in the same bytes."""
        first, again = ask.repeatable(self.question), ask.repeatable(self.question)
        if canonical_digest(first) != canonical_digest(again):
            self.fault("plan --deterministic: another answer when asked again")

    def compare(self) -> None:
        """Hold every claim against every plan, and against the best plan that there is."""
        claims = [claim for said in self.said for claim in said.claims]
        self.outcome.counts["claims"] += len(claims)
        for said in self.said:
            if said.found is not None:
                self.outcome.faults += contradictions(claims, said.found)
        self.outcome.faults += _refuted_by_trying(claims)


def _refuted_by_trying(claims: list[Claim]) -> Iterator[str]:
    for claim in claims:
        _, placement = best(claim.asked)
        if placement is not None:
            text = claim.refuted(placement)
            if text is not None:
                yield f"{claim.by}: {text}, found by brute force"


def _missing(said: Said) -> bool:
    """Whether a plan leaves out a job that is required."""
    if said.found is None:
        return True
    placement = said.found.placement(said.asked)
    return placement is None or bool(check(said.asked, placement, (Rule.REQUIRED,)))


def _question(asked: Instance) -> str:
    names = [asked.jobs[j].name for j in sorted(asked.required)]
    return (
        f"the question with {', '.join(names) or 'nothing'} required, limits {asked.model.limits}"
    )
