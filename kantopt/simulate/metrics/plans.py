"""How many plans were made, and how many of them are proved optimal."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.window import Window


def plans(window: Window) -> Iterator[Value]:
    """Yield the plans that were made in the window, and which share of them is proved."""
    made = [plan for plan in window.history.plans if window.begin <= plan.at < window.end]
    if made:
        yield Value("plans_made", len(made))
        yield Value("plans_proved", sum(plan.proved for plan in made) / len(made))
