"""Room that is promised once: who gets what was free, and who what another leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kantopt.problem.instance import Instance
from kantopt.search.order.units import Key
from kantopt.verify.step import standing_loads


class Ledger:
    """What is free of each thing, and from whom it came.

    Whoever takes something waits for those who left it. As nothing is given twice, what everybody
    holds together is never more than there is, in whatever order they go as long as they wait.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._free: dict[Key, int] = {}
        """Free from the start; below 0 where there is more than fits."""
        self._left: dict[Key, list[tuple[int, int]]] = {}
        """What was left behind since: by whom, how much; the oldest first."""
        self._paid: dict[Key, set[int]] = {}
        """Who left what was owed: all who come must wait for them."""

    def free(self, key: Key) -> int:
        """Return how much is free, below 0 if something is owed."""
        return self._start(key) + sum(amount for _, amount in self._left.get(key, ()))

    def _start(self, key: Key) -> int:
        known = self._free.get(key)
        if known is None:
            known = self._free[key] = self._room(key)
        return known

    def _room(self, key: Key) -> int:
        kind, i, d, r = key
        if kind == "budget":
            return self.instance.budgets[i].allowed
        if kind == "job":
            most = self.instance.jobs[i].moves_at_once
            assert most is not None, "only where there is a limit"
            return most
        loads, node = standing_loads(self.instance), self.instance.nodes[i]
        if kind == "device":
            return node.devices[d].capacity[r] - loads.device[i][d][r]
        limit = node.capacity[r]
        assert limit is not None, "only limited resources have keys"
        return limit - loads.node[i][r]

    def lacking(self, needs: Mapping[Key, int]) -> Key | None:
        """Return a thing of which there is too little, if there is one."""
        for key, amount in needs.items():
            if self.free(key) < amount or self._start(key) < 0:
                return key
        return None

    def spend(self, needs: Mapping[Key, int]) -> None:
        """Give out what nobody leaves anything of, so that there is no one to wait for."""
        for key, amount in needs.items():
            self._free[key] = self._start(key) - amount

    def take(
        self,
        needs: Mapping[Key, int],
        waits: set[int],
        before: Mapping[int, int],
        depth: Sequence[int],
    ) -> None:
        """Give out what is needed, all of which is there, and add to ``waits`` who left it.

        What those leave who are waited for anyway is given first, then what was free from the
        start. Where that is too little, others are waited for after the shortest chains, whose
        lengths are in ``depth``, and what they leave goes before what was free, which others can
        have at once.
        ``before`` has bit ``v`` set if ``v`` goes before.
        """
        short = [key for key, amount in needs.items() if amount > self._start(key)]
        for key in needs:
            waits |= self._paid.get(key, set())
        for key in [*short, *(key for key in needs if key not in short)]:
            rest = self._take_known(key, needs[key], _all_before(waits, before))
            if rest > self._start(key):
                waits |= self._givers(key, rest - self._start(key), depth)
                rest = self._take_known(key, rest, _all_before(waits, before))
            self._free[key] -= rest

    def _givers(self, key: Key, amount: int, depth: Sequence[int]) -> set[int]:
        """Return who has left so much, after the shortest chains."""
        found: set[int] = set()
        for who, there in sorted(self._left.get(key, ()), key=lambda x: (depth[x[0]], x[0])):
            if amount <= 0:
                break
            found.add(who)
            amount -= there
        return found

    def _take_known(self, key: Key, amount: int, known: int) -> int:
        """Take what was left by those waited for already; return what is still needed."""
        left = self._left.get(key)
        if not left or not amount:
            return amount
        kept = []
        for who, there in left:
            part = min(amount, there) if known >> who & 1 else 0
            amount -= part
            if there > part:
                kept.append((who, there - part))
        self._left[key] = kept
        return amount

    def leave(self, frees: Mapping[Key, int], who: int) -> None:
        """Note what is left behind; what is owed is paid first."""
        for key, amount in frees.items():
            owed = min(amount, max(0, -self._start(key)))
            if owed:
                self._free[key] += owed
                self._paid.setdefault(key, set()).add(who)
            if amount > owed:
                self._left.setdefault(key, []).append((who, amount - owed))


def _all_before(waits: set[int], before: Mapping[int, int]) -> int:
    mask = 0
    for v in waits:
        mask |= before[v] | 1 << v
    return mask
