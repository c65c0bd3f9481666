"""Iterated local search around one incumbent: chains, restarts, then ruining and putting back."""

from __future__ import annotations

import random
from collections.abc import Callable

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Metric
from kantopt.search.chains.chain import settle
from kantopt.search.chains.gather import come_home, gather, reunite
from kantopt.search.chains.packing import Packing
from kantopt.search.chains.ruins import leave_out, loosen_moved, loosen_slack, restore_nodes
from kantopt.search.chains.scope import Scope, scope_at_stake, scope_of
from kantopt.search.chains.select import select
from kantopt.search.chains.strict import Evictions
from kantopt.search.engine.incumbent import Incumbent
from kantopt.verify.disturbance import DISRUPTION

OPERATORS = (
    (restore_nodes, 60),
    (loosen_moved, 15),
    (loosen_slack, 15),
    (leave_out, 10),
)
"""How to take apart, and how often beside the others."""
NOISES = (0.0, 0.1, 0.3, 0.6)
TASTES = (1.0, 1.0, 0.0, -1.0)
"""How much chains prefer small pods to eject: one large pod may make room for two that wait."""
PATIENT = 0.1
"""How often chains may be longer than needed."""
RESTARTS = 3
HOMECOMING = 400
"""How often to share out two nodes in a row to bring pods home."""
PHASE = 300
"""Iterations without improvement after which to widen the search, and to narrow it again."""
DETOURS = (3, 6, 10, 15)
"""By how much a tier of disruption may be worse on the way while the search is wide."""
SHORTER = 0.3
"""How often rather one pod more may stay unplaced on the way."""
PAIRS_PER_ITERATION = 6
"""How often two nodes are shared out, at first, per iteration: about half of the time."""
HOME_PAIRS = 18
MEANWHILE = 5
"""Iterations between two gatherings at least."""
FURTHER = 0.25
"""How often to gather from the best rather than from where the search is."""
RELUCTANT = 5
"""By how many times less at last, where it is in vain."""
_JUDGED_EVERY = 30
_WORK_PER_SECOND = 4_000_000
"""Of a deterministic run; an iteration counts as 20,000 and its groups times nodes."""
_SMALL_CELLS = 100_000
"""Groups times nodes up to which a pass is quick enough to be repeated."""
_MOST_CELLS = 20_000_000
_MOST_CELLS_DETERMINISTIC = 2_000_000


def improve(
    best: Incumbent,
    deadline: Deadline,
    seed: int = 0,
    *,
    patience: int | None = None,
    news: Callable[[], Placement | None] = lambda: None,
) -> None:
    """Look for better placements near the best until the time is up or nothing is left to gain.

    Of the parts of a question those are looked at in which somebody waits or has been disturbed.
    Only pods without devices change places that nobody asks to be near each other, in a domain or
    by affinity, unless to pods that stay. Pods of gangs move; of one that stands, members beyond
    its minimum come and go, too.

    Parameters
    ----------
    best
        Where to begin; takes each improvement.
    deadline
        When to be done; a deterministic one makes the work depend on the size alone.
    patience
        Iterations without improvement, or with none that the judge sees, after which to give up;
        ``None``: go on.
    news
        Asked after each iteration for a better placement, judged, that someone else has found.
    """
    _Run(best, deadline, seed, news).work(patience)


def promising(instance: Instance, start: Placement) -> bool:
    """Whether there are pods whose place :func:`improve` may change, now or when others have."""
    groups = scope_of(instance, start).groups
    cells = len(groups) * len(instance.nodes)
    return cells <= _MOST_CELLS and any(group.running or group.most for group in groups)


