"""How to plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kantopt.search.strategy import Strategy

Engine = Literal["fast", "exact", "auto"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to plan."""

    engine: Engine = "auto"
    """``fast``: strategies and chains; ``exact``: one strategy's plan, then the solver alone."""
    strategies: tuple[Strategy, ...] = ()
    """Strategies of the fast path; none: the default portfolio."""
    seed: int = 0
    workers: int = 2
    require: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    """Techniques that are left out, by name."""
    log: str | None = None
    """File that CP-SAT's log is appended to."""
