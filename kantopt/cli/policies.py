"""``kantopt policies``."""

from typing import Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.shipped import list_or_print


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
    from kantopt.schema.policies import in_short, load_policy, shipped_policies

    return list_or_print(
        *(name, output, output_file, color),
        names=shipped_policies,
        load=load_policy,
        columns=("POLICY", "QUEUE", "PLACES BY", "TIDIES UP"),
        row=lambda each: in_short(load_policy(each)),
    )
