"""What an answer claims about all plans, so that any plan found elsewhere can refute it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kantopt.planning.document.actions import waves_of
from kantopt.problem.difference import apply
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.plan import Plan
from kantopt.schema.answers.plan import Tier as TierRow
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check


class Claim(Protocol):
    """Something said about all legal placements of a question."""

    @property
    def by(self) -> str:
        """Who says so."""

    @property
    def asked(self) -> Instance:
        """The question."""

    def refuted(self, placement: Placement) -> str | None:
        """Say what a legal placement of the question shows to be wrong, if anything."""


@dataclass(frozen=True, slots=True)
class NoPlan:
    """No placement is legal: a required job has no place."""

    by: str
    asked: Instance

    def refuted(self, placement: Placement) -> str | None:
        """Any legal placement refutes it."""
        return "provably there is no place"


@dataclass(frozen=True, slots=True)
class Bounds:
    """No placement goes below a bound, if it is no worse above where the bound says so."""

    by: str
    asked: Instance
    rows: tuple[TierRow, ...]

    def refuted(self, placement: Placement) -> str | None:
        """Compare value by value."""
        values = measure(self.asked, placement, tiers_of(self.asked))
        for i, row in enumerate(self.rows):
            locks = [above.value for above in self.rows[:i]] if row.given else []
            applies = all(v <= lock for v, lock in zip(values, locks, strict=False))
            if applies and row.bound is not None and values[i] < row.bound:
                return f"{row.name} is at least {row.bound} by {row.proved_by}, not {values[i]}"
        return None


@dataclass(frozen=True, slots=True)
class Least:
    """No placement is better in the objectives about who is disturbed, in their order."""

    by: str
    asked: Instance
    values: tuple[int, ...]

    def refuted(self, placement: Placement) -> str | None:
        """Compare in order."""
        tiers = tiers_of(self.asked)[: len(self.values)]
        values = measure(self.asked, placement, tiers)
        return None if values >= self.values else f"{self.values} is least, not {values}"


@dataclass(frozen=True, slots=True)
class Found:
    """A plan that somebody found."""

    by: str
    plan: Plan

    def placement(self, asked: Instance) -> Placement | None:
        """Return where it leads in a question; ``None`` if that lacks one of its pods."""
        waves, problems = waves_of(asked, self.plan, "plan")
        return None if problems else apply(asked.current, waves)


def contradictions(claims: Sequence[Claim], found: Found) -> list[str]:
    """Hold a plan against claims about the questions of which it is a plan."""
    texts = []
    for claim in claims:
        placement = found.placement(claim.asked)
        if placement is None or check(claim.asked, placement):
            continue
        text = claim.refuted(placement)
        if text is not None:
            texts.append(f"{claim.by}: {text}, found by {found.by}")
    return texts
