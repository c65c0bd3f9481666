"""Values and bounds of a plan's tiers, and what each bound takes for granted."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.planning.solver_process import Closed
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema import plan as docs
from kantopt.verify.metrics import BOUNDS, measure


def tier_rows(
    instance: Instance,
    tiers: Sequence[Tier],
    placement: Placement,
    closed: Sequence[Closed],
    examined: bool,
) -> tuple[docs.Tier, ...]:
    """Return one row per tier.

    A bound of the search holds for plans that are no worse than its locks in the tiers above; it
    counts as long as this plan is such a plan. Arithmetic bounds need no search and say themselves
    whether they look at the tiers above.
    """
    before = measure(instance, instance.current, tiers)
    values = measure(instance, placement, tiers)
    names = [tier.name for tier in tiers]
    rows = []
    within_locks = True
    for i, tier in enumerate(tiers):
        above = dict(zip(tiers[:i], values[:i], strict=True))
        alone = BOUNDS[tier.metric](tier, instance, {})
        bound = BOUNDS[tier.metric](tier, instance, above)
        given = tuple(names[:i]) if bound > alone else ()
        proved_by = "arithmetic"
        if within_locks and i < len(closed) and closed[i].bound > bound:
            bound, proved_by, given = closed[i].bound, closed[i].proved_by, tuple(names[:i])
        within_locks = within_locks and i < len(closed) and values[i] <= closed[i].value
        rows.append(
            docs.Tier(
                name=tier.name,
                metric=tier.metric.value,
                priority=tier.priority,
                unit=tier.unit,
                before=before[i],
                value=values[i],
                bound=bound if examined else None,
                status=(
                    "UNKNOWN" if not examined else "OPTIMAL" if values[i] == bound else "FEASIBLE"
                ),
                proved_by="arithmetic"
                if examined and proved_by == "arithmetic"
                else ("cp-sat" if examined else "none"),
                given=given,
            )
        )
    return tuple(rows)
