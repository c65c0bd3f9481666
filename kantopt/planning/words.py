"""Numbers of things in words."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.tiers import Tier
from kantopt.schema.hints import plural


def disturbed(evicted: int, moved: int) -> list[str]:
    """Say how many pods are evicted and how many moved, as far as any are."""
    counts = ((evicted, "evicted"), (moved, "moved"))
    return [f"{plural(pods, 'pod')} {what}" for pods, what in counts if pods]


_NAMED = 6
"""Names in one sentence, at most: a document has them all in its plan."""


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``, or the first ones and how many more."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def amount_of(tier: Tier, value: int) -> str:
    """Write the value of a tier, in :func:`unit_of` it; weighted sums over a mix as GPUs."""
    if not tier.mix:
        return str(value)
    scale = 1000 * sum(shape.weight for shape in tier.mix)
    return str((2000 * value + scale) // (2 * scale))


def unit_of(tier: Tier) -> str:
    """Unit of what :func:`amount_of` writes."""
    return "milli-GPU" if tier.mix else tier.unit
