"""Which part of a suite is run."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from scripts.bench.published import SEEDS


@dataclass(frozen=True, slots=True)
class Grid:
    """Part of a suite to run; empty means the suite's own choice."""

    nodes: tuple[int, ...] = ()
    pods_per_node: tuple[int, ...] = ()
    priorities: tuple[int, ...] = ()
    usage_percent: tuple[int, ...] = ()
    seeds: int = 5
    data: Path | None = None
    of: tuple[str, ...] = ()
    """Suites whose instances features are added to."""
    features: tuple[str, ...] = ()


def seeds_of(count: int, data: Path | None) -> list[int]:
    """Return that many seeds: those compared with, the other published ones, then any."""
    seeds = list(SEEDS)
    published = None if data is None else data / "priority_matters" / "seeds.txt"
    if published is not None and published.exists():
        seeds += map(int, published.read_text(encoding="ascii").split())
    rng = random.Random(0)
    seeds += [rng.randrange(2**63) for _ in range(count)]
    return list(dict.fromkeys(seeds))[:count]
