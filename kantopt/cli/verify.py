"""``kantopt verify``."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from kantopt.cli import options as opt
from kantopt.cli.groups import with_groups
from kantopt.cli.output import complain
from kantopt.cli.shown import Look, Shown
from kantopt.errors import UsageError

if TYPE_CHECKING:
    from kantopt.planning.later.guard import Guarded
    from kantopt.schema.answers.reports import Verdict


@with_groups
def verify(
    files: opt.Files,
    reading: opt.Reading,
    look: Look,
    certificate: Annotated[
        str | None,
        typer.Option(
            metavar="CERT",
            help="A certificate to judge instead: its digests, all its figures, its bounds by "
            "arithmetic worked out again.",
        ),
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="With --certificate: the later dump, of a certificate that speaks of two. "
            "Repeatable.",
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Today's snapshot. Repeatable. Says which steps of the plan can still be taken, "
            "and cuts it to them: -o json or -O writes what is left.",
        ),
    ] = None,
    max_snapshot_age: Annotated[
        float | None,
        typer.Option(
            "--max-snapshot-age",
            metavar="DURATION",
            parser=opt.parse_duration,
            help="With --against: refuse a snapshot taken longer ago (exit 65): 15m.",
        ),
    ] = None,
    model: opt.ModelName = None,
    pending: opt.Pending = None,
    output: Annotated[
        opt.Form | None,
        opt.output_as("wide: every finding; with --against, every step; name: a line per finding."),
    ] = None,
    output_file: Annotated[
        str | None, opt.document_to("the verdict, with --against the plan that is left")
    ] = None,
) -> int:
    """Judge a plan: sound, legal at every step, true in what it says.

    With a snapshot and a plan, every step is replayed under the plan's own model (or --model);
    its figures, bounds by arithmetic, embedded jobs and reasons to evict are found out again, its
    bounds by cp-sat are not. A snapshot alone: what is wrong with it as it stands.
    Without a snapshot: only the documents. With --certificate, FILE... are what it speaks of.
    With --against, FILE... is the plan, with its job lists if it has any. Needs no solver. Exit
    codes: 0 nothing found against a plan or certificate, 12 findings, or steps cut, 64 usage, 65
    bad data, 66 missing input.
    """
    from kantopt.report.words import words_for

    inputs = (*files, certificate, *(after or ()), *(against or ()))
    shown = look.shown(output, output_file, inputs)
    how = reading.given(pending)
    progress = look.progress()
    progress.reach("reading and judging")
    if against:
        if model is not None or certificate is not None:
            raise UsageError("verify: --against cuts a plan, under its own model")
        from kantopt.planning.later.guard import guard, plan_and_cluster

        with progress:
            question, given = plan_and_cluster(files, against, how)
            if max_snapshot_age is not None:
                from kantopt.cli.age import check_snapshot_age
                from kantopt.clock import utc_now

                check_snapshot_age(question, max_snapshot_age, utc_now())
            rest = guard(question, given, "the plan")
        _write_rest(rest, shown.of(question))
        return 12 if rest.cut else 0
    if max_snapshot_age is not None:
        raise UsageError("verify: --max-snapshot-age is for --against")
    if after and certificate is None:
        raise UsageError("verify: --after is for --certificate")
    if certificate is not None:
        from kantopt.planning.certificates.check import judge_certificate

        if model is not None:
            raise UsageError("verify: --certificate judges under the certificate's own model")
        with progress:
            verdict = judge_certificate(certificate, files, how, after or ())
    else:
        from kantopt.planning.document.judge import judge

        with progress:
            verdict = judge(files, model, how)
    _write(verdict, replace(shown, words=words_for(verdict)))
    return 12 if verdict.findings else 0


def _write(verdict: "Verdict", shown: Shown) -> None:
    from kantopt.report.verdict import finding_lines, verdict_blocks

    shown.blocks(
        verdict,
        "verdict",
        lambda wide: verdict_blocks(verdict, wide=wide),
        lambda: finding_lines(verdict),
    )
    if not (shown.quiet or shown.in_table):
        complain("warning", verdict.notes)


def _write_rest(rest: "Guarded", shown: Shown) -> None:
    """Write which steps stay as a table or by name, or the plan that is left as a document."""
    from kantopt.planning.later.guard import WITHOUT_NEED
    from kantopt.report.guarded import cut_lines, guarded_blocks

    shown.blocks(
        rest.plan,
        "the plan today",
        lambda wide: guarded_blocks(rest.given, rest.done, rest.cut, rest.spared, wide=wide),
        lambda: cut_lines(rest.cut),
    )
    if shown.quiet or rest.plan is rest.given:
        return
    said = WITHOUT_NEED if shown.in_table else None
    complain("warning", [w for w in rest.plan.warnings if said is None or not w.startswith(said)])
