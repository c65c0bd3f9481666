"""``kantopt render``."""

from typing import Annotated, Literal

import typer

from kantopt.cli.options import OutputFile, Quiet, Verbose
from kantopt.cli.output import check_output_file, emit


def render(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="A plan; - is standard input.", show_default=False),
    ],
    to: Annotated[
        Literal["kubectl"],
        typer.Option("--to", help="Who is to follow the plan.", show_default=False),
    ],
    shell: Annotated[
        bool, typer.Option("--shell", help="A shell script, not one JSON request a line.")
    ] = False,
    gate: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Scheduling gate to remove from pods that are bound; default: the only one.",
        ),
    ] = None,
    output_file: OutputFile = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Turn a plan into what another system follows. Changes nothing itself.

    kubectl: evictions with uid and resourceVersion, and patches of gated pods with tests that
    fail if the plan is stale.
    """
    from kantopt.errors import BadDataError, Problem
    from kantopt.formats.kubectl import render_json_lines, render_shell
    from kantopt.schema.files import load_native
    from kantopt.schema.plan import Plan

    check_output_file(output_file)
    pairs = load_native(files)
    plans = [document for _, document in pairs if isinstance(document, Plan)]
    if len(plans) != 1:
        kinds = ", ".join(sorted(str(raw.data["kind"]) for raw, _ in pairs))
        raise BadDataError([Problem(pairs[0][0].file, "", kinds, "one Plan")])
    text = render_shell(plans[0], gate=gate) if shell else render_json_lines(plans[0], gate=gate)
    emit(text, output_file)
    return 0
