"""Values and bounds of a plan's tiers, and what each bound takes for granted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kantopt.planning.solver_process import Closed
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema import plan as docs
from kantopt.verify.metrics import BOUNDS


def tier_rows(
    instance: Instance,
    tiers: Sequence[Tier],
    before: Sequence[int],
    values: Sequence[int],
    closed: Sequence[Closed],
    examined: bool,
) -> tuple[docs.Tier, ...]:
    """Return one row per tier, from its values without and with the plan.

    A bound of the search holds for plans that are no worse than its locks in the tiers above; it
    counts as long as this plan is such a plan. Arithmetic bounds need no search and say themselves
    whether they look at the tiers above.
    """
    names = [tier.name for tier in tiers]
    rows = []
    within_locks = True
    for i, tier in enumerate(tiers):
        above = dict(zip(tiers[:i], values[:i], strict=True))
        alone = BOUNDS[tier.metric](tier, instance, {})
        bound = BOUNDS[tier.metric](tier, instance, above)
        given = tuple(names[:i]) if bound > alone else ()
        proved_by: Literal["arithmetic", "cp-sat"] = "arithmetic"
        if within_locks and i < len(closed) and closed[i].bound > bound:
            bound, proved_by, given = closed[i].bound, "cp-sat", tuple(names[:i])
        within_locks = within_locks and i < len(closed) and values[i] <= closed[i].value
        known = examined and bound <= values[i]  # a bound above a value would be none
        rows.append(
            docs.Tier(
                name=tier.name,
                metric=tier.metric.value,
                priority=tier.priority,
                unit=tier.unit,
                before=before[i],
                value=values[i],
                bound=bound if known else None,
                status=_status(values[i], bound) if known else "UNKNOWN",
                proved_by=proved_by if known else "none",
                given=given if known else (),
            )
        )
    return tuple(rows)


def _status(value: int, bound: int) -> Literal["OPTIMAL", "FEASIBLE"]:
    return "OPTIMAL" if value == bound else "FEASIBLE"
