"""How fast a plan may be carried out, and from when on: options of commands that make plans."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kantopt.cli.options import parse_size

if TYPE_CHECKING:
    from kantopt.schema.answers.plan import Plan
    from kantopt.schema.model import Model


def _moment(text: str) -> str:
    """Read a moment as documents have it.

    Raises
    ------
    typer.BadParameter
        If it is none.
    """
    from pydantic import TypeAdapter, ValidationError

    from kantopt.schema.base import Timestamp

    try:
        return str(TypeAdapter(Timestamp).validate_python(text))
    except ValidationError:
        expected = "a moment such as 2026-09-01T03:00:00Z"
        raise typer.BadParameter(f"found {text!r}, expected {expected}") from None


@dataclass(frozen=True, slots=True)
class Pace:
    """What was asked for by these options."""

    max_moves_per_wave: Annotated[
        int | None,
        typer.Option(
            "--max-moves-per-wave",
            metavar="K",
            min=1,
            max=10_000_000,
            help="No more than K pods on the move at any one time.",
        ),
    ] = None
    bandwidth: Annotated[
        int | None,
        typer.Option(
            "--bandwidth",
            metavar="SIZE",
            parser=parse_size,
            help="Memory per second that a node can send, and receive, while pods move live: 10Gi. "
            "Then the plan says how long its waves take.",
        ),
    ] = None
    """Bytes a second."""
    now: Annotated[
        str | None,
        typer.Option(
            "--now",
            metavar="TIME",
            parser=_moment,
            help="Moment from which the plan may start, for the times of its waves.",
            show_default="when the snapshot was taken",
        ),
    ] = None

    def applied(self, model: "Model") -> "Model":
        """Return a model with what was given on the command line in place of its own."""
        limits, schedule = model.limits, model.schedule
        if self.max_moves_per_wave is not None:
            limits = limits.model_copy(update={"moves_per_wave": self.max_moves_per_wave})
        if self.bandwidth is not None:
            schedule = schedule.model_copy(update={"bandwidth": self.bandwidth})
        return model.model_copy(update={"limits": limits, "schedule": schedule})

    def timed(self, plan: "Plan") -> "Plan":
        """Return a plan timed from the moment given, if one was."""
        if self.now is None:
            return plan
        from kantopt.planning.document.identity import identified
        from kantopt.planning.document.timing import timed

        return identified(timed(plan, self.now))

    def vain(self, plan: "Plan") -> list[str]:
        """Say what has no effect: windows without a moment to count from."""
        untimed = plan.timing is not None and plan.timing.reference is None
        if plan.model.schedule.windows and untimed:
            return ["windows have no effect without capturedAt in the snapshot; give --now"]
        return []
