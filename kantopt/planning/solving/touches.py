"""Last touches to the best plan of a search: who can stay does, the last plan comes nearer."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import changes_tier
from kantopt.schema.model import Metric
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.schedule import HOMECOMING, RETURNING, SPARING


def spare(instance: Instance, incumbent: Incumbent, deadline: Deadline) -> None:
    """Let victims stay that a look at free places can save; what is proved has none of them."""
    from kantopt.search.cascade import evicts

    best = incumbent.placement
    if incumbent.optimal or not evicts(instance, best):
        return
    if not incumbent.tally.begins(SPARING):
        return
    from kantopt.verify.victims.spared import with_victims_spared

    for placement in with_victims_spared(instance, best, deadline.cuts):
        incumbent.offer(placement, SPARING.name)


def send_home(incumbent: Incumbent, deadline: Deadline) -> None:
    """Take moves back that no objective needs, where the model counts them.

    Who has found room for somebody late has had no time to see which moves that takes.
    """
    moved = any(
        tier.metric is Metric.MOVES and incumbent.values[i] > incumbent.floor(i)
        for i, tier in enumerate(incumbent.tiers)
    )
    if moved and not incumbent.optimal and incumbent.tally.begins(HOMECOMING):
        from kantopt.search.homecoming import come_home

        come_home(incumbent, deadline.cuts, HOMECOMING.name)


def come_nearer(incumbent: Incumbent, last: Placement | None, deadline: Deadline) -> None:
    """Undo differences to an earlier plan that no objective needs, where the model counts them."""
    if (
        last is None
        or changes_tier(incumbent.tiers) is None
        or incumbent.missing
        or incumbent.optimal
    ):
        return
    if incumbent.tally.begins(RETURNING):
        from kantopt.search.nearer import nearer

        nearer(incumbent, last, deadline.cuts, RETURNING.name)
