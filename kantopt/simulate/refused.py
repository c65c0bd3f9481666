"""Jobs that could not even start in the empty cluster, and so never will."""

from __future__ import annotations

from collections.abc import Hashable

from kantopt.problem.placement import Placement
from kantopt.schema.policy import Placement as Choice
from kantopt.search.reasons import NOT_EXAMINED, first_reason
from kantopt.simulate.cluster import Cluster
from kantopt.simulate.world import World


class Refusals:
    """Tries jobs on the empty cluster, one of those that are alike; each leaves it again.

    Daemons of its nodes are there, but for those that are told to end.
    """

    def __init__(self, world: World, choice: Choice) -> None:
        self._world, self._choice = world, choice
        self._bare = _bare(world)
        self._empty = Cluster(world, choice, self._bare)
        self._known: dict[Hashable, str] = {}

    def reason(self, j: int) -> str:
        """Return why a job never starts; empty if it does.

        One that must be near others is not refused: they may come.
        """
        key = self._empty.alike(j)
        if key not in self._known:
            self._known[key] = self._tried(j)
        return self._known[key]

    def _tried(self, j: int) -> str:
        instance = self._world.instance
        if any(self._empty.state.neighbours.seeks(s) for s in instance.jobs[j].podsets):
            return ""
        if self._empty.start(j):
            self._empty.stop(j)
            return ""
        rule, words = first_reason(instance, self._bare, j)
        if rule != NOT_EXAMINED:
            return f"{rule}: {words}"
        return f"{self._choice.strategy} finds no place for all of its pods together"


def _bare(world: World) -> Placement:
    ends = {j for j, _ in world.endings}
    standing = (
        spots if podset.daemon and podset.job not in ends else {}
        for podset, spots in zip(world.instance.podsets, world.start.podsets, strict=True)
    )
    return Placement(tuple(standing))
