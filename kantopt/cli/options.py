"""Options that several commands share, and how their values are read."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kantopt.cli import completion
from kantopt.cli.output import LogForm
from kantopt.schema.duration import limit_seconds
from kantopt.schema.stays import LIFTABLE

if TYPE_CHECKING:
    from kantopt.planning.question import Import

Form = Literal["table", "wide", "json", "yaml", "name", "html"]
Colour = Literal["auto", "always", "never"]
Engine = Literal["auto", "fast", "exact"]
Source = Literal[
    "kubernetes", "openb", "slurm", "vm-rescheduling", "kalos", "openb-trace", "philly", "swf"
]
"""Spelled out again here: the places that define them are too heavy to load for ``--help``."""


class Strategy(StrEnum):
    """Strategies of the heuristics; an enum, since Typer repeats no options of literals."""

    BEST_FIT = "best-fit"
    MOST_ALLOCATED = "most-allocated"
    LEAST_ALLOCATED = "least-allocated"
    KUBE_DEFAULT = "kube-default"
    E_BINPACK = "e-binpack"
    SPREAD = "spread"
    E_SPREAD = "e-spread"
    FGD = "fgd"
    LOOKAHEAD = "lookahead"
    REVERSE_TRIM = "reverse-trim"


def parse_duration(text: str, most: int = 10**7) -> float:
    """Read ``10s``, ``500ms``, ``2m``, ``1m30s``, ``2d`` or plain seconds; returns seconds.

    Raises
    ------
    typer.BadParameter
        If it is no duration, none above zero, or of more than so many seconds.
    """
    try:
        return limit_seconds(text, most)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def parse_trace_time(text: str) -> float:
    """Read a time of a trace, which nobody has to wait for: any that it can write in seconds."""
    return parse_duration(text, 10**9 - 1)


def parse_size(text: str) -> int:
    """Read an amount of memory as Kubernetes writes them: ``4Gi``, ``500M``; returns bytes.

    Raises
    ------
    typer.BadParameter
        If it is none, or not above zero.
    """
    from kantopt.schema.quantity import parse_quantity, quantity_meant

    try:
        size = int(parse_quantity(text.strip()))
    except ValueError:
        size = 0
    if size <= 0:
        meant = quantity_meant(text)
        expected = f"an amount of memory such as 4Gi{f' ({meant})' if meant else ''}"
        raise typer.BadParameter(f"found {text!r}, expected {expected}")
    return size


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Documents in any order: a snapshot, `kubectl get -o json` output or what Slurm "
        "prints, job lists, a model, a plan. - is standard input.",
        show_default=False,
    ),
]
FilesAndJob = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE... [JOB]",
        help="Documents in any order: a snapshot or `kubectl get -o json` output, job lists, a "
        "model, a plan; and the job. - is standard input.",
        show_default=False,
        autocompletion=completion.jobs,
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME|FILE",
        help="A shipped model (see `kantopt models`) or file.",
        autocompletion=completion.models,
    ),
]
Gated = Annotated[
    bool,
    typer.Option(
        "--gated",
        help="Plan what gates, queues of Kueue that are stopped or Slurm hold back.",
    ),
]
Pending = Annotated[
    list[str] | None,
    typer.Option(
        "--pending",
        metavar="PATTERN",
        help="Only these NAMESPACE/NAME pods or jobs count as pending (* and ? match). Repeatable.",
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", "-n", metavar="NAME", help="Namespace of jobs that are named without one."
    ),
]
Assume = Annotated[
    list[str] | None,
    typer.Option(
        "--assume",
        metavar="NAME",
        help="Plan pods that ask for this, though it is not modelled: claims, resource-claims, ... "
        "By default they are left where they are, or left out. Repeatable.",
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        "--topology",
        metavar="LABEL",
        help="Node label of a topology level, coarsest first. Repeatable. Default: found out.",
    ),
]
_WHOLE = "Write there, whole or not at all."


def output_as(help_text: str | None = None, default: str = "table") -> Any:
    """Return the option ``-o``; ``help_text``: what its less obvious values are."""
    return typer.Option("--output", "-o", help=help_text, show_default=default)


def job_as(help_text: str) -> Any:
    """Return the option ``-j`` of commands about one job, for which an argument may stand."""
    return typer.Option("--job", "-j", metavar="NAMESPACE/NAME", help=help_text, show_default=False)


def document_to(document: str) -> Any:
    """Return the option ``-O`` of commands that, without ``-o``, show a table beside it."""
    text = (
        f"{_WHOLE} Without -o the file gets {document} (YAML; JSON if it ends in .json, a "
        "page if in .html) and stdout the table."
    )
    return typer.Option("--output-file", "-O", metavar="FILE", help=text)


PlanForm = Annotated[
    Form | None, output_as("wide: every action, and how much was read; name: a line per action.")
]
PlanFile = Annotated[str | None, document_to("the plan document")]
OutputFile = Annotated[str | None, typer.Option("--output-file", "-O", metavar="FILE", help=_WHOLE)]
ColourOption = Annotated[Colour, typer.Option("--color", help="When to colour tables.")]
DetailedExitcode = Annotated[
    bool,
    typer.Option(
        "--detailed-exitcode",
        help="Exit 3 if anything stays unplaced, 5 if an objective is open, 2 if there is anything "
        "to do, 0 if not: the first that applies.",
    ),
]
LogFormat = Annotated[
    LogForm,
    typer.Option("--log-format", help="json: all that goes to stderr as lines of JSON."),
]
MaxMoves = Annotated[int | None, typer.Option(metavar="K", min=0, help="Move at most K pods.")]
MaxEvictions = Annotated[int | None, typer.Option(metavar="K", min=0, help="Evict at most K pods.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No warnings, no progress; with -O no table either.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Progress line by line; tracebacks of our faults.")
]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a cluster is read."""

    gated: Gated = False
    topology: Levels = None

    def given(
        self,
        pending: Sequence[str] | None = None,
        model: str | None = None,
        *,
        disturb: Sequence[str] | None = None,
        assume: Sequence[str] | None = None,
        labels: Collection[str] = (),
    ) -> "Import":
        """Gather it from these options and others.

        Parameters
        ----------
        pending, disturb, assume
            Values of the options.
        model
            Name of the model, which may say what to disturb as well.
        labels
            Pod labels to keep.
        """
        from kantopt.cli.spoken import speak_of
        from kantopt.planning.question import Import, lifted

        return Import(
            self.gated,
            tuple(pending or ()),
            tuple(self.topology or ()),
            frozenset(labels),
            lifted(disturb or (), model),
            tuple(assume or ()),
            speak_of,
        )


@dataclass(frozen=True, slots=True)
class PlanReading(Reading):
    """How a cluster is read that is to be planned for."""

    disturb: Annotated[
        list[str] | None,
        typer.Option(
            "--disturb",
            metavar="NAME",
            help="Pods of Kubernetes that stay by default may be moved and evicted all the same: "
            f"{', '.join(LIFTABLE)}. Repeatable.",
        ),
    ] = None
    assume: Assume = None

    def under(
        self,
        model: str | None,
        pending: Sequence[str] | None = None,
        labels: Collection[str] = (),
    ) -> "Import":
        """Gather it, with a model and labels as :meth:`given` says."""
        return self.given(pending, model, disturb=self.disturb, assume=self.assume, labels=labels)
