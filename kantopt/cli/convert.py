"""``kantopt convert``."""

from typing import Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.output import check_output_file, complain, dumped, emit, format_of

Form = Literal["yaml", "json"]


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Files of the other system, in any order; - is standard input.",
            show_default=False,
        ),
    ],
    source: Annotated[
        opt.Source,
        typer.Option(
            "--from",
            help="openb: node list, pod list, placement (CSV); vm-rescheduling: one JSON file; "
            "kubernetes: kubectl get -o json or yaml.",
            show_default=False,
        ),
    ],
    gated: opt.Gated = False,
    pending: opt.Pending = None,
    topology: opt.Levels = None,
    output: Annotated[
        Form | None,
        opt.output_as(
            "JSON is read two to three times as fast: take it for large inputs.", default="yaml"
        ),
    ] = None,
    output_file: opt.OutputFile = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Turn other systems' files into a snapshot and a job list.

    Both documents are written one after the other. What they leave out or assume is said on
    stderr.
    """
    from kantopt.cli.progress import Progress
    from kantopt.planning.convert import convert as convert_files

    check_output_file(output_file, files)
    how = opt.import_as(gated, pending, topology)
    form = format_of(output, output_file, "yaml")
    with Progress(verbose=verbose, quiet=quiet) as progress:
        converted = convert_files(source, files, how)
        progress.reach("writing")
        documents = [dumped(converted.snapshot, form), dumped(converted.pending, form)]
    emit(("---\n" if form == "yaml" else "").join(documents), output_file)
    if not quiet:
        complain("note", converted.notes)
    return 0