class _Run:
    """The best placement as the judge knows it, and the counts that the search has."""

    def __init__(
        self, best: Incumbent, deadline: Deadline, seed: int, news: Callable[[], Placement | None]
    ) -> None:
        self.best = best
        self.instance = best.instance
        self.tiers = best.tiers
        self.deadline = deadline
        self.news = news
        self._heard: Placement | None = None
        """What someone else has found and is not looked at yet."""
        self.rng = random.Random(seed)
        self.seed = seed
        self.iterations = 0
        self.homeless = 0
        self.refused = 0
        """Times in a row that the judge has not seen the gain that the packing sees."""
        self.next_homecoming = 0
        self.idle = False
        """Whether someone else has found a place for all, and disturbed nobody."""
        first = [i for i, tier in enumerate(self.tiers, 1) if tier.metric in DISRUPTION]
        self.disruption = min(first, default=len(self.tiers) + 1)
        """First entry of a key that counts disruption."""

    def over(self) -> bool:
        """Whether the time is up, or nothing is left to do; a deterministic run counts its work."""
        return self.idle or self.deadline.cuts()

    def work(self, patience: int | None) -> None:
        """Restart a few times, then iterate around the best."""
        if self.over() or self.best.done:
            return
        scope = scope_at_stake(self.instance, self.best.placement)
        cells = len(scope.groups) * len(self.instance.nodes)
        deterministic = self.deadline.deterministic
        if not cells or cells > (_MOST_CELLS_DETERMINISTIC if deterministic else _MOST_CELLS):
            return
        seconds = 10.0 if self.deadline.asked is None else self.deadline.asked
        most = 20 + int(seconds * _WORK_PER_SECOND) // (cells + 20_000)
        self.most = most if deterministic else None
        self._begin(scope)
        self._restart()
        if self.best.done:
            return
        self._iterate(patience)
        self._judge()

    def _begin(self, scope: Scope) -> None:
        """Take the best as what to work on."""
        self.packing = Packing(scope, self.tiers, self.best.values, self.seed)
        self.packing.floor = (0, *self.best.floors)
        self.evictions = Evictions(self.packing)
        self.local = self.judged = self.packing.value()
        self.kept = self.judged_counts = self.packing.snapshot()
        self._rest_on_best()

    def _rest_on_best(self) -> None:
        """Iterate around the best from now on."""
        self.base, self.base_counts = self.local, self.kept
        self.limit, self.wide = self.local, False
        self.vain = 0
        self.next_gathering = self.iterations

    def _called(self) -> bool:
        """Whether to leave what takes long, as the time is up or someone else has found more."""
        if self._heard is None:
            self._heard = self.news()
        return self._heard is not None or self.over()

    def _hear(self) -> bool:
        """Go on from what someone else has found, if that is better; say whether it is."""
        better, self._heard = self._heard or self.news(), None
        if better is None or not self.best.adopt(better):
            return False
        self._adopt(better)
        return True

    def _adopt(self, placement: Placement) -> None:
        """Go on from a placement that someone else has found.

        Where it places more pods than are placed around here, the search stays where there is room.
        """
        scope = scope_at_stake(self.instance, placement)
        if not scope.groups:
            self.idle = True
            return
        if not scope.like(self.packing.scope):
            self._begin(scope)
            return
        self.packing.load([dict(group.start) for group in scope.groups])
        self.local = self.judged = self.packing.value()
        self.kept = self.judged_counts = self.packing.snapshot()
        if self.local[: self.disruption] < self.base[: self.disruption]:
            self.packing.load(self.base_counts)
            self.limit, self.wide = self.base, False
        else:
            self._rest_on_best()

    def _restart(self) -> None:
        """Chains from the start and from the snapshot, at first without and then with noise."""
        packing = self.packing
        origins = [self.kept]
        now = packing.scope.at_home()
        if now != self.kept and all(
            least <= sum(home.values()) <= most
            for least, home, most in zip(packing.least, now, packing.most, strict=True)
        ):
            origins.append(now)
        small = packing.nodes * packing.count <= _SMALL_CELLS
        for turn in range(len(origins) + (RESTARTS if small else 0)):
            if turn and self._hear():
                return
            if turn and self.over():
                break
            noise = 0.0 if turn < len(origins) else 0.1 + 0.4 * self.rng.random()
            packing.load(origins[turn % len(origins)])
            settle(packing, [], noise, None, self.over)
            if packing.value() < self.local and self.evictions.hold():
                self.local, self.kept = packing.value(), packing.snapshot()
                self._judge()
        packing.load(self.kept)
        self._rest_on_best()

    def _iterate(self, patience: int | None) -> None:
        packing, rng = self.packing, self.rng
        operators = [operator for operator, _ in OPERATORS]
        shares = [share for _, share in OPERATORS]
        since = unjudged = 0
        while not self.over():
            spent = self.iterations + packing.looked // PAIRS_PER_ITERATION
            if (self.most is not None and spent >= self.most) or since == patience:
                return
            if patience is not None and self.refused * _JUDGED_EVERY >= patience:
                return
            self.iterations += 1
            since += 1
            if since % PHASE == 0:
                self._turn()
            if not self.wide:
                if self.iterations >= self.next_gathering:
                    since = 0 if self._gather() else since
                if self.iterations >= self.next_homecoming:
                    since = 0 if self._bring_home() else since
            loose = rng.choices(operators, shares)[0](packing, rng)
            packing.taste, packing.patient = rng.choice(TASTES), rng.random() < PATIENT
            sensible = settle(packing, loose, rng.choice(NOISES), self.limit, self.over)
            if sensible and packing.value() <= self.limit and self.evictions.hold():
                since = 0 if self._accept() else since
            else:
                packing.undo()
            unjudged += 1
            if unjudged >= _JUDGED_EVERY:
                unjudged = 0
                self._judge()
            if self._hear():
                packing = self.packing
                since = unjudged = 0
            if not unjudged and self.best.done:
                return

    def _accept(self) -> bool:
        """Go on from what the packing has; say whether that is better than ever around here."""
        value = self.packing.value()
        self.packing.forget()
        if value < self.base:
            self.base, self.base_counts = value, self.packing.snapshot()
            self.limit, self.wide = value, False
            self.vain = 0
            if value < self.local:
                self.local, self.kept = value, self.base_counts
            return True
        return False

    def _gather(self) -> bool:
        """Place more pods, whatever moves that takes; say whether that makes a new best.

        The search goes on from where it was: where room is left, few moves are found sooner.
        """
        packing, looked = self.packing, self.packing.looked
        further = self.kept is not self.base_counts and self.rng.random() < FURTHER
        if further:
            packing.load(self.kept)
        rng, over = self.rng, self.over
        while not self._called() and (gather(packing, rng, over) or select(packing, rng, over)):
            pass
        better = False
        if packing.journal and self.evictions.hold():
            if packing.value()[: self.disruption] <= self.local[: self.disruption]:
                reunite(packing, self.rng)
            better = packing.value() < self.local and self.evictions.hold()
            if better:
                self.local, self.kept = packing.value(), packing.snapshot()
        if further:
            packing.load(self.base_counts)
        else:
            packing.undo()
        self.vain = 0 if better else min(self.vain + 1, RELUCTANT)
        pause = MEANWHILE + (packing.looked - looked) // PAIRS_PER_ITERATION
        self.next_gathering = self.iterations + pause * (1 + self.vain)
        return better

    def _bring_home(self) -> bool:
        """Bring pods home in the best packing, for a while; say whether that makes a new best."""
        packing, looked = self.packing, self.packing.looked
        packing.load(self.kept)
        value = self.local
        ways = 0  # one that is found without a look and refused is found again
        while not self._called() and packing.moved and packing.looked - looked + ways < HOMECOMING:
            ways += 1
            before = packing.looked
            home = come_home(packing, self.rng, self.over)
            if not home and packing.looked == before:
                packing.undo()
                break  # no home has a place left: there is no way to try, now or later
            if home and packing.value() <= value and self.evictions.hold():
                value = packing.value()
                packing.forget()
            packing.undo()
        better = value < self.local
        settled = self.kept is self.base_counts
        if value <= self.local:
            self.local, self.kept = value, packing.snapshot()
        if settled:
            self._rest_on_best()
        else:
            packing.load(self.base_counts)
        self.homeless = 0 if better else min(self.homeless + 1, 1)
        pause = MEANWHILE + (packing.looked - looked) // HOME_PAIRS
        self.next_homecoming = self.iterations + pause * (1 + self.homeless)
        return better

    def _turn(self) -> None:
        """Allow detours, or come back to the best and allow none."""
        self.wide = not self.wide
        if not self.wide:
            self.packing.load(self.base_counts)
            self.limit = self.base
            return
        loose = [i for i, tier in enumerate(self.tiers, 1) if tier.metric in DISRUPTION]
        limit = list(self.base)
        short = [
            i
            for i, tier in enumerate(self.tiers, 1)
            if tier.metric is Metric.UNPLACED and self.base[i]
        ]
        if short and self.rng.random() < SHORTER:
            limit[short[-1]] += 1
        elif loose:
            limit[self.rng.choice(loose)] += self.rng.choice(DETOURS)
        self.limit = tuple(limit)

    def _judge(self) -> None:
        """Have the kept counts judged; go back to those judged last if they are refused."""
        self.packing.floor = (0, *self.best.floors)
        if self.kept is self.judged_counts:
            return
        if self.best.offer(self.packing.scope.placement(self.kept), as_good=True):
            self.judged, self.judged_counts = self.local, self.kept
            self.refused = 0
            return
        self.refused += 1
        self.local, self.kept = self.judged, self.judged_counts
        self._rest_on_best()
        self.packing.load(self.kept)
