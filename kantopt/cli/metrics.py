"""``kantopt metrics``."""

from typing import Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.groups import with_groups
from kantopt.cli.output import complain
from kantopt.cli.shown import Look

Form = Literal["table", "json", "yaml", "html"]


@with_groups
def metrics(
    files: opt.Files,
    reading: opt.Reading,
    look: Look,
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
    pending: opt.Pending = None,
    output: Annotated[Form | None, opt.output_as()] = None,
    output_file: Annotated[str | None, opt.document_to("the metrics")] = None,
) -> int:
    """Measure a cluster, before and after a plan.

    Allocation (GAR), fragmentation (GFR, FR of a slot size, stranded GPUs), what is unplaced by
    priority, nodes in use, how far gangs are spread (JTTED), how long jobs have waited (JWTD).
    Needs no solver.
    """
    from kantopt.planning.pictures import picture_of
    from kantopt.planning.question import judging_model, read_question
    from kantopt.planning.report_metrics import Slot, report_metrics
    from kantopt.planning.wanted import model_pending

    shown = look.shown(output, output_file, files)
    with look.progress() as progress:
        question = read_question(files, reading.given(pending))
        progress.reach("measuring")
        chosen = judging_model(question, model)
        if question.plan is None:  # which jobs a plan was made for stands in the plan
            chosen = model_pending(question, chosen, pending or ())
        slots = [Slot(size, slot_resource, slot_devices) for size in slot or ()]
        report = report_metrics(question, chosen, slots)
    from kantopt.report.metrics import metrics_blocks

    shown.of(question).blocks(
        report,
        "metrics",
        lambda _: metrics_blocks(report),
        picture=lambda: picture_of(question, chosen),
    )
    if not (shown.quiet or shown.in_table):
        complain("warning", report.notes)
    return 0
