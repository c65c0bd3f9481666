"""Of several ways tried from one state, each taken back, the one of least harm is carried out."""

from __future__ import annotations

from kantopt.search.state import Change, State


class LeastHarm:
    """The changes of the way that harms least so far.

    Attributes
    ----------
    harm
        What counts, the most important first; ``None`` while no way has worked.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self.harm: list[int] | None = None
        self.changes: list[Change] = []

    def note(self, harm: list[int], mark: int) -> bool:
        """Keep what has changed since a mark if it harms less than all before; say whether."""
        if self.harm is not None and self.harm <= harm:
            return False
        self.harm, self.changes = harm, self._state.journal[mark:]
        return True

    def carry_out(self) -> bool:
        """Do what was kept, from where it began; say whether any way has worked."""
        for change in self.changes:
            self._state.add(*change)
        return self.harm is not None
