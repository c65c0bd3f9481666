"""What the pods of a gang demand together, whoever says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Wish = dict[str, str | int]
"""Fields of a topology request, levels as the source names them."""
BEYOND = "beyond"
"""Key of a wish that asks for more than such a request says."""


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
