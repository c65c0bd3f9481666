"""Which waves are done when another starts, and which may run beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from kantopt.problem.actions import Wave


class Order:
    """The order of waves, by their positions in the list, which is one legal order itself.

    ``before[p]`` has bit ``q`` set if wave ``q`` is done before wave ``p`` starts.
    """

    def __init__(self, waves: Sequence[Wave]) -> None:
        self.waves = tuple(waves)
        self.before: list[int] = []
        position: dict[int, int] = {}
        for p, wave in enumerate(self.waves):
            mask = 0
            for other in wave.after:
                if other in position:
                    q = position[other]
                    mask |= self.before[q] | (1 << q)
            self.before.append(mask)
            position[wave.id] = p

    def precedes(self, q: int, p: int) -> bool:
        """Whether wave ``q`` is done before wave ``p`` starts."""
        return bool(self.before[p] >> q & 1)

    def apart(self, among: Iterable[int]) -> list[list[int]]:
        """Split some waves into parts of which none waits for a wave of another."""
        parts: list[list[int]] = []
        for p in sorted(among):
            joined = [p]
            rest = []
            for part in parts:
                if any(self.precedes(q, p) for q in part):
                    joined += part
                else:
                    rest.append(part)
            parts = [*rest, sorted(joined)]
        return parts

    def is_chain(self, among: Sequence[int]) -> bool:
        """Whether each of some waves, in the order listed, waits for the one before it."""
        return all(self.precedes(q, p) for q, p in pairwise(among))
