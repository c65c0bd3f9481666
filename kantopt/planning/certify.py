"""How good is a plan? Its legality, its bounds, and a better one if it is not the best."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence

from kantopt.clock import Deadline
from kantopt.planning.certificates.arrivals import with_victims_back, without_wishes
from kantopt.planning.certificates.assumed import assumed
from kantopt.planning.certificates.between import Between
from kantopt.planning.certificates.judged import (
    Judged,
    at_once,
    better_bounds,
    final_of,
    judged_between,
    sealed,
    spared,
    subject_of,
    written,
)
from kantopt.planning.certificates.later import Since, placement_in
from kantopt.planning.certificates.preempted import broken
from kantopt.planning.certificates.second_opinion import second_opinion
from kantopt.planning.certificates.witnesses import Witnesses
from kantopt.planning.document.judge import judge_plan
from kantopt.planning.document.tiers import tier_rows
from kantopt.planning.document.write import plan_document
from kantopt.planning.question import Question
from kantopt.planning.queue_victims import unsure
from kantopt.planning.solving.answer import answer_of
from kantopt.planning.solving.cut_short import not_examined
from kantopt.planning.solving.executable import executable
from kantopt.planning.solving.news import Tell
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.planning.solving.together import search_together
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.certificate import (
    Certificate,
    CertificateMetadata,
    CertifiedTier,
    CounterExample,
    JudgedAs,
    Judgement,
    Search,
)
from kantopt.schema.answers.history import History
from kantopt.schema.answers.plan import Standing
from kantopt.schema.base import API_VERSION
from kantopt.schema.model import Model, Rule
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.order.sequence import sequence
from kantopt.shares import CERTIFY_FIRST, CERTIFY_LAST, CROSS_CHECK, WRITING_CERTIFICATE
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.version import __version__

_BUT_REQUIRED = tuple(rule for rule in Rule if rule is not Rule.REQUIRED)
_LAST_LOOK = 3
"""Judgings of a plan that must be left for a last look for multipliers, which is not cut short."""


def judged_plan(question: Question, model: Model, later: Between | Since | None) -> Judged:
    """Return what is to be certified.

    That is the plan among the documents; else what brought the cluster to a later snapshot; else
    to do nothing, which judges the snapshot's own placement. Of two dumps it is what came of them.

    Raises
    ------
    BadDataError
        If the later snapshot has pods of the question on nodes that it does not have.
    """
    if isinstance(later, Between):
        return judged_between(later, model)
    if later is not None:
        question = later.question
    notes: tuple[str, ...] = ()
    given: JudgedAs = "plan"
    plan = question.plan
    if plan is None:
        instance = question.instance(model)
        placement, given = instance.current, "snapshot as it stands"
        if later is not None:
            read = placement_in(instance, question, later.later)
            placement, given = read.placement, "later snapshot"
            notes = (*later.later.notes, *read.notes)
        waves = sequence(instance, placement)
        if waves is None:
            waves = at_once(instance, placement)
            text = "no order of its actions was found in which every step is legal"
            notes = (*notes, f"{text}: judged as done in one step")
        plan = written(question, instance, placement, waves)
    return Judged(plan, given, judge_plan(question, plan, model, "the plan"), notes)


def certify(
    question: Question,
    model: Model,
    options: Options,
    deadline: Deadline,
    *,
    later: Between | Since | None = None,
    cross_check: bool = False,
    tell: Tell = lambda _: None,
    solver: SolverProcess | None = None,
) -> Certificate:
    """Judge a plan, bound each of its objectives, and look for a better one.

    Parameters
    ----------
    question
        The documents; the plan among them is judged.
    model
        Rules and objectives to judge under, with ``extends`` resolved.
    options, deadline, tell, solver
        As for :func:`kantopt.planning.plan.make_plan`; the judged plan is the one to beat.
    later
        Without a plan: what became of the cluster, which is judged instead; of two dumps all that
        is known of both. Without either the snapshot is judged as it stands.
    cross_check
        Ask a second solver about the tiers that only search has proved.

    Raises
    ------
    BadDataError
        If the documents contradict each other.
    """
    required = tuple(dict.fromkeys((*model.required, *options.require)))
    model = model.model_copy(update={"required": required})
    if isinstance(later, Between):
        model = without_wishes(model)
    judged = judged_plan(question, model, later)
    deadline.stop.begin()
    history: History | None = None
    apart: tuple[Standing, ...] = ()
    if later is not None:
        question, history = later.question, later.history
    if isinstance(later, Between):
        apart = broken(later.first, later.history, model)
    certificate = Certificate(
        api_version=API_VERSION,
        kind="Certificate",
        metadata=CertificateMetadata(
            name=question.snapshot.metadata.name,
            certificate_id="",
            kantopt_version=__version__,
        ),
        subject=subject_of(question, model, judged),
        verdict="ILLEGAL",
        findings=judged.verdict.findings,
        assumed=assumed(question, model, judged.plan, history),
        history=history,
        apart=apart,
        search=Search(
            seed=options.seed,
            workers=1 if deadline.deterministic else options.workers,
            deterministic=deadline.deterministic,
        ),
        warnings=(*judged.notes, *(x for x in judged.verdict.notes if x not in question.notes)),
        steps=len(judged.plan.waves),
        model=model,
        plan=judged.plan,
    )
    if judged.verdict.findings:
        return sealed(certificate)
    instance = question.instance(model)
    final = final_of(instance, judged.plan)
    run = _Certification(question, instance, final, options, deadline, cross_check)
    return sealed(run.complete(certificate, tell, solver))


class _Certification:
    """The search for something better than one placement."""

    def __init__(
        self,
        question: Question,
        instance: Instance,
        final: Placement,
        options: Options,
        deadline: Deadline,
        cross_check: bool,
    ) -> None:
        self.cross_check = cross_check
        self.question = question
        self.instance = instance
        self.final = final
        self.options = options
        self.deadline = deadline
        self.tiers = tiers_of(instance)

    def complete(
        self, certificate: Certificate, tell: Tell, solver: SolverProcess | None
    ) -> Certificate:
        """Search, and write down what that says of the placement."""
        # What another scheduler did may be nothing that a plan of ours may do: it is none to better
        # step by step, but its values are those to beat.
        legal = not check(self.instance, self.final, _BUT_REQUIRED)
        run = Run(
            self.instance,
            self.tiers,
            self.options,
            self.deadline,
            tell,
            solver,
            start=(self.final, "the plan judged") if legal else None,
        )
        run.unsure = unsure(self.question.snapshot, self.question.spared(self.instance.model))
        first = Incumbent(run.instance, self.tiers, self.final, "the plan judged").best
        witnesses = Witnesses(run.instance, self.tiers, self.final, first.values, run.searching)
        witnesses.tell(run.incumbent.known)
        better: CounterExample | None = None
        if certificate.history is not None:
            # The plainest better plan, for which there is always time.
            run.incumbent.offer(with_victims_back(self.instance, self.final), "put back")
        if self.deadline.over():
            run.warnings.append(not_examined(self.deadline))
            run.cut = True
        else:
            left = self.deadline.remaining()
            run.construct()
            if run.incumbent.best.key >= first.key:
                witnesses.look(self.deadline, left * (1 - CERTIFY_FIRST))
                witnesses.tell(run.incumbent.known)
            run.kept_besides += left * (CERTIFY_LAST + CROSS_CHECK * self.cross_check)
            run.keep_for_ending(run.incumbent.placement)
            search_together(run)
            witnesses.hear(run.incumbent.known)
            if run.incumbent.best.key >= first.key:
                kept = max(left * CERTIFY_LAST / 2, _LAST_LOOK * run.judging)
                witnesses.look(self.deadline, kept)
        if run.incumbent.best.key < first.key:
            judged = certificate if certificate.history is not None else None
            better = self._better(run, (first.missing, *first.values), judged)
        before = measure(self.instance, self.instance.current, self.tiers)
        values = first.values
        known = run.incumbent.known
        tiers = witnesses.certified(tier_rows(self.tiers, before, values, known))
        if self.cross_check:
            tiers = self._checked(run.instance, tiers, values)
        lacking = (bool(first.missing) or run.infeasible) and not run.ruled_out
        proved = all(tier.status == "OPTIMAL" for tier in tiers) and not lacking
        verdict: Judgement = "OPEN"
        if better is not None:
            verdict = "BETTER"
        elif proved:
            verdict = "OPTIMAL"
        claimed = better_bounds(self.question.plan if better is None else None, tiers)
        told = (*certificate.warnings, *run.warnings, *run.starved(proved=proved), *claimed)
        search = self._search(certificate.search, run)
        return certificate.model_copy(
            update={
                "verdict": verdict,
                "tiers": tiers,
                "counter_example": better,
                "search": search,
                "warnings": tuple(dict.fromkeys(told)),
                "required_impossible": run.ruled_out,
            }
        )

    def _search(self, search: Search, run: Run) -> Search:
        """Say how it was searched, if the solver was asked."""
        digest = None
        if run.ortools_version and self.options.log is not None:
            with contextlib.suppress(FileNotFoundError), open(self.options.log, "rb") as log:
                digest = f"sha256:{hashlib.file_digest(log, 'sha256').hexdigest()}"
        found = {
            "ortools_version": run.ortools_version,
            "parameters": tuple(run.parameters),
            "log_digest": digest,
        }
        return search.model_copy(update=found)

    def _checked(
        self, instance: Instance, tiers: tuple[CertifiedTier, ...], values: Sequence[int]
    ) -> tuple[CertifiedTier, ...]:
        """Have a second solver look at the tiers that only search has proved."""
        searched = [
            i
            for i, tier in enumerate(tiers)
            if tier.status == "OPTIMAL" and tier.proved_by != "arithmetic"
        ]
        checked = list(tiers)
        for k, i in enumerate(searched):
            seconds = (self.deadline.remaining() - WRITING_CERTIFICATE) / (len(searched) - k)
            if seconds > 0:
                given = second_opinion(instance, self.tiers, values, i, seconds)
                checked[i] = tiers[i].model_copy(update={"second_opinion": given})
        return tuple(checked)

    def _better(
        self, run: Run, key: tuple[int, ...], judged: Certificate | None
    ) -> CounterExample | None:
        """Return the best plan that was found and has a legal order, if it is better."""
        placement, waves = executable(run)
        lacking = len(check(self.instance, placement, (Rule.REQUIRED,)))
        values = measure(self.instance, placement, self.tiers)
        if (lacking, *values) >= key:
            return None
        answer = answer_of(run, placement, waves, examined=True)
        values = tuple(row.value for row in answer.tiers)
        plan = plan_document(self.question, self.instance, answer)
        differs = [
            tier.name for tier, a, b in zip(self.tiers, values, key[1:], strict=True) if a != b
        ]
        tier = differs[0] if lacking == key[0] else Rule.REQUIRED.value
        return CounterExample(
            tier=tier,
            values=values,
            optimal=plan.solver.status == "OPTIMAL",
            spared=() if judged is None else spared(self.instance, judged.plan, plan),
            plan=plan,
        )
