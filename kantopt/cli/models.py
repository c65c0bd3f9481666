"""``kantopt models``."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.output import all_dumped, check_output_file, emit, format_of

if TYPE_CHECKING:
    from kantopt.schema.model import Model, PriorityObjective


def models(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|FILE]", help="A model to print, with all that it extends."),
    ] = None,
    output: Annotated[Literal["yaml", "json"] | None, opt.output_as(default="yaml")] = None,
    output_file: opt.OutputFile = None,
    color: opt.ColourOption = "auto",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """List the shipped models, or print one; with -o or -O, all."""
    from kantopt.schema.extends import load_model, shipped_models

    check_output_file(output_file)
    if not (name is None and output is None and output_file is None):
        names = shipped_models() if name is None else [name]
        documents = map(load_model, names)
        emit(all_dumped(documents, format_of(output, output_file, "yaml")), output_file)
        return 0
    from kantopt.cli.shown import on_screen
    from kantopt.report.blocks import Table

    rows = tuple((each, objectives_in_short(load_model(each))) for each in shipped_models())
    table = Table("", ("MODEL", "MINIMISES, in this order"), rows)
    emit(on_screen([table], color))
    return 0


def objectives_in_short(model: "Model") -> str:
    """Objectives of a model in one line."""
    return ", ".join(_short(objective) for objective in model.objectives or ())


def _short(objective: "PriorityObjective") -> str:
    value = getattr(objective, objective.name)
    if isinstance(value, tuple):
        return f"for each priority ({', '.join(_short(inner) for inner in value)})"
    given = [str(getattr(value, field)) for field in sorted(value.model_fields_set)]
    plain = [word for word in given if "(" not in word]
    return f"{objective.name}[{' '.join(plain)}]" if plain else objective.name
