"""R16 while waves run: is there a pod to be near when others arrive?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from kantopt.problem.instance import Instance
from kantopt.problem.job import Affinity
from kantopt.schema.model import Rule
from kantopt.verify.rules.affinity import keyed, message, one_moves, unanchored
from kantopt.verify.step import Violation
from kantopt.verify.waves.most import Ledger, Share, Sum
from kantopt.verify.waves.order import Order


def judge_affinity(instance: Instance, order: Order) -> Iterator[Violation]:
    """Judge each wave in which pods arrive that must be near others, stop-overs included."""
    owners = {near.owner for near in instance.affinities}
    if not owners:
        return
    anchors = _Anchors(instance, order)
    for p, wave in enumerate(order.waves):
        arriving = {(a.podset, a.target.node) for a in wave.actions if a.target is not None}
        if owners.isdisjoint(s for s, _ in arriving):
            continue

        def stays(near: Affinity, key: str, domain: str, p: int = p) -> bool:
            return anchors.least(near, key, domain, p) > 0

        def vacant(near: Affinity, p: int = p) -> bool:
            return anchors.nobody(near, p)

        for near, n, key in unanchored(instance, arriving, stays, vacant):
            subject = f"wave {wave.id}: {instance.subject(near.owner)}"
            yield Violation(Rule.AFFINITY, subject, message(instance, n, key))


class _Anchors:
    """The pods that others must be near: how many there are at least, and at most."""

    def __init__(self, instance: Instance, order: Order) -> None:
        self._instance, self._order = instance, order
        self._sums: dict[Hashable, Sum] = {}
        """Of those who are near the same pods each asks for the same sums."""

    def least(self, near: Affinity, key: str, domain: str, p: int) -> int:
        """Pods that are in a domain of a key before a wave, and still while it runs.

        What comes counts from when its wave is done, what leaves only until its wave begins.
        """
        asked = near.anchors, key, domain
        if asked not in self._sums:
            label = self._instance.label_domain
            here = {node.index for node in self._instance.nodes if label(node.index, key) == domain}
            # The most that can be missing of those that run now, beyond all of them.
            self._sums[asked] = self._sum(near, here.__contains__, -1)
        missing = self._sums[asked]
        return -missing.most_while(p, -1, missing.shares.get(p, Share()).start)

    def nobody(self, near: Affinity, p: int) -> bool:
        """Whether none can be in any of the domains before those of a wave arrive.

        A pod that restarts in the wave, or a job that does as a whole, has left before it is back.
        """
        changes = [change for change in self._changes(near) if change[1] == p]
        came = ((s, pods) for s, _, _, target, pods in changes if target is not None)
        if not one_moves(self._instance, came):
            return False
        asked = near.anchors, near.keys
        if asked not in self._sums:
            self._sums[asked] = self._sum(near, lambda n: keyed(self._instance, near, (n,)), 1)
        gone = sum(
            pods
            for _, _, source, target, pods in changes
            if source is not None and target is not None and keyed(self._instance, near, (source,))
        )
        return self._sums[asked].most_while(p, gone, 0) <= gone

    def _sum(self, near: Affinity, on: Callable[[int], bool], sign: int) -> Sum:
        """Return how many of the pods can be on some nodes or, with -1 for a sign, less of them."""
        shares = Ledger[str]()
        for _, q, source, target, pods in self._changes(near):
            for n, more in ((source, -sign * pods), (target, sign * pods)):
                if n is not None and on(n):
                    shares.change("", q, more)
        now = sum(
            pods
            for s in near.anchors
            for spot, pods in self._instance.podsets[s].current.items()
            if on(spot.node)
        )
        return Sum(self._order, shares.get("", {}), sign * now)

    def _changes(self, near: Affinity) -> Iterator[tuple[int, int, int | None, int | None, int]]:
        """Pod set, wave, node left, node come to and number of the pods that change."""
        for s in near.anchors:
            for q, a in self._order.acts.get(s, ()):
                source = None if a.source is None else a.source.node
                target = None if a.target is None else a.target.node
                yield s, q, source, target, a.pods
