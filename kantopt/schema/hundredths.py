"""Whole GPUs by the names that Koordinator counts them by: a hundred of each for a GPU."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.schema.quantity import gpu_milli, to_base

HUNDREDTHS = tuple(f"koordinator.sh/{name}" for name in ("gpu", "gpu-core", "gpu-memory-ratio"))
"""Resources of which each GPU has a hundred."""
_GPU = 100
_MEMORY = "koordinator.sh/gpu-memory"
_SPREAD = "koordinator.sh/gpu.shared"
"""Of how many GPUs a pod has its amounts; Koordinator adds it to what a pod asks for."""
BY_KOORDINATOR = ("kantopt/gpus", "koordinator")
"""Label of nodes that offer their GPUs by these names alone."""


def is_gpu(resource: str) -> bool:
    """Whether a resource counts whole GPUs of a node, as a device plugin does."""
    return "/" in resource and gpu_milli(resource, 1) > 0


def asks_for_part(requests: Mapping[str, int]) -> bool:
    """Whether a pod that asks for these amounts wants, or may want, a part of a GPU."""
    asked = any(requests.get(name) for name in (*HUNDREDTHS, _MEMORY, _SPREAD))
    return asked and not whole_gpus(requests)


def whole_gpus(requests: Mapping[str, int]) -> int:
    """Return how many whole GPUs so many hundredths are; 0 where there are others than whole."""
    found = {n for name in HUNDREDTHS if (n := requests.get(name, 0))}
    if len(found) != 1 or requests.get(_MEMORY):
        return 0
    count, rest = divmod(found.pop(), _GPU)
    return 0 if rest or requests.get(_SPREAD) not in (None, 0, count) else count


def offered_gpus(amounts: Mapping[str, int]) -> int:
    """Return how many whole GPUs a node has of which it offers hundredths."""
    return min((n for name in HUNDREDTHS if (n := amounts.get(name, 0))), default=0) // _GPU


def touched_gpus(amounts: Mapping[str, int]) -> int:
    """Return of how many GPUs, at least, nobody else has all if these amounts are taken."""
    hundredths = max(amounts.get(name, 0) for name in HUNDREDTHS)
    return max(-(-hundredths // _GPU), amounts.get(_SPREAD, 0))


def as_asked(requests: Mapping[str, str | int]) -> dict[str, str | int]:
    """Return requests without the GPUs that stand beside as many hundredths.

    Koordinator takes no pod that asks for a GPU by both names; what is read has both.
    """
    bases = {
        name: to_base(name, n)
        for name, n in requests.items()
        if name in (*HUNDREDTHS, _MEMORY, _SPREAD)
    }
    count = whole_gpus(bases)
    return {
        name: n
        for name, n in requests.items()
        if not (count and is_gpu(name) and to_base(name, n) == count)
    }
