"""Is all that a certificate claims true, as far as no search is needed to say so?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kantopt.errors import BadDataError, Problem, UsageError
from kantopt.planning.certificates.assumed import assumed
from kantopt.planning.certificates.between import Between, became_of
from kantopt.planning.certificates.judged import (
    Judged,
    final_of,
    judged_between,
    sealed,
    spared,
    subject_of,
)
from kantopt.planning.certificates.later import Since, placement_in
from kantopt.planning.certificates.preempted import broken
from kantopt.planning.document.actions import waves_of
from kantopt.planning.document.claims import claim, compared
from kantopt.planning.document.judge import judge_plan, unchecked_claims, verdict_of
from kantopt.planning.document.tiers import tier_rows
from kantopt.planning.question import Import, Question, question_of
from kantopt.problem.difference import apply
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.answers.certificate import Certificate, CertifiedTier
from kantopt.schema.answers.plan import Plan, Standing
from kantopt.schema.answers.reports import Verdict
from kantopt.schema.dump import canonical_digest
from kantopt.schema.files import load_raw
from kantopt.schema.model import Rule
from kantopt.schema.raw import RawDocument, is_foreign
from kantopt.schema.validation import validate_all
from kantopt.verify.metrics import measure
from kantopt.verify.metrics.unplaced import required_never_placed
from kantopt.verify.rules import check
from kantopt.verify.witness.check import proved_bound, words_of_witness


def judge_certificate(
    path: str, paths: Sequence[str], how: Import | None = None, after: Sequence[str] = ()
) -> Verdict:
    """Judge a certificate: its digests, its plan, its numbers, its bounds by arithmetic.

    Parameters
    ----------
    path
        File of the certificate.
    paths
        The documents that it speaks of: a snapshot, pending jobs. A plan or a model among them
        must be the certificate's own.
    how
        How Kubernetes objects are read.
    after
        Files of the later dump, of a certificate that speaks of two.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If a file cannot be read, a document is not sound or a snapshot is missing.
    """
    raw, certificate = _certificate(path)
    if certificate.history is not None and not after:
        raise UsageError(f"{path}: it speaks of two snapshots: give the later one with --after")
    return check_certificate(certificate, raw, load_raw(paths), how, load_raw(after))


def check_certificate(
    certificate: Certificate,
    raw: RawDocument,
    raws: Sequence[RawDocument],
    how: Import | None = None,
    after: Sequence[RawDocument] = (),
) -> Verdict:
    """Judge a certificate that has been read, ``raw`` as it was written; else as above."""
    documents = list(raws)
    if certificate.history is not None:
        return _check_between(certificate, raws, after, how or Import())
    if not any(given.data.get("kind") == "Plan" for given in raws):
        # Pending jobs that are not listed elsewhere are those that the plan embeds.
        documents.append(RawDocument(f"{raw.file}: plan", 0, raw.data["plan"]))
    return _checked(certificate, question_of(documents, how or Import()))


def _check_between(
    certificate: Certificate, raws: Sequence[RawDocument], after: Sequence[RawDocument], how: Import
) -> Verdict:
    """Judge a certificate of two dumps: what they show is worked out again."""
    first, model = question_of(raws, how), certificate.model
    found = became_of(first, raws, after, how, model)
    if found.history is None:
        raise UsageError("--after: found a snapshot that still knows all jobs, expected another")
    facts: dict[str, object] = {"history": found.history, "apart": ()}
    shown = None
    if isinstance(found, Between):
        judged = judged_between(found, model)
        facts |= {"apart": broken(found.first, found.history, model), "plan": judged.plan}
        shown = judged.verdict
    elif not _leads_to(found, certificate):
        facts["plan"] = None
    findings = [
        claim(name, "something else", "what the two dumps show")
        for name, fact in facts.items()
        if getattr(certificate, name) != fact
    ]
    return _checked(certificate, found.question, shown, findings)


def _leads_to(since: Since, certificate: Certificate) -> bool:
    """Whether the plan judged leads to where the pods are in the later snapshot, by any order."""
    instance = since.question.instance(certificate.model)
    waves, _ = waves_of(instance, certificate.plan, "the plan")
    placement = placement_in(instance, since.question, since.later).placement
    return apply(instance.current, waves) == placement


def _checked(
    certificate: Certificate,
    question: Question,
    shown: Verdict | None = None,
    findings: Sequence[Standing] = (),
) -> Verdict:
    """Work out again what a certificate says of a question; ``shown``: its plan's faults."""
    findings = [*findings, *_digests(certificate, question)]
    unchecked: list[str] = []
    if not findings:
        judge = _Judge(certificate, question, shown)
        findings = list(judge.findings())
        unchecked = judge.unchecked
    notes, read_as = question.notes, question.read_as
    return verdict_of("certificate", findings, (), notes, unchecked, certificate, read_as=read_as)


