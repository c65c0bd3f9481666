"""A bound where devices are shared: shares that do not go together leave room unused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import gcd

from kantopt.clock import Deadline
from kantopt.cp.cutting import Group, share_prices
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.shortage import Item, Prices, Share, items, shortage

_UNITS = 2000
"""With finer shares than this of a device nothing is said."""
_SCALE = 2**40


def device_bounds(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    deadline: Deadline,
) -> list[tuple[int, int]]:
    """Bound what stays unplaced for want of devices, tier by tier.

    A linear program proposes prices of shares of devices; rounded to integers they make a bound
    by exact arithmetic (:func:`kantopt.verify.shortage.shortage`), whatever they are.

    Parameters
    ----------
    tiers, values
        The tiers and their values in a legal plan. A bound holds for plans that are no worse than
        it in the tiers above.

    Returns
    -------
    list of (int, int)
        Index of a tier and its bound.
    """
    if not (instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES)):
        return []
    found = []
    held: list[int] = []
    for i, tier in enumerate(tiers):
        if tier.metric is not Metric.UNPLACED or tier.surplus or tier.unit == "jobs":
            continue
        if deadline.over():
            break
        above = tuple(tiers[k] for k in held)
        most = [tiers[k].most(values[k]) for k in held]
        best = 0
        for scarce in _shared(instance, (*above, tier)):
            prices = _prices(instance, tier, above, most, scarce, deadline)
            if prices is not None:
                best = max(best, shortage(tier, instance, above, most, prices))
        if best:
            found.append((i, tier.above_target(best)))
        held.append(i)
    return found


def _shared(instance: Instance, tiers: Sequence[Tier]) -> list[tuple[str, int]]:
    """Classes of devices and their resources of which some ask for a share and not for all."""
    asked = {
        share
        for i, tier in enumerate(tiers)
        for item, _ in items(tier, instance, tuple(tiers[:i]))
        for share, _ in item.shares
    }
    return sorted({(share.device_class, share.resource) for share in asked})


def _prices(
    instance: Instance,
    tier: Tier,
    above: tuple[Tier, ...],
    most: Sequence[int],
    scarce: tuple[str, int],
    deadline: Deadline,
) -> Prices | None:
    """Prices of the shares of one class and resource; ``None`` if there are too many kinds."""
    device_class, r = scarce
    rooms = Counter(
        device.capacity[r]
        for node in instance.nodes
        for device in node.devices
        if device.device_class == device_class and device.capacity[r]
    )
    listed = [
        (k, item, count)
        for k, other in enumerate((*above, tier))
        for item, count in items(other, instance, above[:k])
    ]
    sizes = sorted({size for _, item, _ in listed for size in _sizes(item, scarce)})
    if not rooms or not sizes:
        return None
    unit = gcd(*sizes, *rooms)
    if max(rooms) // unit > _UNITS:
        return None
    index = {size: i for i, size in enumerate(sizes)}
    groups = [
        Group(k, count, item.weight, tuple((index[s], c) for s, c in _sizes(item, scarce).items()))
        for k, item, count in listed
    ]
    found = share_prices(
        [size // unit for size in sizes],
        [(room // unit, count) for room, count in sorted(rooms.items())],
        groups,
        most,
        deadline.over,
    )
    highest = max(found)
    if highest <= 0:
        return None
    shares = [Share(device_class, r, size) for size in sizes]
    rounded = [round(_SCALE * price / highest) for price in found]
    return Prices((0,) * len(instance.resources), tuple(zip(shares, rounded, strict=True)))


def _sizes(item: Item, scarce: tuple[str, int]) -> dict[int, int]:
    """Number of shares of each size that an item asks for."""
    return {
        share.size: count
        for share, count in item.shares
        if (share.device_class, share.resource) == scarce
    }
