"""How to plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kantopt.errors import UsageError
from kantopt.schema.model import Model
from kantopt.search.strategy import Strategy

Engine = Literal["fast", "exact", "auto"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to plan."""

    engine: Engine = "auto"
    """``fast``: strategies and chains; ``exact``: one strategy's plan, then the solver alone,
    and what comes before any answer (``LAST`` of the schedule)."""
    strategies: tuple[Strategy, ...] = ()
    """Strategies of the fast path; none: the default portfolio."""
    seed: int = 0
    workers: int = 2
    require: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    """Techniques that are left out, by name."""
    log: str | None = None
    """File that CP-SAT's log is appended to."""

    def check_zone(self, model: Model) -> None:
        """Insist on a zone where a strategy cannot do without.

        Raises
        ------
        UsageError
            If the model has none.
        """
        if Strategy.E_SPREAD in self.strategies and model.zone is None:
            raise UsageError(
                "--strategy e-spread: needs a zone in the model, such as "
                "zone: {nodes: pool=inference, jobs: [serving/*]}"
            )
