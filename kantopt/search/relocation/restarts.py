"""Jobs that go together, moved as one: all pods leave and all arrive, if only where they were.

So do gangs that must be close, where their domain has no room for a pod that has to leave.
"""

from __future__ import annotations

import numpy as np

from kantopt.problem.freedom import freedom_of
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.shapes import Mask
from kantopt.search.state import State
from kantopt.search.strategy import Strategy


class Restarts:
    """Restarts of whole jobs in a state, as its pace allows; a placement is judged in the end."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._placer = Placer(Scores(state, Strategy.BEST_FIT))
        moves, instance = freedom_of(state.instance).moves, state.instance
        self.jobs = frozenset(
            j for j in instance.together if all(moves[s] for s in instance.running_of(j))
        )
        """Jobs that could restart as a whole."""
        self.close = frozenset(
            need.job
            for need in instance.topology_needs
            if need.required is not None and need.job not in instance.together
            if all(moves[s] == instance.podsets[s].count for s in instance.running_of(need.job))
        )
        """Jobs that must be close and could leave their domain, all pods at once."""

    def nodes(self, j: int) -> set[int]:
        """Return the nodes on which running pods of a job are now."""
        spots = (self.state.spots[s] for s in self.state.instance.running_of(j))
        return {spot.node for there in spots for spot in there}

    def move(self, j: int, mask: Mask) -> bool:
        """Restart a job on some nodes only; where that fails nothing has changed.

        Pods on these nodes come back to where they were, or else, where the others then find no
        place, to anywhere. Some, or all, of the pods may have been taken away already.
        """
        return self._moved(j, mask, mask) or self._moved(j, mask, np.zeros_like(mask))

    def leave(self, j: int, mask: Mask) -> bool:
        """Move all of a job that must be close to some nodes; where that fails nothing changes.

        Some, or all, of the pods may have been taken away already.
        """
        return j in self.close and self._moved(j, mask, np.zeros_like(mask))

    def _moved(self, j: int, mask: Mask, stay: Mask) -> bool:
        state, mark = self.state, self.state.mark()
        running = state.instance.running_of(j)
        for s in running:
            comes_back = stay & state.allowed(s)
            for spot, pods in sorted(state.spots[s].items()):
                if not comes_back[spot.node]:
                    state.add(s, spot, -pods)
        if (
            any(state.placed[s] < state.instance.podsets[s].count for s in running)
            and self._placer.place_running(j, within=mask)
            and state.pace.kept()
            and state.neighbours.holds(running)
        ):
            return True
        state.undo(mark)
        return False
