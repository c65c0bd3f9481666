"""A bound from rooms cut into shares: prices of shares, and what the tiers above are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.stock import Cut, cuts, least_missing, stock_of
from kantopt.verify.witness.multipliers import check_multipliers


def counts_pods(tier: Tier) -> bool:
    """Whether a tier counts what stays unplaced by the weight of its pods."""
    return tier.counts_unplaced and tier.unit != "jobs"


def share_name(instance: Instance, cut: Cut, size: int) -> str:
    """Name the row of shares of one size, in base units of their resource."""
    rooms = "nodes" if cut.device_class is None else f"devices {cut.device_class}"
    return f"shares of {size} {instance.resources[cut.resource]} of {rooms}"


def bound_by_shares(
    instance: Instance,
    tiers: Sequence[Tier],
    i: int,
    locks: Mapping[Tier, int],
    denominator: int,
    values: Mapping[str, int],
) -> int:
    """Return the bound on tier ``i`` that follows from prices of shares, by name.

    Raises
    ------
    ValueError
        If the tier counts no pods, a name is no row, or shares are of several kinds of rooms.
    """
    if not counts_pods(tiers[i]):
        raise ValueError(f"{tiers[i].name} counts no pods that are missing")
    held = [tier for tier in tiers[:i] if tier in locks and counts_pods(tier)]
    asked = (*held, tiers[i])
    above = {f"tier {tier.name}": k for k, tier in enumerate(held)}
    for cut in cuts(instance):
        stock = stock_of(instance, asked, cut)
        if stock is None:
            continue
        sizes = {share_name(instance, cut, size * stock.unit): size for size in stock.sizes}
        if not sizes.keys() & values.keys():
            continue
        check_multipliers(values, sizes.keys() | above.keys())
        worth, prices = [0] * len(held) + [denominator], dict.fromkeys(stock.sizes, 0)
        for name, value in values.items():
            if name in sizes:
                prices[sizes[name]] = value
            else:
                worth[above[name]] = value
        left = [tier.most(locks[tier]) for tier in held]
        return tiers[i].above_target(least_missing(stock, left, worth, prices))
    raise ValueError("no row is of shares that there are")
