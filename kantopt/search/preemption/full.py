"""Places that pods left and that have no room for them: known until their node changes."""

from __future__ import annotations

from kantopt.problem.cluster import Spot
from kantopt.search.state import State


class Full:
    """Remembers what was found, so that only what has changed since is looked at again.

    Parameters
    ----------
    state
        The state whose nodes change.
    """

    def __init__(self, state: State) -> None:
        self._touched = state.touched
        self._read = len(state.touched)
        self._changed: dict[int, int] = {}
        """How many changes there had been, at least, when a node was seen to have changed last."""
        self._found: dict[tuple[int, Spot, bool], int] = {}
        """How many there had been when a place was found to be full."""

    def note(self, s: int, spot: Spot, *, whole: bool) -> None:
        """Remember that a pod has no room where it was; or not together with all of its job."""
        self._sync()
        self._found[s, spot, whole] = self._read

    def known(self, s: int, spot: Spot, *, whole: bool) -> bool:
        """Whether that was found and is still so."""
        found = self._found.get((s, spot, whole))
        if found is None:
            return False
        self._sync()
        return self._changed.get(spot.node, 0) <= found

    def _sync(self) -> None:
        now = len(self._touched)
        if now != self._read:
            self._changed |= dict.fromkeys(self._touched[self._read :], now)
            self._read = now
