"""States of a simulation before the judge: whether the rules hold with what has come."""

from __future__ import annotations

from kantopt.problem.placement import Placement, Spots
from kantopt.simulate.cluster import Cluster
from kantopt.verify.rules import check_arrivals

SMALL = 64
"""Nodes up to which every state is judged, if nobody says how many."""
SELDOM = 100
"""Of larger clusters every so many states."""


class IllegalStateError(Exception):
    """A simulation has come to a state that breaks a rule: a fault of ours."""


def judged_every(nodes: int) -> int:
    """Of how many states one is judged, if nobody says."""
    return 1 if nodes <= SMALL else SELDOM


class Judge:
    """Judges every n-th state in which something has come, as a step from the one before.

    What is wrong with the snapshot is nobody's fault, and pods run on whose neighbours have left;
    what comes must find the rules kept. That is worked out anew from where pods are, by those who
    judge plans; what the simulation counts itself is not asked.

    Attributes
    ----------
    seen
        States so far in which something has come.
    judged
        Those of them that were judged, all legal.
    """

    def __init__(self, cluster: Cluster, every: int) -> None:
        self._cluster, self.every = cluster, every
        self._known: list[Spots] = []
        self.restore(0, 0)

    def restore(self, seen: int, judged: int) -> None:
        """Begin with the cluster as it stands: so many states were seen, so many judged."""
        self._known = [dict(spots) for spots in self._cluster.state.spots]
        self.seen, self.judged = seen, judged

    def departed(self) -> None:
        """Take note of those who have gone: what comes from now on is judged without them."""
        self._take_in()

    def arrived(self, now: int) -> None:
        """Judge those who have come since, if it is their turn; they are standing from now on.

        Raises
        ------
        IllegalStateError
            If a rule is broken, or pods are on a node that has failed.
        """
        if not self._cluster.changed:
            return
        before = tuple(self._known)
        self._cluster.settle()
        self._take_in()
        self.seen += 1
        if self.seen % self.every:
            return
        instance = self._cluster.world.instance
        after = tuple(self._known)
        wrong = [
            str(violation)
            for violation in check_arrivals(instance, Placement(before), Placement(after))
        ]
        wrong += [
            f"node {instance.nodes[spot.node].name} has failed, and pods of pod set {s} came to it"
            for s, (old, new) in enumerate(zip(before, after, strict=True))
            if old is not new
            for spot in new
            if spot.node in self._cluster.down and new[spot] > old.get(spot, 0)
        ]
        if wrong:
            raise IllegalStateError(f"at {now} ms of the simulation: {'; '.join(wrong)}")
        self.judged += 1

    def _take_in(self) -> None:
        for s in self._cluster.changed:
            self._known[s] = dict(self._cluster.state.spots[s])
        self._cluster.changed.clear()
