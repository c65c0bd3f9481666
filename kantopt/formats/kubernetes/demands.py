"""What the pods of a gang demand together, whoever says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kantopt.schema.quantity import whole_number

Wish = dict[str, str | int]
"""Fields of a topology request, levels as the source names them."""
BEYOND = "beyond"
"""Key of a wish that asks for more than such a request says."""


_SLICES = "pod_set_slice_required_topology"


def read_wish(levels: Mapping[str, str], size: int | None, layers: Any) -> Wish:
    """Return a wish for levels, by the fields of a topology request, as Kueue and KAI have it.

    Parameters
    ----------
    levels
        Those that are named; empty ones are not.
    size
        Of slices, which are none without it.
    layers
        Slices on several levels at once, each within those before it. Of the first layer they are
        told; finer ones are not modelled, nor slices of several sizes, which ``BEYOND`` tells.
        What is no list says nothing.
    """
    wish: Wish = {field: level for field, level in levels.items() if level}
    if size and _SLICES in wish:
        wish["pod_set_slice_size"] = size
    else:
        wish.pop(_SLICES, None)
    if not isinstance(layers, list) or not layers:
        return wish
    first = layers[0] if isinstance(layers[0], dict) else {}
    level, each = first.get("topology"), whole_number(str(first.get("size", "")))
    if not isinstance(level, str) or not level or not each or each < 1:
        return {**wish, BEYOND: 1}
    wish |= {_SLICES: level, "pod_set_slice_size": each}
    return {**wish, BEYOND: 1} if len(layers) > 1 else wish


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang's demands; ``None`` is what its source leaves open."""

    min_count: int | None = None
    """Fewest pods in all; ``None``: all of them."""
    role_min: dict[str, int] = field(default_factory=dict)
    wish: Wish = field(default_factory=dict)
    role_wish: dict[str, Wish] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    """Levels of each of which one domain is to hold all pods."""
    tier: int | str | None = None
    """Volcano's highest tier, whose level only its HyperNodes tell."""
    tier_is_hard: bool = False
    queue: str = ""
    priority: int | None = None
    priority_class: str = ""
    preemption_policy: str | None = None
    disruption: Literal["single", "all"] = "single"
    preemptible: bool | None = None
