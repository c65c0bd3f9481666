"""What nodes in use come to at least, where each has a fee of its own: arithmetic of knapsacks."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.departures import emptied, most_evictions, most_moves, to_hold
from kantopt.verify.bounds.in_part import least_in_part
from kantopt.verify.in_use import fees_of

Load = tuple[int, Sequence[int]]
"""An amount that pods take wherever they are, and the most that each node holds of it."""
MOST_CELLS = 300_000
"""Nodes times amounts up to which a knapsack is solved exactly."""


def least_fees(instance: Instance, tier: Tier, above: Mapping[Tier, int]) -> int:
    """Return the least sum of fees of the nodes that a tier counts and that stay in use.

    Those that limits and pins do not let become empty: of the others, as many as the pods which
    may leave can empty, the best fee per pod first, the last in part (Dantzig 1957). And those
    that hold what nothing may evict, the cheapest first.
    """
    in_use, groups = emptied(instance, tier)
    left = most_moves(instance, above) + most_evictions(instance, above)
    for fee, pods in groups:
        gone = min(pods, left)
        in_use -= fee * gone // pods
        left -= gone
    fees = fees_of(instance, tier)
    held = (_in_part(*_bins(instance, tier, load, fees)) for load in to_hold(instance))
    return max([in_use, *held])


def cheapest(
    instance: Instance,
    tier: Tier,
    load: Load,
    fees: Sequence[int],
    each: Sequence[int] | None = None,
) -> int:
    """Return the least that counted nodes come to which hold an amount.

    Nodes that do not count hold some for nothing.

    Parameters
    ----------
    fees
        Of each node that holds any.
    each
        What a unit of the amount costs on each node besides; by default nothing.
    """
    wanted, bins = _bins(instance, tier, load, fees, each)
    if wanted > 0 and wanted * len(bins) <= MOST_CELLS and wanted <= sum(b[0] for b in bins):
        return _exactly(wanted, bins)
    return _in_part(wanted, bins)


_Bins = tuple[tuple[int, int, int], ...]
"""Nodes by what they hold, their fee, and what each unit costs besides."""


def _bins(
    instance: Instance,
    tier: Tier,
    load: Load,
    fees: Sequence[int],
    each: Sequence[int] | None = None,
) -> tuple[int, _Bins]:
    """Return what is left for nodes that count, and these."""
    nodes, (wanted, rooms) = counted(instance, tier), load
    wanted -= sum(room for n, room in enumerate(rooms) if n not in nodes)
    bins = (
        (rooms[n], fees[n], 0 if each is None else each[n]) for n in sorted(nodes) if rooms[n] > 0
    )
    return wanted, tuple(bins)


def _in_part(wanted: int, bins: _Bins) -> int:
    """Take nodes by what a unit costs on a full one, the last in part."""
    return least_in_part(((fee + each * room, room, 1) for room, fee, each in bins), wanted)


@lru_cache(maxsize=64)
def _exactly(wanted: int, bins: _Bins) -> int:
    """Solve the knapsack amount by amount (Bellman 1957): the least for each, node after node.

    ``best[k] = min(best[k], fee + min over g <= room of (best[k - g] + each g))``; the inner
    minimum slides along with ``k``. To hold more than is wanted is no cheaper.
    """
    never = sum(fee + each * room for room, fee, each in bins) + 1
    best = [0] + [never] * wanted
    for room, fee, each in bins:
        window: deque[tuple[int, int]] = deque()
        made = best[:]
        for k in range(wanted + 1):
            value = best[k] - each * k
            while window and window[-1][1] >= value:
                window.pop()
            window.append((k, value))
            while window[0][0] < k - room:
                window.popleft()
            made[k] = min(best[k], fee + each * k + window[0][1])
        best = made
    return best[wanted]