def _certificate(path: str) -> tuple[RawDocument, Certificate]:
    raws = [raw for raw in load_raw([path]) if not is_foreign(raw.data)]
    pairs, problems = validate_all([raw for raw in raws if raw.data.get("kind") == "Certificate"])
    if problems:
        raise BadDataError(problems)
    for raw, document in pairs:
        if isinstance(document, Certificate):
            return raw, document
    kinds = ", ".join(sorted({str(raw.data.get("kind")) for raw in raws})) or "nothing"
    raise BadDataError([Problem(path, "kind", kinds, "a Certificate")])


def _digest(subject: str, stated: str, found: str, means: str) -> Standing:
    """Say that a digest is another, and what follows from it."""
    other = claim(subject, stated or "nothing", found)
    return other.model_copy(update={"message": f"{means} ({other.message})"})


def _digests(certificate: Certificate, question: Question) -> Iterator[Standing]:
    """Find whether the certificate was changed, or speaks of something else."""
    stated = certificate.metadata.certificate_id
    true = sealed(certificate).metadata.certificate_id
    if stated != true:
        means = "the certificate was changed after it was made"
        yield _digest("metadata.certificateId", stated, true, means)
    subject = certificate.subject
    plan = question.plan or certificate.plan
    judged = Judged(plan, subject.judged, verdict_of("plan", (), (), ()), ())
    given = subject_of(question, question.model or certificate.model, judged)
    for name in ("snapshot", "jobs", "model", "plan"):
        said, digest = getattr(subject, name), getattr(given, name)
        if said != digest:
            means = f"the {name} given: not what the certificate is about"
            yield _digest(f"subject.{name}", said, digest, means)
    for name, document in (("model", certificate.model), ("plan", certificate.plan)):
        said, digest = getattr(subject, name), canonical_digest(document)
        if said != digest:
            means = "not what the certificate says it is about"
            yield _digest(f"{name} embedded", said, digest, means)


