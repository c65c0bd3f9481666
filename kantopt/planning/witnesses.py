"""Which bounds arithmetic alone proves, and by what numbers."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.classes import merge_pods
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema import plan as docs
from kantopt.schema.certificate import CertifiedTier, Witness
from kantopt.verify.metrics import bound_of, bounds


def certified_tiers(
    instance: Instance, rows: Sequence[docs.Tier], values: Sequence[int]
) -> tuple[CertifiedTier, ...]:
    """Give each tier's bound its witness; of equal bounds arithmetic is preferred.

    Parameters
    ----------
    instance
        The question.
    rows
        What is known of each tier.
    values
        Values of the tiers in the plan that the bounds are for.
    """
    merged = merge_pods(instance)
    tiers = tiers_of(instance)
    counted = bounds(merged.instance, merged.tiers(tiers), values)
    names = tuple(tier.name for tier in tiers)
    certified = []
    for i, row in enumerate(rows):
        bound, proved_by, given = row.bound, row.proved_by, row.given
        witness: Witness | None = None
        if proved_by == "arithmetic":
            witness = Witness(formula="combinatorial")
        elif bound is not None and counted[i] >= bound:
            bound, proved_by = counted[i], "arithmetic"
            tier = merged.tiers(tiers)[i]
            alone = bound_of(tier, merged.instance, {})
            given = () if alone >= bound else names[:i]
            witness = Witness(formula="combinatorial on merged pods")
        certified.append(
            CertifiedTier(
                name=row.name,
                metric=row.metric,
                priority=row.priority,
                unit=row.unit,
                before=row.before,
                value=row.value,
                bound=bound,
                gap=None if bound is None else row.value - bound,
                status="UNKNOWN"
                if bound is None
                else "OPTIMAL"
                if bound == row.value
                else "FEASIBLE",
                proved_by=proved_by,
                given=given,
                witness=witness,
            )
        )
    return tuple(certified)
