"""What a certificate speaks of: a plan, or what became of a cluster, written as one; no search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from kantopt.planning.certificates.arrivals import judge_arrivals
from kantopt.planning.certificates.between import Between
from kantopt.planning.document.actions import waves_of
from kantopt.planning.document.claims import as_standing
from kantopt.planning.document.judge import verdict_of
from kantopt.planning.document.left import left_pending
from kantopt.planning.document.tiers import rows_of
from kantopt.planning.document.write import Answer, plan_document
from kantopt.planning.question import Question
from kantopt.problem.actions import Wave, without_leftovers
from kantopt.problem.difference import Numbering, difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers import plan as docs
from kantopt.schema.answers.actions import disturbed, left_waiting
from kantopt.schema.answers.certificate import Certificate, CertifiedTier, JudgedAs, Subject
from kantopt.schema.answers.plan import Plan
from kantopt.schema.answers.reports import Verdict
from kantopt.schema.dump import canonical_digest
from kantopt.schema.model import Model
from kantopt.verify.replay import replay
from kantopt.verify.rules import check_standing


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan to be certified and what the judge says of it."""

    plan: Plan
    given: JudgedAs
    verdict: Verdict
    notes: tuple[str, ...]


def subject_of(question: Question, model: Model, judged: Judged) -> Subject:
    """Name what a certificate speaks of by digests."""
    pending = sorted(question.pending, key=lambda job: (job.namespace, job.name))
    return Subject(
        snapshot=canonical_digest(question.snapshot),
        jobs=canonical_digest(*pending),
        model=canonical_digest(model),
        plan=canonical_digest(judged.plan),
        judged=judged.given,
    )


def final_of(instance: Instance, plan: Plan) -> Placement:
    """Return where a plan ends, without what fills left-over room."""
    waves, _ = waves_of(instance, plan, "the plan")
    return without_leftovers(replay(instance, waves)[1], waves)


def sealed(certificate: Certificate) -> Certificate:
    """Give a certificate its identity: the digest of all the rest."""
    bare = certificate.metadata.model_copy(update={"certificate_id": ""})
    digest = canonical_digest(certificate.model_copy(update={"metadata": bare}))
    named = certificate.metadata.model_copy(update={"certificate_id": digest})
    return certificate.model_copy(update={"metadata": named})


def spared(instance: Instance, judged: Plan, better: Plan) -> tuple[str, ...]:
    """Return the pods that one plan disturbs and a better one leaves in peace.

    Only those more important than whoever waits in the better one instead.
    """

    def priority(job: str) -> int:
        return instance.jobs[instance.job_index[job]].priority

    kept = disturbed(better)
    least = max(map(priority, left_waiting(judged, better)), default=-inf)
    return tuple(
        sorted(
            pod
            for pod, job in disturbed(judged).items()
            if pod not in kept and priority(job) > least
        )
    )


def better_bounds(plan: Plan | None, tiers: Sequence[CertifiedTier]) -> Iterator[str]:
    """Say of which objectives a plan itself claims more than was proved of it now."""
    claimed = {row.name: row for row in plan.objectives} if plan is not None else {}
    for tier in tiers:
        row = claimed.get(tier.name)
        if row is None or row.bound is None or row.value != tier.value:
            continue
        if tier.bound is None or tier.bound < row.bound:
            yield (
                f"{tier.name}: the plan says that none has less than {row.bound} {row.unit}, by "
                f"{row.proved_by}; that was not proved again in this time"
            )


def judged_between(between: Between, model: Model) -> Judged:
    """Judge what came of two dumps: a state, not a way to it."""
    found, notes = judge_arrivals(between, model)
    question = between.question
    instance = question.instance(model)
    placement = between.decided.placement(instance)
    plan = written(question, instance, placement, at_once(instance, placement))
    verdict = verdict_of("plan", [*map(as_standing, found)], (), question.notes)
    return Judged(plan, "later snapshot", verdict, tuple(notes))


def at_once(instance: Instance, placement: Placement) -> tuple[Wave, ...]:
    """All that differs in one wave: the judge says what is wrong with that."""
    changes = difference(instance, placement)
    every = [*changes.evictions, *changes.moves, *changes.binds]
    if not every:
        return ()
    return (Wave(1, (), Numbering().actions(every)),)


def written(
    question: Question, instance: Instance, placement: Placement, waves: tuple[Wave, ...]
) -> Plan:
    """Write a placement down as a plan that claims nothing but its values."""
    answer = Answer(
        placement=placement,
        waves=waves,
        tiers=rows_of(instance, tiers_of(instance), placement),
        solver=docs.Solver(
            engine="fast",
            strategy="",
            found_by="none",
            status="UNKNOWN",
            seed=0,
            deterministic=False,
            reproducible=False,
        ),
        unplaced=left_pending(
            instance, placement, lambda _: ("not examined", "left pending by what is judged")
        ),
        standing=tuple(check_standing(instance)),
        warnings=(),
    )
    return plan_document(question, instance, answer)
