"""Which pods could be left out? All choices that free what the nodes do not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kantopt.search.bins.contents import Work
from kantopt.search.shapes import Ints


def left_out(
    weights: Sequence[int],
    asks: Ints,
    counts: Ints,
    tiers: Sequence[range],
    most: Sequence[int],
    short: Ints,
    work: Work,
) -> Iterator[Ints]:
    """Yield, of each kind, how many pods are left out, in each way that frees enough.

    The more is left out the easier the rest is placed: only choices to which no pod can be added.

    Parameters
    ----------
    weights, asks, counts
        Of each kind: what a pod counts in its tier and asks for, and the number of pods.
    tiers, most
        Kinds of each tier, and what they may count together if they are left out.
    short
        What has to be freed of each resource.

    Raises
    ------
    SpentError
        If there are too many choices.
    """
    out = np.zeros_like(counts)
    freeing = [
        _most_freed(weights, asks, counts, kinds, w) for kinds, w in zip(tiers, most, strict=True)
    ]
    after = [sum(freeing[t + 1 :], np.zeros_like(short)) for t in range(len(tiers))]

    def choose(t: int, short: Ints) -> Iterator[Ints]:
        if t == len(tiers):
            if (short <= 0).all():
                yield out.copy()
            return
        yield from of_kind(t, 0, most[t], short, 0)

    def of_kind(t: int, k: int, weight: int, short: Ints, spared: int) -> Iterator[Ints]:
        """Choose of the kinds from ``k`` on; one of those before, at least, weighs ``spared``."""
        kinds = tiers[t]
        work.take(20 * (1 + len(kinds) - k))
        if k == len(kinds):
            if not spared or weight < spared:
                yield from choose(t + 1, short)
            return
        g = kinds[k]
        rest = kinds[k:]
        best = _most_freed(weights, asks, counts, rest, weight) + after[t]
        if (best < short).any():
            return
        fit = min(int(counts[g]), weight // weights[g])
        for pods in range(fit, -1, -1):
            out[g] = pods
            least = spared
            if pods < counts[g]:
                least = min(spared or weights[g], weights[g])
            yield from of_kind(t, k + 1, weight - pods * weights[g], short - pods * asks[g], least)
        out[g] = 0

    yield from choose(0, short)


def _most_freed(
    weights: Sequence[int], asks: Ints, counts: Ints, kinds: range, weight: int
) -> Ints:
    """Return a bound on what so much weight of some kinds can free of each resource."""
    found = np.zeros(asks.shape[1], dtype=np.int64)
    for r in range(asks.shape[1]):
        left = weight
        for g in sorted(kinds, key=lambda g: -asks[g, r] / weights[g]):
            taken = min(int(counts[g]) * weights[g], left)
            found[r] += -(-int(asks[g, r]) * taken // weights[g])
            left -= taken
            if not left:
                break
    return found
