"""What a node is short of for one pod more, beside the pods that stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement
from kantopt.search.causes import short_of
from kantopt.search.explain.counting import hardest
from kantopt.search.shapes import MANY
from kantopt.search.state import State, rooms


class Shortage:
    """Looks at nodes without the pods that may be gone.

    Parameters
    ----------
    wanted
        Pods of the job that must be placed at once, by pod set.
    gone
        Running pod sets that do not count.
    """

    def __init__(
        self, question: Instance, j: int, wanted: Mapping[int, int], gone: Callable[[PodSet], bool]
    ) -> None:
        self.question = question
        self.wanted = wanted
        rest = Placement(
            tuple(
                {} if podset.running and podset.job != j and gone(podset) else podset.current
                for podset in question.podsets
            )
        )
        self.state = State(question, rest)
        self.podset = hardest(question, wanted)
        self._room = rooms(self.state, self.state.shape[self.podset], MANY)

    def words(self, n: int) -> str:
        """Say what one pod more than those that fit would take.

        ``12 of 8 nvidia.com/gpu with its pod``, or ``with 2 of its pods`` where one fits. Where all
        of them do without the pods that may be gone, it is these that have no room beside.
        """
        state, s = self.state, self.podset
        room = int(self._room[n])
        if room >= self.wanted[s]:
            pods = "its pod" if self.wanted[s] == 1 else f"its {self.wanted[s]} pods"
            return f"room for {pods} only once others are gone"
        pods = f"{room + 1} of its pods" if room or self.wanted[s] > 1 else "its pod"
        lacking = short_of(state, s, n, room + 1)
        if lacking is not None:
            return f"{lacking[1]} with {pods}"
        needs = self.question.podsets[s].devices
        short = ", ".join(f"{need.count} {need.device_class} devices" for need in needs)
        if not short:
            return f"no room for {pods}"
        return f"{short} of one pod are not free for {pods}"

    def summary(self, nodes: Iterable[int]) -> str:
        """Say how many pods some nodes hold, and what the one that is closest to more lacks."""
        nodes, wanted = list(nodes), self.wanted[self.podset]
        room = min(wanted, int(self._room[nodes].clip(0, wanted).sum()))
        closest = min(nodes, key=lambda n: (-int(self._room[n]), self._lack(n), n))
        name = self.question.nodes[closest].name
        return f"{room} of {wanted} pods fit; the closest, {name}: {self.words(closest)}"

    def _lack(self, n: int) -> float:
        """By what share of a pod a node is short of one pod more."""
        shape, room = self.state.shape[self.podset], int(self._room[n])
        return sum(
            max(0, (room + 1) * amount - int(self.state.free[r, n])) / amount
            for r, amount in shape.asks
        )
