"""Which waves are done when another starts, and which may run beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from kantopt.problem.actions import Action, Wave


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

    @cached_property
    def following(self) -> list[int]:
        """Bit ``p`` of ``following[q]`` is set if wave ``p`` starts only after ``q`` is done."""
        masks = [0] * len(self.waves)
        position = {wave.id: p for p, wave in enumerate(self.waves)}
        for p in reversed(range(len(self.waves))):
            for other in self.waves[p].after:
                q = position.get(other)
                if q is not None and q < p:
                    masks[q] |= masks[p] | (1 << p)
        return masks

    @cached_property
    def actions(self) -> Sequence[tuple[int, Action]]:
        """All actions, each behind the position of its wave."""
        return [(p, action) for p, wave in enumerate(self.waves) for action in wave.actions]

    @cached_property
    def acts(self) -> Mapping[int, Sequence[tuple[int, Action]]]:
        """Actions with the positions of their waves, by pod set; of those without any nothing."""
        found: dict[int, list[tuple[int, Action]]] = {}
        for p, action in self.actions:
            found.setdefault(action.podset, []).append((p, action))
        return found

    def related(self, p: int) -> int:
        """Return the waves that are never under way together with ``p``, as bits."""
        return self.before[p] | self.following[p]

    def apart(self, among: int) -> Iterator[int]:
        """Split some waves, given as bits, into parts of which none waits for one of another."""
        while among:
            part, reached = 0, among & -among
            while reached:
                p = reached.bit_length() - 1
                part |= 1 << p
                reached = (reached | self.related(p) & among) & ~part
            yield part
            among &= ~part

    def is_chain(self, among: Sequence[int]) -> bool:
        """Whether each of some waves, in the order listed, waits for the one before it."""
        return all(self.precedes(q, p) for q, p in pairwise(among))


def bits_of(mask: int) -> Iterator[int]:
    """List the positions that are set, from the first."""
    while mask:
        p = (mask & -mask).bit_length() - 1
        yield p
        mask &= mask - 1
