"""``kantopt convert``."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.groups import with_groups
from kantopt.cli.output import all_dumped, check_output_file, complain, dumped, emit, format_of
from kantopt.errors import UsageError
from kantopt.formats.exports import ExportName
from kantopt.schema.hints import one_of

if TYPE_CHECKING:
    from kantopt.planning.question import Import
    from kantopt.schema.base import Part

Form = Literal["yaml", "json", "wide"]


@with_groups
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
        opt.Source | None,
        typer.Option(
            "--from",
            help="openb: node list, pod list, placement (CSV); vm-rescheduling: one JSON file; "
            "kubernetes: kubectl get -o json or yaml; slurm: scontrol show, squeue --json. Traces: "
            "kalos, philly (CSV); openb-trace: pod list and perhaps node list; swf: Standard "
            "Workload Format.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        ExportName | None,
        typer.Option(
            "--to",
            help="The way back. slurm: text of scontrol show and topology.conf; the others: one "
            "list of Kubernetes objects. Without --from of any snapshot.",
            show_default=False,
        ),
    ] = None,
    *,
    reading: opt.Reading,
    pending: opt.Pending = None,
    processor: Annotated[
        str,
        typer.Option(
            metavar="RESOURCE", help="swf: the resource that a processor is, nvidia.com/gpu say."
        ),
    ] = "cpu",
    gpus_per_node: Annotated[
        int,
        typer.Option(
            min=1, max=1024, help="philly: GPUs of a node; larger jobs are split into pods."
        ),
    ] = 8,
    output: Annotated[
        Form | None,
        opt.output_as(
            "JSON is read two to three times as fast: take it for large inputs. With --to, what "
            "comes out different: wide: a line for each thing; json, yaml: a document, beside -O.",
            default="yaml",
        ),
    ] = None,
    output_file: opt.OutputFile = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Turn other systems' files into documents of ours, and back.

    The documents are written one after the other. What they leave out or assume is said on
    stderr, and in the notes of a trace.
    """
    from kantopt.cli.progress import Progress
    from kantopt.cli.spoken import speak
    from kantopt.report.words import words_about

    check_output_file(output_file, files)
    how = reading.given(pending)
    if to is not None:
        return _export(to, files, source, how, output, output_file, quiet=quiet, verbose=verbose)
    if source is None:
        raise UsageError("found neither --from nor --to, expected one of them or both")
    if output == "wide":
        raise UsageError("--output: found wide without --to, expected yaml or json")
    form = format_of(output, output_file, "yaml")
    with Progress(verbose=verbose, quiet=quiet) as progress:
        if (
            source == "kubernetes"
            or source == "openb"
            or source == "slurm"
            or source == "vm-rescheduling"
        ):
            from kantopt.planning.convert import convert as convert_files

            converted = convert_files(source, files, how)
            documents: list[Part] = [converted.snapshot, converted.pending]
            speak(words_about(source, converted.snapshot, converted.pending.jobs))
            notes = converted.notes
        else:
            from kantopt.planning.convert_trace import convert_trace

            snapshot, trace = convert_trace(
                source, files, processor=processor, gpus_per_node=gpus_per_node
            )
            documents = [trace] if snapshot is None else [snapshot, trace]
            notes = trace.notes
        progress.reach("writing")
        text = all_dumped(documents, form)
    emit(text, output_file)
    if not quiet:
        complain("note", notes)
    return 0


def _export(
    to: ExportName,
    files: list[str],
    source: opt.Source | None,
    how: "Import",
    output: Form | None,
    output_file: str | None,
    *,
    quiet: bool,
    verbose: bool,
) -> int:
    from kantopt.cli.progress import Progress
    from kantopt.cli.spoken import speak
    from kantopt.planning.convert import SOURCES, export
    from kantopt.report.words import words_about

    if output in ("json", "yaml") and output_file is None:
        expected = "-O FILE beside it: for what --to writes, and this for what comes out different"
        raise UsageError(f"--output: found {output} with --to {to}, expected {expected}")
    read = next((known for known in SOURCES if known == source), None)
    if source is not None and read is None:
        raise UsageError(f"--from {source}: found a trace, expected {one_of(SOURCES)} with --to")
    with Progress(verbose=verbose, quiet=quiet):
        exported = export(to, files, read, how, format_of(None, output_file, "yaml"))
    if read is not None:
        speak(words_about(read))
    emit(exported.text, output_file)
    if output == "json" or output == "yaml":
        emit(dumped(exported.report(to), output))
    elif not quiet:
        complain("note", exported.lines(each=output == "wide"))
    return 0
