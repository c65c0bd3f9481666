"""``kantopt metrics``."""

from typing import Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.output import check_output_file, complain, dumped, emit, format_of

Form = Literal["table", "json", "yaml"]


def metrics(
    files: opt.Files,
    model: opt.ModelName = None,
    slot: Annotated[
        list[str] | None,
        typer.Option(metavar="SIZE", help="Count free slots of this size (16, 64Gi). Repeatable."),
    ] = None,
    slot_resource: Annotated[
        str, typer.Option(metavar="NAME", help="Resource of the slots.")
    ] = "cpu",
    slot_devices: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Count slots per device of this class, such as numa; default: per node.",
        ),
    ] = None,
    gated: opt.Gated = False,
    pending: opt.Pending = None,
    topology: opt.Levels = None,
    output: Annotated[Form | None, opt.output_as()] = None,
    output_file: opt.OutputFile = None,
    color: opt.ColourOption = "auto",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Measure a cluster, before and after a plan.

    Allocation (GAR), fragmentation (GFR, FR of a slot size, stranded GPUs), what is unplaced by
    priority, nodes in use, how far gangs are spread (JTTED), how long jobs have waited (JWTD).
    Needs no solver.
    """
    from kantopt.planning.question import Import, judging_model, read_question
    from kantopt.planning.report_metrics import Slot, report_metrics

    check_output_file(output_file)
    how = Import(gated, tuple(pending or ()), tuple(topology or ()))
    question = read_question(files, how)
    chosen = judging_model(question, model)
    slots = [Slot(size, slot_resource, slot_devices) for size in slot or ()]
    report = report_metrics(question, chosen, slots)
    form = format_of(output, output_file, "table")
    if form == "table":
        from kantopt.cli.screen import on_screen
        from kantopt.report.metrics import metrics_blocks

        text = on_screen(metrics_blocks(report), color, to_file=output_file is not None)
    else:
        text = dumped(report, form)
    emit(text, output_file)
    if not quiet and (form != "table" or output_file is not None):
        complain("warning", report.notes)
    return 0
