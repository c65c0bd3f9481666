"""``kantopt schema``."""

from typing import Annotated

import typer

from kantopt.cli.options import OutputFile, Quiet, Verbose
from kantopt.cli.output import check_output_file, emit
from kantopt.errors import UsageError

_ALIASES = {"snapshot": "ClusterSnapshot", "jobs": "JobList"}


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="ClusterSnapshot (or snapshot), JobList (or jobs), Model, Plan, Certificate, "
            "Trace, Policy, Capacity, Explanation, PriceList, Simulation or Sweep; in any case.",
            show_default=False,
        ),
    ],
    output_file: OutputFile = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Print the JSON Schema of a kind of document."""
    import json

    from kantopt.schema.hints import did_you_mean, one_of
    from kantopt.schema.published import PUBLISHED, published_schema

    check_output_file(output_file)
    names = {name.casefold(): name for name in PUBLISHED} | _ALIASES
    name = names.get(kind.casefold())
    if name is None:
        hint = did_you_mean(kind, names.values())
        expected = one_of([*PUBLISHED, *_ALIASES])
        raise UsageError(
            f"schema: found {kind}, expected {expected}" + (f" ({hint})" if hint else "")
        )
    emit(json.dumps(published_schema(name), indent=2) + "\n", output_file)
    return 0
