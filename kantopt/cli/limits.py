"""What a run may take, and how its choices are made: options that searches share."""

from typing import TYPE_CHECKING, Annotated

import typer

from kantopt.cli import completion
from kantopt.cli import options as opt
from kantopt.cli.output import LogForm, complain

if TYPE_CHECKING:
    from kantopt.clock import Deadline

TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit",
        metavar="DURATION",
        parser=opt.parse_duration,
        help="From the start of the program to the written answer: 10s, 500ms, 2m.",
    ),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        parser=opt.parse_size,
        help="Of kantopt and its solver together: 4Gi. Near it the search ends and the best answer "
        "so far is written.",
        show_default="what the cgroup leaves",
    ),
]
Engine = Annotated[
    opt.Engine,
    typer.Option(help="fast: heuristics only; exact: CP-SAT after the first plan; auto: both."),
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, max=2**31 - 1, help="Seed of every random choice.")
]
Deterministic = Annotated[
    bool, typer.Option("--deterministic", help="Same input, same bytes: limits count work.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=256,
        help="Threads of the solver; one with --deterministic.",
        show_default="2",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="NAME",
        autocompletion=completion.techniques,
        help="Leave out a technique of the search, to see what it brings; the plan's solver "
        "section names them. Repeatable.",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="JOB",
        help="A job that must be placed. Repeatable.",
        autocompletion=completion.jobs,
    ),
]


def deadline_of(
    seconds: float,
    memory_bytes: int | None,
    *,
    deterministic: bool,
    quiet: bool,
    log_form: LogForm,
) -> "Deadline":
    """Return the deadline of a run; it is over as well near the memory limit."""
    from kantopt.clock import Deadline, Stop
    from kantopt.memory import MemoryLimit as Limit
    from kantopt.memory import cgroup_limit, is_told

    memory = cgroup_limit() if memory_bytes is None else Limit(memory_bytes)
    if memory is not None and not is_told() and not quiet:
        text = "the memory limit has no effect: this system does not tell what is in use"
        complain("warning", [text], log_form)
    return Deadline(seconds, deterministic, Stop(memory=memory))
