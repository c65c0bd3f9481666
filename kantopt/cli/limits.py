"""What a run may take, and how its choices are made: options that searches share."""

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kantopt.cli import completion
from kantopt.cli import options as opt
from kantopt.cli.output import complain

if TYPE_CHECKING:
    from kantopt.cli.shown import AnswerOptions
    from kantopt.clock import Deadline
    from kantopt.planning.solving.options import Options

Engine = Annotated[
    opt.Engine,
    typer.Option(help="fast: heuristics only; exact: CP-SAT after the first plan; auto: both."),
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take."""

    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="DURATION",
            parser=opt.parse_duration,
            help="From the start of the program to the written answer: 10s, 500ms, 2m.",
        ),
    ] = "10s"  # type: ignore[assignment]
    memory_limit: Annotated[
        int | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            parser=opt.parse_size,
            help="Of kantopt and its solver together: 4Gi. Near it the search ends and the best "
            "answer so far is written.",
            show_default="what the cgroup leaves",
        ),
    ] = None

    def deadline(self, answer: "AnswerOptions") -> "Deadline":
        """Return the deadline of a run; it is over as well near the memory limit."""
        from kantopt.clock import Deadline, Stop
        from kantopt.memory import MemoryLimit, cgroup_limit, is_told

        given = self.memory_limit
        memory = cgroup_limit() if given is None else MemoryLimit(given)
        if memory is not None and not is_told() and not answer.quiet:
            text = "the memory limit has no effect: this system does not tell what is in use"
            complain("warning", [text], answer.log_format)
        return Deadline(self.time_limit, stop=Stop(memory=memory))


@dataclass(frozen=True, slots=True)
class SearchOptions(Limits):
    """What a search may take, and how its choices are made."""

    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**31 - 1, help="Seed of every random choice.")
    ] = 0
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Same input, same bytes: limits count work.")
    ] = False
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=256,
            help="Threads of the solver; one with --deterministic.",
            show_default="2",
        ),
    ] = None

    def deadline(self, answer: "AnswerOptions") -> "Deadline":
        """Return the deadline of a run, in which work may be counted."""
        return replace(Limits.deadline(self, answer), deterministic=self.deterministic)

    def settings(self, **more: Any) -> "Options":
        """Return how to plan, with what else a command says of it."""
        from kantopt.planning.solving.options import Options

        settings = Options(seed=self.seed, **more)
        return settings if self.workers is None else replace(settings, workers=self.workers)

    def deciding(self, settings: "Options") -> dict[str, object]:
        """Return all that has a say in a plan beside the question, by name."""
        limits = {"time_limit": self.time_limit, "deterministic": self.deterministic}
        return asdict(settings) | limits