class _Judge:
    """Works a certificate's claims out again."""

    def __init__(self, certificate: Certificate, question: Question, shown: Verdict | None) -> None:
        self.certificate = certificate
        self.question = question
        self.shown = shown
        self.unchecked: list[str] = []
        """What it claims from a search."""

    def findings(self) -> Iterator[Standing]:
        """Yield what is claimed and not so."""
        certificate = self.certificate
        name = self.question.snapshot.metadata.name
        yield from compared("metadata.name", certificate.metadata.name, name)
        verdict = self.shown or self._judged(certificate.plan)
        if certificate.findings != verdict.findings:
            yield claim(
                "findings", f"{len(certificate.findings)} findings", f"{len(verdict.findings)}"
            )
        told = assumed(self.question, certificate.model, certificate.plan, certificate.history)
        if certificate.assumed != told:
            yield claim("assumed", "something else", "what the documents leave open")
        yield from compared("steps", certificate.steps, len(certificate.plan.waves))
        if verdict.findings or certificate.verdict == "ILLEGAL":
            yield from self._illegal(bool(verdict.findings))
            if self.shown is None and certificate.subject.judged == "later snapshot":
                self.unchecked.append("findings: that no other order of the actions is legal")
            return
        instance = self.question.instance(certificate.model)
        yield from _Numbers(certificate, instance, self._values(instance, certificate.plan)).find()
        yield from self._counter_example(instance)
        for row in certificate.tiers:
            if row.proved_by not in ("arithmetic", "none"):
                by = f"{row.proved_by} (`kantopt certify --cross-check` asks a second solver)"
                self.unchecked.append(f"tier {row.name}: bound {row.bound}, by {by}")
        if certificate.required_impossible and not required_never_placed(instance):
            self.unchecked.append("requiredImpossible: a required job has no place")
        self.unchecked += [
            text for text in unchecked_claims(instance, certificate.plan) if "cascade" in text
        ]

    def _judged(self, plan: Plan) -> Verdict:
        return judge_plan(self.question, plan, self.certificate.model, "the plan")

    def _values(self, instance: Instance, plan: Plan) -> tuple[int, ...]:
        """Required jobs that a plan leaves out, and its values."""
        final = final_of(instance, plan)
        lacking = len(check(instance, final, (Rule.REQUIRED,)))
        return (lacking, *measure(instance, final, tiers_of(instance)))

    def _illegal(self, illegal: bool) -> Iterator[Standing]:
        certificate = self.certificate
        if not illegal or certificate.verdict != "ILLEGAL":
            legal = "an illegal plan" if illegal else "a legal plan"
            yield claim("verdict", certificate.verdict, legal)
        if certificate.tiers:
            yield claim("tiers", f"{len(certificate.tiers)}", "none of an illegal plan")
        if certificate.counter_example is not None:
            yield claim("counterExample", "a plan", "none for an illegal plan")

    def _counter_example(self, instance: Instance) -> Iterator[Standing]:
        certificate = self.certificate
        better = certificate.counter_example
        if better is None:
            if certificate.verdict == "BETTER":
                yield claim("verdict", "BETTER", "no counter-example")
            return
        if certificate.verdict != "BETTER":
            yield claim("verdict", certificate.verdict, "a counter-example")
        faults = self._judged(better.plan).findings
        for fault in faults:
            where = f"counterExample: {fault.subject}"
            yield Standing(rule=fault.rule, subject=where, message=fault.message)
        if faults:
            return
        mine = self._values(instance, certificate.plan)
        other = self._values(instance, better.plan)
        yield from compared("counterExample.values", list(better.values), list(other[1:]))
        names = [Rule.REQUIRED.value, *(tier.name for tier in tiers_of(instance))]
        pairs = zip(names, mine, other, strict=True)
        differs = next(((name, b < a) for name, a, b in pairs if a != b), ("", False))
        if not differs[1]:
            yield claim("counterExample", "a better plan", "one that is not better")
        elif better.tier != differs[0]:
            yield claim("counterExample.tier", better.tier, differs[0])
        left: tuple[str, ...] = ()
        if certificate.history is not None:
            left = spared(instance, certificate.plan, better.plan)
        said, true = (", ".join(pods) or "nobody" for pods in (better.spared, left))
        yield from compared("counterExample.spared", said, true)
        if better.optimal is not (better.plan.solver.status == "OPTIMAL"):
            status = better.plan.solver.status
            yield claim("counterExample.optimal", str(better.optimal).lower(), status)


