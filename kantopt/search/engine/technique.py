"""What a technique is: a name, when it applies, what it does; and what those of a run brought."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kantopt.clock import Deadline
    from kantopt.search.engine.desk import Desk

Procedure = Callable[["Desk", "Deadline"], bool | None]
"""Betters what is on the desk until the deadline.

True means that there provably is no legal placement at all."""

BY_WISH = "left out by wish"
"""Why a technique that the options name does not run."""


def _always(_: Desk) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Technique:
    """A way to find better plans, or to prove that there are none."""

    name: str
    """What ``--without`` calls it."""
    textbook: str
    """What a textbook calls it, and who described it."""
    process: Literal["planner", "solver"]
    """With the fast path, or beside it, with OR-Tools."""
    where: str = ""
    """``module:function`` in :mod:`kantopt.search.techniques`, of those that have a turn.

    By its name, so that nothing is loaded before it runs.
    """
    hinders: Callable[[Desk], str] = _always
    """Says in a few words why it does not apply; nothing if it does."""

    def load(self) -> Procedure:
        """Load and return what runs in its turn."""
        module, _, function = self.where.partition(":")
        run: Procedure = getattr(import_module(f"kantopt.search.techniques.{module}"), function)
        return run


@dataclass(frozen=True, slots=True)
class Turn:
    """A technique in its place."""

    technique: Technique
    share: float = 1.0
    """Of the time that is left, what it may take."""
    by_work: bool = False
    """Whether it also runs where work is counted, not time."""
    patience: float = 1.0
    """Of its time, what may pass without a better plan before others have the rest."""
    glance: bool = False
    """Whether it is a first look, which ends where others may be quicker."""
    waits: float = 0.0
    """Seconds to wait before it for a plan that places more, where some are left out."""
    hinders: Callable[[Desk], str] = _always
    """Says why it does not run in this place, though it applies."""


@dataclass(slots=True)
class Use:
    """What a technique did in a run."""

    runs: int = 0
    plans: int = 0
    """Plans better than all before."""
    bounds: int = 0
    """Bounds higher than those known of the plan that was the best then."""
    why_not: str = ""
    """Why it has not run, where it never has."""


class Tally:
    """What each technique did in a run, in the order in which they were heard of first.

    Parameters
    ----------
    without
        Names of techniques that are left out.
    """

    def __init__(self, without: Collection[str] = ()) -> None:
        self.uses: dict[str, Use] = {}
        self.without = frozenset(without)

    def of(self, name: str) -> Use:
        """Return what a technique did so far."""
        return self.uses.setdefault(name, Use())

    def may(self, technique: Technique) -> bool:
        """Whether a technique is not left out by wish; note it of one that is."""
        if technique.name in self.without:
            self.left_out(technique.name, BY_WISH)
        return technique.name not in self.without

    def begins(self, technique: Technique) -> bool:
        """Count a run of a technique, unless it is left out by wish."""
        may = self.may(technique)
        if may:
            self.began(technique.name)
        return may

    def began(self, name: str) -> None:
        """Count a run."""
        self.of(name).runs += 1

    def left_out(self, name: str, why: str) -> None:
        """Note why a technique does not run now."""
        self.of(name).why_not = why
