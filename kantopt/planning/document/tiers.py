"""Values and bounds of a plan's tiers, and what each bound takes for granted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.answers import plan as docs
from kantopt.verify.metrics import measure

if TYPE_CHECKING:
    from kantopt.search.engine.known import Known


def tier_rows(
    tiers: Sequence[Tier],
    before: Sequence[int],
    values: Sequence[int],
    known: Known | None,
) -> tuple[docs.Tier, ...]:
    """Return one row per tier.

    Parameters
    ----------
    tiers
        The objectives.
    before, values
        Value of each tier without and with the plan.
    known
        What is known of the optimum; ``None`` if nothing was examined.
    """
    names = tuple(tier.name for tier in tiers)
    rows = []
    for i, tier in enumerate(tiers):
        bound = None if known is None else known.bound(i, values)
        if bound is not None and bound.bound > values[i]:
            bound = None  # a bound above a value would be none
        status: Literal["OPTIMAL", "FEASIBLE", "UNKNOWN"] = "UNKNOWN"
        if bound is not None:
            status = "OPTIMAL" if values[i] == bound.bound else "FEASIBLE"
        rows.append(
            docs.Tier(
                name=tier.name,
                metric=tier.metric.value,
                priority=tier.priority,
                preempts=tier.preempts,
                unit=tier.unit,
                mix_weight=tier.mix_weight,
                before=before[i],
                value=values[i],
                bound=None if bound is None else bound.bound,
                status=status,
                proved_by="none" if bound is None else bound.source,
                given=names[:i] if bound is not None and bound.locks else (),
            )
        )
    return tuple(rows)


def rows_of(
    instance: Instance, tiers: Sequence[Tier], placement: Placement, known: Known | None = None
) -> tuple[docs.Tier, ...]:
    """Return one row per tier, of a placement measured against doing nothing."""
    before = measure(instance, instance.current, tiers)
    return tier_rows(tiers, before, measure(instance, placement, tiers), known)


def unless_unsure(
    rows: Sequence[docs.Tier], tiers: Sequence[Tier], instance: Instance, unsure: frozenset[str]
) -> tuple[docs.Tier, ...]:
    """Take the proof from goals to place jobs where more may be evicted for one than plans evict.

    ``unsure`` has the names of such jobs.
    """

    def settled(row: docs.Tier, tier: Tier) -> docs.Tier:
        jobs = (job.name for job in instance.jobs if tier.concerns(job))
        if row.value and tier.of_waiting and not unsure.isdisjoint(jobs):
            return row.model_copy(update=_UNPROVED)
        return row

    return tuple(map(settled, rows, tiers)) if unsure else tuple(rows)


_UNPROVED = {"bound": None, "status": "UNKNOWN", "proved_by": "none", "given": ()}