class _Numbers:
    """The tiers of a legal plan."""

    def __init__(self, certificate: Certificate, instance: Instance, key: Sequence[int]) -> None:
        self.certificate = certificate
        self.instance = instance
        self.tiers = tiers_of(instance)
        self.lacking, self.values = key[0], tuple(key[1:])
        self.judged = replace(instance, required=frozenset()) if self.lacking else instance
        """Bounds speak of plans that leave out what is required only if the one judged does."""
        self.before = measure(instance, instance.current, self.tiers)
        self.true = tier_rows(self.tiers, self.before, self.values, None)

    def find(self) -> Iterator[Standing]:
        """Yield what is claimed of them and not so."""
        rows = self.certificate.tiers
        stated, true = [row.name for row in rows], [tier.name for tier in self.tiers]
        if stated != true:
            yield claim("tiers", ", ".join(stated) or "none", ", ".join(true) or "none")
            return
        for i, row in enumerate(rows):
            yield from self._row(i, row, self.tiers[i])
        closed = all(row.status == "OPTIMAL" for row in rows)
        optimal = closed and (not self.lacking or self.certificate.required_impossible)
        if self.certificate.counter_example is None:
            verdict = "OPTIMAL" if optimal else "OPEN"
            if self.certificate.verdict not in (verdict, "BETTER"):
                yield claim("verdict", self.certificate.verdict, verdict)
        if self.certificate.required_impossible and not self.lacking:
            yield claim("requiredImpossible", "true", "a plan that places what is required")

    def _row(self, i: int, row: CertifiedTier, tier: Tier) -> Iterator[Standing]:
        subject = f"tier {row.name}"
        true = self.true[i]
        facts: dict[str, object] = {
            **{name: getattr(true, name) for name in _FACTS},
            "gap": None if row.bound is None else row.value - row.bound,
            "status": "UNKNOWN"
            if row.bound is None
            else "OPTIMAL"
            if row.bound == row.value
            else "FEASIBLE",
        }
        for name, fact in facts.items():
            yield from compared(f"{subject} {name}", _word(getattr(row, name)), _word(fact))
        if (row.bound is None) is not (row.proved_by == "none"):
            yield claim(f"{subject} provedBy", row.proved_by, f"the bound {_word(row.bound)}")
        if (row.witness is None) is (row.proved_by == "arithmetic"):
            yield claim(
                f"{subject} witness", "none" if row.witness is None else "one", row.proved_by
            )
        if row.bound is not None:
            yield from self._bound(i, row, tier, subject)

    def _bound(self, i: int, row: CertifiedTier, tier: Tier, subject: str) -> Iterator[Standing]:
        assert row.bound is not None
        above = tuple(tier.name for tier in self.tiers[:i])
        if row.given not in ((), above):
            yield claim(f"{subject} given", ", ".join(row.given), ", ".join(above) or "nothing")
            return
        locks = self.values[:i] if row.given else ()
        # A bound that a plan at hand goes below is none, whoever has proved it.
        for name, values in self._known():
            within = all(v <= lock for v, lock in zip(values, locks, strict=False))
            if within and len(values) > i and values[i] < row.bound:
                yield claim(f"{subject} bound", row.bound, f"{values[i]} by {name}")
                return
        if row.witness is not None:
            given = dict(zip(self.tiers[: len(locks)], locks, strict=True))
            try:
                true = proved_bound(row.witness, self.judged, self.tiers, i, given)
            except ValueError as error:
                yield Standing(rule="claims", subject=f"{subject} witness", message=str(error))
                return
            if row.bound > true:
                yield claim(f"{subject} bound by arithmetic", row.bound, true)
            words = words_of_witness(row.witness, tier, row.bound)
            if row.witness.says not in ("", words):
                yield claim(f"{subject} witness says", row.witness.says, words)

    def _known(self) -> Iterator[tuple[str, Sequence[int]]]:
        """Plans at hand that leave out nothing that is required, and their values."""
        if not self.lacking:
            yield "the plan judged", self.values
        if not check(self.instance, self.instance.current, (Rule.REQUIRED,)):
            yield "doing nothing", self.before
        better = self.certificate.counter_example
        if better is not None and not self.lacking:
            yield "the counter-example", better.values


_FACTS = ("metric", "priority", "preempts", "unit", "before", "value")
"""Fields of a tier that no bound has a say in."""


def _word(value: object) -> str:
    return "none" if value is None else str(value)
