"""What a pod counts in a tier."""

from __future__ import annotations

from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier


def weight(tier: Tier, podset: PodSet) -> int:
    """Weight of one pod in a tier's unit."""
    match tier.unit:
        case "milli-GPU":
            return podset.gpu_milli
        case "CPU-only pods":
            return 1 if podset.gpu_milli == 0 else 0
        case _:
            return 1
