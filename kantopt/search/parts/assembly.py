"""What is known of the parts, put together: the best placement and the bounds of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kantopt.problem.derived.parts import Part
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.known import Bound, Source
from kantopt.verify.metrics import measure
from kantopt.verify.step import Step

_SOURCES: tuple[Source, ...] = ("relaxation-search", "column-generation", "cp-sat")
"""Ways to prove a bound of the whole. Formulas that speak of a part say nothing of the whole
before a search has found it to be one."""


@dataclass(frozen=True, slots=True)
class Need:
    """How a placement of a part depends on the other parts, under ``priority: strict``."""

    victim: int | None
    """Highest priority of a job that pods are evicted of."""
    preemptor: int | None
    """Highest priority of a job newly placed in this part that pods may be evicted for."""


def need_of(part: Part, placement: Placement) -> Need:
    """Find out what a placement of a part evicts, and for whom it may."""
    instance = part.instance
    step = Step(instance, instance.current, placement)
    own = len(instance.jobs) - (part.share.outsider is not None)
    evicted = (
        instance.job_of(podset.index).priority
        for podset in instance.podsets
        if podset.running and instance.strict and step.evicted(podset.index)
    )
    placed = (job.priority for job in step.started if job.may_preempt and job.index < own)
    return Need(max(evicted, default=None), max(placed, default=None))


def justified(needs: Sequence[Need]) -> bool:
    """Whether legal placements of parts are legal together, and without any other.

    Under ``priority: strict`` every evicted job needs a newly placed one that is more important,
    wherever that is; whether its pods fit back is for its own part to say.
    """
    victims = [need.victim for need in needs if need.victim is not None]
    preemptors = [need.preemptor for need in needs if need.preemptor is not None]
    return not victims or max(victims) < max(preemptors, default=min(victims))


class Member:
    """A part and its incumbents: the best, and the best that needs no job of another part."""

    def __init__(self, part: Part, tiers: Sequence[Tier]) -> None:
        self.part = part
        still = part.cut(part.whole.current)
        self.best = Incumbent(part.instance, tiers, still)
        self.need = need_of(part, still)
        """Of the best."""
        self.alone = Incumbent(part.instance, tiers, still)

    def take(self, placement: Placement) -> bool:
        """Take a legal placement; say whether it is the best so far."""
        need = need_of(self.part, placement)
        if justified((need,)):
            self.alone.offer(placement, legal=True)
        better = self.best.offer(placement, legal=True)
        if better:
            self.need = need
        return better


class Assembly:
    """The parts of a question, and what follows from them for the whole.

    Parameters
    ----------
    instance
        The whole question.
    parts
        All its parts.
    tiers
        Tiers that are sums over the parts: the first ones of the whole's.
    start
        A legal placement of the whole, or ``None`` if a required job has no place yet.
    """

    def __init__(
        self,
        instance: Instance,
        parts: Sequence[Part],
        tiers: Sequence[Tier],
        start: Placement | None,
    ) -> None:
        self._instance = instance
        self.members = [Member(part, tiers) for part in parts]
        values = measure(instance, instance.current, tiers)
        for member in self.members:
            values = tuple(v - still for v, still in zip(values, member.best.values, strict=True))
        self.constant = values
        """Values of the whole less those of all parts: the same for every placement."""
        if start is not None:
            self.take(start)

    def take(self, placement: Placement) -> list[int]:
        """Take a legal placement of the whole; return the parts in which it is the best so far."""
        return [
            p for p, member in enumerate(self.members) if member.take(member.part.cut(placement))
        ]

    def placement(self) -> Placement | None:
        """Return a legal placement of the whole, made of the best placements of the parts.

        If these are not legal together, all parts fall back on those that need no other part.
        """
        together = justified([member.need for member in self.members if not member.best.missing])
        podsets = list(self._instance.current.podsets)
        for member in self.members:
            answer = member.best if together else member.alone
            if answer.missing:
                return None
            member.part.lift(answer.placement, podsets)
        return Placement(tuple(podsets))

    def bounds(self, values: Sequence[int]) -> Iterator[Bound]:
        """Yield a bound on each tier for plans of the whole no worse than ``values`` above it.

        The values of such a plan are, up to the constant, sums over the parts. If every part has
        at least ``b`` of a tier, then no part has more than its own ``b`` and the slack, which is
        what ``values`` leave beyond the sum of all. So the bounds on the next tier are those that
        hold in each part for plans no worse than that, and so on, tier after tier.

        Above the first open tier there is no slack: what each part has proved of its best answer
        adds up, as it does for the open tier itself. Below, only what holds in spite of the slack.
        """
        limits: list[list[int]] = [[] for _ in self.members]
        for i, constant in enumerate(self.constant):
            found = [
                member.best.known.bound(i, limit)
                for member, limit in zip(self.members, limits, strict=True)
            ]
            total = constant + sum(bound.bound for bound in found)
            rank = max(_SOURCES.index(b.source) if b.source in _SOURCES else 0 for b in found)
            yield Bound(i, total, tuple(values[:i]), _SOURCES[rank])
            slack = max(0, values[i] - total)
            for bound, limit in zip(found, limits, strict=True):
                limit.append(bound.bound + slack)
