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
            "Trace, Policy, Capacity, Conversion, Explanation, Metrics, PriceList, Simulation, "
            "Sweep or Verdict; in any case.",
            show_default=False,
        ),
    ],
    output_file: OutputFile = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Print the JSON Schema of a kind of document."""
    import json

    from kantopt.schema.hints import one_of, perhaps
    from kantopt.schema.published import PUBLISHED, published_schema

    check_output_file(output_file)
    names = {name.casefold(): name for name in PUBLISHED} | _ALIASES
    name = names.get(kind.casefold())
    if name is None:
        expected = one_of([*PUBLISHED, *_ALIASES]) + perhaps(kind, names.values())
        raise UsageError(f"schema: found {kind}, expected {expected}")
    emit(json.dumps(published_schema(name), indent=2) + "\n", output_file)
    return 0
