"""How many GPUs jobs ask for, and how often: a discrete distribution."""

from __future__ import annotations

import random
from dataclasses import dataclass

LARGEST_GPUS = 1024


@dataclass(frozen=True, slots=True)
class Sizes:
    """GPUs per job and how often each occurs."""

    gpus: tuple[int, ...]
    weights: tuple[float, ...]

    def draw(self, rng: random.Random) -> int:
        """Draw one size."""
        return rng.choices(self.gpus, self.weights)[0]

    def from_gpus(self, fewest: int, most: int = LARGEST_GPUS) -> Sizes:
        """Leave out sizes beyond some limits; with none left, the fewest alone."""
        kept = [
            (gpus, weight)
            for gpus, weight in zip(self.gpus, self.weights, strict=True)
            if fewest <= gpus <= most and weight > 0
        ]
        return Sizes(*zip(*kept, strict=True)) if kept else Sizes((fewest,), (1.0,))

    def mean(self) -> float:
        """GPUs of a job on average."""
        pairs = zip(self.gpus, self.weights, strict=True)
        return sum(gpus * weight for gpus, weight in pairs) / sum(self.weights)

    def share_above(self, most: int) -> float:
        """Share of the jobs that have more GPUs than so many."""
        pairs = zip(self.gpus, self.weights, strict=True)
        return sum(weight for gpus, weight in pairs if gpus > most) / sum(self.weights)
