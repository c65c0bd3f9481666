"""``kantopt verify``."""

from typing import Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.output import check_output_file, complain, dumped, emit, format_of

Form = Literal["table", "json", "yaml", "name"]


def verify(
    files: opt.Files,
    model: opt.ModelName = None,
    gated: opt.Gated = False,
    pending: opt.Pending = None,
    topology: opt.Levels = None,
    output: Annotated[
        Form | None,
        typer.Option("--output", "-o", help="name: a line per finding.", show_default="table"),
    ] = None,
    output_file: opt.OutputFile = None,
    color: opt.ColourOption = "auto",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Judge a plan: sound, legal at every step, true in what it says.

    With a snapshot and a plan, every step is replayed under the plan's own model (or --model);
    its figures, bounds by arithmetic, embedded jobs and reasons to evict are found out again, its
    bounds by cp-sat are not. A snapshot alone: what is wrong with it as it stands.
    Without a snapshot: only the documents. Needs no solver. Exit codes: 0 nothing found against
    a plan, 12 findings, 64 usage, 65 bad data, 66 missing input.
    """
    from kantopt.planning.judge import judge
    from kantopt.planning.question import Import

    check_output_file(output_file)
    how = Import(gated, tuple(pending or ()), tuple(topology or ()))
    verdict = judge(files, model, how)
    form = format_of(output, output_file, "table")
    if form == "table":
        from kantopt.cli.screen import shown
        from kantopt.report.verdict import verdict_blocks

        text = shown(verdict_blocks(verdict), color, to_file=output_file is not None)
    elif form == "name":
        from kantopt.report.verdict import finding_lines

        text = finding_lines(verdict)
    else:
        text = dumped(verdict, form)
    emit(text, output_file)
    if not quiet and (form != "table" or output_file is not None):
        complain("warning", verdict.notes)
    return 12 if verdict.findings else 0
