"""Parts of cards: amounts that have to fit a single card of a node, whatever its sum is.

HAMi, Volcano, and the GPU sharing of Alibaba's and Tencent's clusters keep count of each card by
themselves; some let nodes offer the sums, some offer nothing.
"""

from __future__ import annotations

_NAMES = frozenset(
    (
        "dcucores",
        "dcumem",
        "gpu-core.percentage",
        "gpu-mem",
        "gpucores",
        "gpumem",
        "gpumem-percentage",
        "vcuda-core",
        "vcuda-memory",
        "vgpu-cores",
        "vgpu-memory",
        "vgpu-memory-percentage",
    )
)


def is_card_share(resource: str) -> bool:
    """Whether a resource is memory or cores of a card, not of a node."""
    prefix, _, name = resource.rpartition("/")
    return bool(prefix) and name in _NAMES
