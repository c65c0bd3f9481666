"""Ruin and recreate at home: running pods go back to where they were, as far as nothing is lost.

A search that has just found room for somebody has often moved others on its way, for nothing. Those
go first whose place is free as it is, one by one. The others are lifted at once, so that pods in
each other's places go back together; those whose place is taken for good keep the one that the plan
gives them, or get another. What the judge refuses as a whole is tried in halves (delta debugging,
Zeller 1999). Whoever is not home when it is late keeps the place that the plan gives it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.insertion.fill import fill
from kantopt.search.insertion.scores import Scores
from kantopt.search.state import State
from kantopt.search.strategy import Strategy

MOST_TRIES = 200
"""Most groups of pods to lift: what each makes is judged, and without a clock nothing else ends it.
"""


_Mover = tuple[tuple[int, Spot], ...]
"""Pod set and spot of pods that are away, and that go home together or not at all."""


def come_home(best: Incumbent, over: Callable[[], bool], by: str) -> None:
    """Take moves back that no objective needs, until none is left to take or it is late.

    Parameters
    ----------
    best
        The plan; takes what is better.
    over
        Whether the time is up.
    by
        Name of the technique.
    """
    state = State(best.searched, best.placement)
    homecoming = _Homecoming(state, Scores(state, Strategy.BEST_FIT, over))
    mark = state.mark()
    if not (homecoming.directly(_movers(state)) and best.offer(state.placement(), by)):
        state.undo(mark)
    size, tries = len(_movers(state)), 0
    while size:
        movers, taken = _movers(state), False
        for at in range(0, len(movers), size):
            for elsewhere in (True, False):
                tries += 1
                if over() or tries > MOST_TRIES:
                    return
                mark = state.mark()
                home = homecoming.together(movers[at : at + size], elsewhere=elsewhere)
                taken = home and best.offer(state.placement(), by)
                if taken:
                    break
                state.undo(mark)
            if taken:
                break  # who is away is somebody else now
        size = min(size, len(_movers(state))) if taken else size // 2


def sent_home(instance: Instance, placement: Placement) -> Placement:
    """Return a placement from which those have gone home whose place is free as it is."""
    state = State(instance)
    state.go_to(placement)
    directly_home(state)
    return state.placement()


def directly_home(state: State) -> None:
    """Send home whose place is free as it is, and victims of jobs that then fit as a whole."""
    homecoming = _Homecoming(state, Scores(state, Strategy.BEST_FIT, lambda: False))
    homecoming.directly(_movers(state))


def _movers(state: State) -> list[_Mover]:
    """Return what is away, the largest first: it is the hardest to place elsewhere."""
    instance = state.instance
    found: list[_Mover] = []
    whole: dict[int, list[tuple[int, Spot]]] = {}
    for podset in instance.podsets if instance.nodes else ():
        s = podset.index
        if not podset.running or state.spots[s] == podset.current:
            continue
        for spot in sorted(state.spots[s]):
            away = max(0, state.spots[s][spot] - podset.current.get(spot, 0))
            if podset.job in instance.together:
                whole.setdefault(podset.job, []).extend([(s, spot)] * away)
            else:
                found += [((s, spot),)] * away
    found += [tuple(pods) for pods in whole.values() if pods]
    return sorted(found, key=lambda mover: (-_asks(state, mover), mover))


def _asks(state: State, mover: _Mover) -> int:
    return sum(int(state.shape[s].demand.sum()) for s, _ in mover)


class _Homecoming:
    """Sends some pods home, so that everybody else has a place."""

    def __init__(self, state: State, scores: Scores) -> None:
        self.state = state
        self.scores = scores

    def directly(self, movers: Sequence[_Mover]) -> bool:
        """Send home, one after the other, whose place is free as it is; say whether anybody is."""
        gone = 0
        for mover in movers:
            if self.scores.over():
                break
            mark = self.state.mark()
            self._lift(mover)
            if self._go(mover):
                gone += 1
            else:
                self.state.undo(mark)
        if gone:
            self._spare()
        return gone > 0

    def together(self, movers: Sequence[_Mover], *, elsewhere: bool) -> bool:
        """Send home whom there is room for; say whether anybody is, and all others have a place.

        With ``elsewhere`` those who cannot go home get a place after the others, so that these may
        take the one that they have.
        """
        for mover in movers:
            self._lift(mover)
        waiting, stuck, gone = dict(enumerate(movers)), list[_Mover](), 0
        of_node: dict[int, list[int]] = {}
        for i, mover in waiting.items():
            for n in self._nodes(mover):
                of_node.setdefault(n, []).append(i)
        doubtful = list(waiting)  # there is less room at their homes than at the last look
        while waiting and not self.scores.over():
            away = [i for i in doubtful if i in waiting and not self._fits(waiting[i])]
            stays = [waiting.pop(i) for i in away]
            mark = self.state.mark()
            if not elsewhere and not all(map(self._stay, stays)):
                return False
            stuck += stays if elsewhere else ()
            if not stays:
                mover = waiting.pop(next(iter(waiting)))
                if self._go(mover):
                    gone += 1
                else:  # neighbours that have come home do not bear it
                    stuck.append(mover)
            fuller = {spot.node for _, spot, _ in self.state.journal[mark:]}
            doubtful = sorted({i for n in fuller for i in of_node.get(n, ())})
        stuck += waiting.values()
        if not (gone and all(self._stay(mover) or self._settle(mover) for mover in stuck)):
            return False
        self._spare()
        return True

    def _spare(self) -> None:
        """Let victims come back, each job with all of its pods, that find their places free now."""
        state, instance = self.state, self.state.instance
        short = (p for p in instance.podsets if p.running and state.placed[p.index] < p.count)
        for j in sorted({podset.job for podset in short}):
            missing = [
                (s, Spot(0))
                for s in instance.running_of(j)
                for _ in range(instance.podsets[s].count - state.placed[s])
            ]
            if state.admits(j, Counter(s for s, _ in missing).items()):
                self._go(tuple(missing))

    def _nodes(self, mover: _Mover) -> set[int]:
        """Nodes where pods were at home."""
        podsets = self.state.instance.podsets
        return {spot.node for s, _ in mover for spot in podsets[s].current}

    def _lift(self, mover: _Mover) -> None:
        for s, spot in mover:
            self.state.add(s, spot, -1)

    def _homes(self, s: int) -> Iterator[Spot]:
        """Spots where a pod is missing that was there."""
        here = self.state.spots[s]
        for spot, pods in sorted(self.state.instance.podsets[s].current.items()):
            if here.get(spot, 0) < pods:
                yield spot

    def _go(self, mover: _Mover) -> bool:
        mark = self.state.mark()
        for s, _ in mover:
            if not any(self._placed(s, home) for home in self._homes(s)):
                self.state.undo(mark)
                return False
        return True

    def _fits(self, mover: _Mover) -> bool:
        mark = self.state.mark()
        fits = self._go(mover)
        self.state.undo(mark)
        return fits

    def _stay(self, mover: _Mover) -> bool:
        """Put pods where the plan had them."""
        mark = self.state.mark()
        if all(self._placed(s, spot) for s, spot in mover):
            return True
        self.state.undo(mark)
        return False

    def _settle(self, mover: _Mover) -> bool:
        """Find a free place for a pod that has none."""
        [(s, _), *more] = mover
        return not more and fill(self.scores, s, 1) == 1

    def _placed(self, s: int, spot: Spot) -> bool:
        """Place one pod on a spot if that has room and its neighbours bear it."""
        state = self.state
        if not (state.has_room(s, spot) and state.neighbours.bear(s, spot.node)):
            return False
        state.add(s, spot, 1)
        return True
