"""How many pods must be ejected until every pod has a place: for all groups at once, backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kantopt.search.shapes import Ints, Mask

if TYPE_CHECKING:
    from kantopt.search.chains.packing import Packing

FAR = 99
"""Steps of groups that no short chain places."""
_MOST_PAIRS = 4_000_000
"""Most groups times slots to look at in a level; of more slots only some are."""


class Reach:
    """Fewest ejections that place a pod of each group, worked out level by level when asked.

    A lower bound: that the nodes of a chain must differ is left to those who follow it.
    """

    def __init__(self, packing: Packing, shut: Mask) -> None:
        self._packing = packing
        self._shut = shut
        """Groups of which no pod is ejected, the group of no pods among them."""
        self._steps: Ints = np.full(packing.count + 1, FAR, dtype=np.int64)
        self._steps[:-1][packing.fits_somewhere()] = 0
        self._level = 0
        self._ended = False

    def of(self, g: int, most: int) -> int | None:
        """Return the fewest ejections for a group, or ``None`` if there are more than ``most``."""
        while self._steps[g] == FAR and self._level < most and not self._ended:
            self._grow()
        return int(self._steps[g]) if self._steps[g] <= most else None

    def grown(self, steps: int) -> int:
        """Know all groups with fewer steps than this; return the number."""
        while self._level < steps - 1 and not self._ended:
            self._grow()
        return steps

    def steps_at(self) -> Ints:
        """Per slot, the steps of its group, and :data:`FAR` where no pod may be ejected."""
        steps = self._steps.copy()
        steps[self._shut] = FAR
        return np.asarray(steps[self._packing.group_at], dtype=np.int64)

    def _grow(self) -> None:
        packing = self._packing
        fresh = (self._steps == self._level) & ~self._shut
        slots = fresh[packing.group_at].nonzero()[0]
        open_groups = (self._steps[:-1] == FAR).nonzero()[0]
        self._level += 1
        if len(slots) * len(open_groups) > _MOST_PAIRS:
            slots = slots[:: 1 + len(slots) * len(open_groups) // _MOST_PAIRS]
        if not len(slots) or not len(open_groups):
            self._ended = True
            return
        self._steps[open_groups[packing.taking(slots, open_groups)]] = self._level
