"""Whole pods that must be left out so that the others can pay for no more than rooms have.

Prices of shares say how much all rooms can hold at most; what pods would pay beyond that has to be
covered by pods that are left out. A part of a pod covers nothing, so with small whole prices the
least weight that covers it is worked out exactly, which is more than prices alone say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kantopt.verify.bounds.stock import Stock

STEPS = 3_000_000
"""Additions that working a cover out may take; beyond that it says nothing."""
_NEVER = 2**62


def least_left_out(stock: Stock, held: Sequence[int], prices: Mapping[int, int]) -> int:
    """Least weight of the tier in question that stays unplaced, by prices and whole pods.

    In any room the shares of pods pay at most what the dearest shares that fit would pay. So the
    pods that are left out pay at least what all pods pay beyond what all rooms can hold. Pods of
    the tiers above may be left out for their part: as dear as the weight allows that each of
    those tiers may leave unplaced. The rest is covered by pods of the tier in question.

    Parameters
    ----------
    held
        Weight that each tier above may leave unplaced.
    prices
        Of each size of a share; integers of 0 or more.
    """
    pods: list[list[tuple[int, int, int]]] = [[] for _ in stock.wanted]
    paid = 0
    for group, count in stock.groups:
        pays = sum(k * prices[size] for size, k in group.shares)
        if pays:
            pods[group.tier].append((group.weight, pays, count))
            paid += pays * count
    for room, count in stock.rooms:
        for pod in room.pinned:  # one that stays pays like others, and keeps its share from them
            if pays := prices.get(pod.size, 0):
                pods[pod.tier].append((pod.weight, pays, count))
                paid += pays * count
    paid -= sum(count * filled([0] * (room.size + 1), prices) for room, count in stock.rooms)
    work = sum(count.bit_length() for each in pods for _, _, count in each)
    if paid <= 0 or paid * work > STEPS:
        return 0
    for each, left in zip(pods, held, strict=False):
        least = _covers(each, paid)
        paid -= max(amount for amount, weight in enumerate(least) if weight <= left)
    return min(_covers(pods[-1], paid)[-1], stock.wanted[-1])


def filled(best: list[int], prices: Mapping[int, int]) -> int:
    """Most that a room is worth with shares in it, by what each part of it is worth without."""
    for share, price in prices.items():
        if price:
            for u in range(share, len(best)):
                best[u] = max(best[u], best[u - share] + price)
    return best[-1]


def _covers(pods: Sequence[tuple[int, int, int]], most: int) -> list[int]:
    """Least weight of pods that pay at least 0, 1, ... up to ``most``.

    ``pods`` has weight, price and number of pods that are alike.
    """
    least = [0] + [_NEVER] * most
    for weight, pays, count in pods:
        for part in portions(count):
            reach = min(part * pays, most)
            with_it = [least[0]] * reach + least[: most + 1 - reach]
            more = part * weight
            least = [min(a, b + more) for a, b in zip(least, with_it, strict=True)]
    return least


def portions(count: int) -> Iterator[int]:
    """Yield 1, 2, 4, ... and a rest: every number up to a count is the sum of some of them."""
    portion = 1
    while count > 0:
        yield min(portion, count)
        count -= portion
        portion *= 2
