"""Certificates with one thing changed, and which changes leave all that they claim true."""

from __future__ import annotations

import copy
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kantopt.clock import Deadline
from kantopt.errors import BadDataError
from kantopt.planning.certificates.check import check_certificate
from kantopt.planning.certificates.judged import sealed
from kantopt.planning.certify import certify
from kantopt.planning.plan import make_plan
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.plan import Plan
from kantopt.schema.consistency import check_certificate as check_document
from kantopt.schema.dump import canonical_digest, dump_data
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.validation import validate
from tests.generate import random_documents

Path = tuple[str | int, ...]
Document = dict[str, Any]

FREE = re.compile(
    r"metadata\.kantoptVersion"
    r"|search\..*"
    r"|warnings.*"
    r"|tiers\.\d+\.secondOpinion.*"
    r"|subject\.judged"
    r"|(counterExample\.)?plan\.("
    r"warnings.*|metadata\.(kantoptVersion|name|snapshot\.(name|capturedAt|resourceVersion|digest))"
    r"|solver\.(engine|strategy|seed|ortoolsVersion|reproducible|deterministic|foundBy|status|techniques.*)"
    r"|unplaced\.\d+\.(rule|message)|objectives\.\d+\..*"
    r")"
)
"""What claims nothing that could be checked: how it was made, words, reasons."""
DIGESTS = re.compile(r"metadata\.certificateId|subject\.(plan|model)|.*planId")
"""What is worked out again anyhow."""
EITHER = re.compile(
    r"model\..*|requiredImpossible|tiers\.\d+\.(witness\..*|given.*)"
    r"|(counterExample\.)?plan\.(waves\.\d+\.id|cascade\..*)"
)
"""What may be true as well when it is changed: an answer to another question, what only search has
found, other multipliers that prove as much, another number for a wave."""


def certificates(seed: int) -> Iterator[tuple[Certificate, list[RawDocument]]]:
    """Yield certificates of one tiny question: as it stands, and of a plan for it."""
    snapshot, jobs, model = random_documents(seed)
    raws = [RawDocument(f"{seed}", i, dump_data(d)) for i, d in enumerate((snapshot, jobs), 1)]
    question = question_of(raws)
    yield _certified(raws, model), raws
    plan = make_plan(question, model, Options(workers=1), Deadline.within(SECONDS)).plan
    given = [*raws, RawDocument("plan", 0, dump_data(plan))]
    yield _certified(given, model), raws


def _certified(raws: list[RawDocument], model: Model) -> Certificate:
    question = question_of(raws)
    return certify(question, model, Options(workers=1), Deadline.within(SECONDS))


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the places of all single values of a document, and of lists that can be shortened."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        if value:
            yield path
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path


def mutated(document: Document, rng: random.Random) -> tuple[Document, str]:
    """Change one value of a document; return it and the place."""
    places = list(leaves(document))
    # Each part has its turn: most leaves are those of embedded plans.
    heads = sorted({place[0] for place in places}, key=str)
    head = rng.choice(heads)
    place = rng.choice([place for place in places if place[0] == head])
    changed = copy.deepcopy(document)
    holder = changed
    for step in place[:-1]:
        holder = holder[step]  # type: ignore[index]
    holder[place[-1]] = _other(holder[place[-1]], rng)  # type: ignore[index]
    return changed, ".".join(map(str, place))


SECONDS = 1.5
"""Time for a plan and for a certificate: what is not proved by then stays open."""
WORDS = ("OPTIMAL", "FEASIBLE", "OPEN", "BETTER", "arithmetic", "cp-sat", "x", "a/b")


def _other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return max(0, value + rng.choice((-5, -1, 1, 2, 7))) if value else rng.choice((1, 3))
    if isinstance(value, list):
        return value[:-1] if rng.random() < 0.6 else [*value, copy.deepcopy(value[-1])]
    return rng.choice([word for word in WORDS if word != value])


def resealed(document: Document) -> Certificate:
    """Read a changed certificate and make all its digests those of what it holds now.

    Raises
    ------
    BadDataError
        If it is no certificate any more.
    """
    certificate = read(document)
    plan = _named(certificate.plan)
    better = certificate.counter_example
    if better is not None:
        better = better.model_copy(update={"plan": _named(better.plan)})
    digests = {"plan": canonical_digest(plan), "model": canonical_digest(certificate.model)}
    return sealed(
        certificate.model_copy(
            update={
                "plan": plan,
                "counter_example": better,
                "subject": certificate.subject.model_copy(update=digests),
            }
        )
    )


def _named(plan: Plan) -> Plan:
    bare = plan.model_copy(update={"metadata": plan.metadata.model_copy(update={"plan_id": ""})})
    identity = plan.metadata.model_copy(update={"plan_id": canonical_digest(bare)})
    return plan.model_copy(update={"metadata": identity})


def read(document: Document) -> Certificate:
    """Read a certificate as a file would be.

    Raises
    ------
    BadDataError
        If it is none.
    """
    certificate = validate(RawDocument("c", 0, document), Certificate)
    problems = check_document(certificate, "c")
    if problems:
        raise BadDataError(problems)
    return certificate


def refused(certificate: Certificate, raws: list[RawDocument]) -> bool:
    """Whether a certificate is refused."""
    raw = RawDocument("c", 0, dump_data(certificate))
    try:
        return bool(check_certificate(certificate, raw, raws).findings)
    except BadDataError:
        return True


def try_mutations(
    certificate: Certificate, raws: list[RawDocument], rng: random.Random, times: int
) -> Counter[str]:
    """Change a certificate so many times and judge it; return how often it went how.

    Raises
    ------
    AssertionError
        If a changed one passes with its old digest, or one with new digests passes though a claim
        was changed, or is refused though none was.
    """
    assert not refused(certificate, raws), "refused as it is"
    document, went = dump_data(certificate), Counter[str]()
    while sum(went.values()) < times:
        changed, place = mutated(document, rng)
        try:
            stale, fresh = read(changed), resealed(changed)
        except BadDataError:
            went["no certificate any more"] += 1
            continue
        if dump_data(stale) == document:
            continue
        assert refused(stale, raws), f"{place}: not refused on its digest"
        no = refused(fresh, raws)
        if FREE.fullmatch(place) or DIGESTS.fullmatch(place):
            # A plan of which something is changed may contradict itself.
            assert not no or "plan." in place, f"{place}: refused though nothing is claimed"
        elif not EITHER.fullmatch(place):
            assert no, f"{place}: passed though a claim was changed"
        went["refused: a claim was false" if no else "passed: all claims are true"] += 1
    return went
