"""``kantopt policies``."""

from typing import Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.output import all_dumped, check_output_file, emit, format_of


def policies(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME|FILE]", help="A policy to print.")
    ] = None,
    output: Annotated[Literal["yaml", "json"] | None, opt.output_as(default="yaml")] = None,
    output_file: opt.OutputFile = None,
    color: opt.ColourOption = "auto",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """List the shipped policies, or print one; with -o or -O, all."""
    from kantopt.schema.policies import load_policy, shipped_policies

    check_output_file(output_file)
    if not (name is None and output is None and output_file is None):
        names = shipped_policies() if name is None else [name]
        documents = map(load_policy, names)
        emit(all_dumped(documents, format_of(output, output_file, "yaml")), output_file)
        return 0
    from kantopt.cli.shown import on_screen
    from kantopt.report.blocks import Table
    from kantopt.schema.policies import in_short

    rows = tuple((each, *in_short(load_policy(each))) for each in shipped_policies())
    table = Table("", ("POLICY", "QUEUE", "PLACES BY", "TIDIES UP"), rows)
    emit(on_screen([table], color))
    return 0
