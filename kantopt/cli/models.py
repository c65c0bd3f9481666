"""``kantopt models``."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.shipped import list_or_print

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

    return list_or_print(
        *(name, output, output_file, color),
        names=shipped_models,
        load=load_model,
        columns=("MODEL", "MINIMISES, in this order"),
        row=lambda each: [objectives_in_short(load_model(each))],
    )


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
