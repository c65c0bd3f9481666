"""What a run tells while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kantopt.problem.tiers import Tier


@dataclass(frozen=True, slots=True)
class News:
    """Who found a better plan when, the values of its tiers and their bounds.

    Without values another part of the work begins, and ``by`` is its name.
    """

    seconds: float
    """Since the process began."""
    by: str
    values: tuple[int, ...] = ()
    bounds: tuple[int, ...] = ()
    tiers: tuple[Tier, ...] = ()


Tell = Callable[[News], None]
