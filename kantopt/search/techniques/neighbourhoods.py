"""Large neighbourhoods: free a few nodes of the incumbent, solve what they hold, repeat."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from kantopt.clock import Deadline, elapsed
from kantopt.cp.around import Around
from kantopt.cp.descent import Descent, descend
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import NEVER, Effort
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import DISTURBING
from kantopt.schema.model import Rule
from kantopt.search.engine.desk import Desk
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.freed import (
    CHOICES,
    Choice,
    View,
    aims,
    between_moved,
    devices_wanted,
    few_wait,
    for_goals,
    from_the_start,
    little_used,
    several_domains,
    whole_domains,
)
from kantopt.shares import NEIGHBOURHOOD, NEIGHBOURHOODS_WORK
from kantopt.verify.disturbance import DISRUPTION

FIRST_SIZE, FIRST_SHARE = 5.0, 1 / 40
"""Nodes of the first neighbourhoods, or a share of all nodes if that is more."""
NODES = 256
"""Nodes of a question beyond which a neighbourhood has the more time: all of it is written down."""
SMALLEST, LARGEST = 2.0, 96.0
BETWEEN = 24.0
"""Nodes of the first between which pods have moved."""
DOMAINS, LARGEST_DOMAINS = 64.0, 128.0
"""Nodes of whole domains at first and at most."""
SECONDS = 0.04
"""Seconds that each of these nodes is worth."""
DEVICE_SECONDS = 0.1
"""Seconds that each device is worth whose pods may leave it."""
DEVICES, MORE_DEVICES, LARGEST_DEVICES = 32.0, 1.25, 256.0
"""Little-used devices at first, or as many as are wanted and more by this factor, and at most."""
GROWTH, SHRINKAGE = 1.3, 0.85
"""By how much a neighbourhood grows that was closed, and shrinks that was not."""
ALONE = 1000.0
"""Merit of an operator that is alone chosen as long as it has any success."""
FADING = 0.9
"""How much of an operator's merit remains after another try."""
LEAST_MERIT = 0.05
WORK_PER_SECOND = 0.5
"""Deterministic seconds of the solver per second, for runs that must be repeatable."""
WRITING = 5e-5
"""Deterministic seconds that a step counts for each node of the question, about as long as it takes
to write it down."""


def nearby(desk: Desk, deadline: Deadline) -> None:
    """Free a few nodes at a time and solve what they hold, until that has long been in vain.

    Where work is counted it ends with its share of that instead. A first look frees little-used
    devices, as long as that may bring anything.
    """
    if desk.incumbent.missing or not desk.instance.nodes:
        return
    seen = desk.incumbent
    search = desk.neighbourhoods
    if search is None:
        best = Incumbent(desk.instance, desk.tiers, seen.placement, known=seen.known)
        search = desk.neighbourhoods = Neighbourhoods(best, desk.budget.seed, desk.budget.deadline)
    best = search.go_on(seen.placement, desk.budget.deadline)
    if best.first_open is not None and best.first_open.metric in DISRUPTION:
        search.spare()
    if any(map(aims, best.tiers)) or few_wait(best):
        search.aim()
    search.clear(devices_wanted(best))

    def ended() -> bool:
        return desk.glance and not search.clears

    seconds = NEIGHBOURHOOD * max(1.0, len(desk.instance.nodes) / NODES)
    work = desk.budget.work
    if work is not None:
        before = search.work
        most = work * NEIGHBOURHOODS_WORK
        while search.work - before < most and not (best.done or desk.done() or ended()):
            better = search.step(seconds, devices=desk.glance)
            if better is not None:
                desk.found(better)
        desk.budget = replace(desk.budget, work=max(0.0, work - (search.work - before)))
        return
    patience, last = desk.patience * deadline.remaining(), elapsed()
    while elapsed() - last <= patience and not (deadline.over() or desk.done() or ended()):
        if desk.refresh():
            best.adopt(desk.incumbent.placement)
        most = patience - (elapsed() - last)
        better = search.step(min(seconds, deadline.remaining()), most, devices=desk.glance)
        if better is not None:
            desk.found(better)
            last = elapsed()


@dataclass(slots=True)
class _Operator:
    """A way to choose nodes, and how it has done so far."""

    choose: Choice | None
    """``None``: all nodes, but only the devices of which least is in use, ``size`` of them."""
    size: float
    """Nodes, or devices, that are freed the next time."""
    most: float = LARGEST
    """Nodes that are freed at most, however many could be closed."""
    merit: float = 1.0
    """Recent share of tries with success, the older the less."""
    seconds: float = 0.0
    """Seconds for each node, if that is more than a step has."""
    linearization: int = 1
    """How much of a neighbourhood CP-SAT's linear program has: 2 is all of it."""
    afresh: bool = False
    """Whether pods on other nodes are where the snapshot has them, not where the incumbent does."""


class Neighbourhoods:
    """Betters an incumbent step by step; each step solves one neighbourhood of it.

    A neighbourhood is all placements that differ from the incumbent on a few nodes only, pods
    that wait included, under all rules. Operators that have brought something are chosen more
    often; their sizes follow what the solver can close in the time of a step.

    Parameters
    ----------
    best
        Where to begin; takes each improvement.
    seed
        Of all that is drawn.
    deadline
        No step goes on beyond it; with a deterministic one, a step is limited by work alone.
    """

    def __init__(self, best: Incumbent, seed: int, deadline: Deadline) -> None:
        self.best = best
        self._instance = best.instance
        self._deadline = deadline
        self._rng = random.Random(seed)
        first = min(LARGEST, max(FIRST_SIZE, FIRST_SHARE * len(best.instance.nodes)))
        self._operators = [_Operator(choose, first) for choose in CHOICES]
        if several_domains(best.instance):
            # Optimistic at first: it takes the longest, and brings what takes many nodes.
            whole = _Operator(whole_domains, DOMAINS, LARGEST_DOMAINS, len(CHOICES), SECONDS, 2)
            self._operators.append(whole)
        self._view: View | None = None
        self._sparing = self._aiming = False
        self._clearing: _Operator | None = None
        self.work = 0.0
        """Deterministic seconds so far, and as many as it takes to write each step down."""

    def go_on(self, placement: Placement, deadline: Deadline) -> Incumbent:
        """Go on from a placement that may be better, until a deadline, with all that is learnt."""
        self.best.adopt(placement)
        self._deadline = deadline
        return self.best

    @property
    def clears(self) -> bool:
        """Whether devices may be freed with success, as far as has been seen."""
        return self._clearing is not None and self._clearing.merit > len(self._operators)

    def spare(self) -> None:
        """Look between nodes of moved pods before all else, from now on: only moves are open."""
        if not self._sparing:
            self._sparing = True
            for operator in self._operators:
                operator.merit = min(1.0, operator.merit)
            self._operators.append(_Operator(between_moved, BETWEEN, merit=len(CHOICES)))

    def aim(self) -> None:
        """Look at what goals ask to be empty before all else, from now on: these are open."""
        if not self._aiming:
            self._aiming = True
            aimed = _Operator(for_goals, DOMAINS, LARGEST, len(CHOICES), SECONDS, 2)
            self._operators.append(aimed)
            start = _Operator(from_the_start, LARGEST, merit=ALONE, seconds=SECONDS, afresh=True)
            self._operators.append(start)

    def clear(self, wanted: int) -> None:
        """Look at little-used devices before all else, from now on, if any devices are wanted."""
        if wanted and self._clearing is None:
            first = min(LARGEST_DEVICES, max(DEVICES, MORE_DEVICES * wanted))
            cleared = _Operator(None, first, LARGEST_DEVICES, ALONE, DEVICE_SECONDS, 2, afresh=True)
            self._clearing = cleared
            self._operators.append(cleared)

    def step(
        self, seconds: float, most: float = NEVER, *, devices: bool = False
    ) -> Placement | None:
        """Solve one neighbourhood for about so long; return a better placement, if it has one.

        Operators that are worth more seconds have up to ``most``. With ``devices`` little-used ones
        are freed, if any are wanted.

        What is returned was judged legal and strictly better, and is the new incumbent.
        """
        if not self._deadline.deterministic:
            seconds = min(seconds, self._deadline.remaining())
        if self.best.done or seconds <= 0 or not self._instance.nodes:
            return None
        start = self.best.placement
        if self._view is None or self._view.placement is not start:
            self._view = View(self._instance, start)
        merits = [operator.merit for operator in self._operators]
        operator = self._rng.choices(self._operators, merits)[0]
        if devices and self._clearing is not None:
            operator = self._clearing
        size = int(operator.size)
        if operator.choose is not None:
            size = min(size, len(self._instance.nodes))
        seconds = max(seconds, min(operator.seconds * size, most))
        around = self._around(self._view, operator, size)
        tried = self._solve(around, seconds, operator.linearization)
        self.work += tried.work + WRITING * len(self._instance.nodes)
        better = tried.found is not None and self.best.offer(tried.found)
        operator.merit = max(LEAST_MERIT, FADING * operator.merit + (1 - FADING) * better)
        if operator.afresh and not better:
            operator.merit = min(1.0, operator.merit)  # it has mostly the same nodes again
        if tried.closed:
            operator.size = min(operator.most, operator.size * GROWTH)
        else:
            operator.size = max(SMALLEST, operator.size * SHRINKAGE)
        return self.best.placement if better else None

    def _around(self, view: View, operator: _Operator, size: int) -> Around:
        """Return the neighbourhood that an operator chooses."""
        base = self._instance.current if operator.afresh else view.placement
        if operator.choose is None:
            return Around(base, frozenset(view.nodes), little_used(view, size, self._rng))
        return Around(base, frozenset(operator.choose(view, size, self._rng)))

    def _disturbed(self) -> int:
        """Tiers up to the first open one and those that say who is disturbed.

        Others, such as what is stranded, can make a model of all nodes ten times as large.
        """
        best = self.best
        last = max((i for i, t in enumerate(best.tiers) if t.metric in DISTURBING), default=0)
        return 1 + max(last, 0 if best.first_open is None else best.tiers.index(best.first_open))

    def _solve(self, around: Around, seconds: float, linearization: int) -> Descent:
        best = self.best
        rules = [
            rule
            for rule in Rule
            if self._instance.on(rule) and not (rule is Rule.REQUIRED and best.missing)
        ]
        began = elapsed()
        model = PlacementModel(self._instance, rules=rules, around=around)
        weighed = slice(None if around.devices is None else self._disturbed())
        seed = self._rng.randrange(2**31)
        if self._deadline.deterministic:
            effort = Effort(NEVER, seed, seconds * WORK_PER_SECOND)
        else:
            left = max(seconds - (elapsed() - began), seconds / 2)
            effort = Effort(min(left, self._deadline.remaining()), seed)
        return descend(
            model,
            best.tiers[weighed],
            best.placement,
            best.values[weighed],
            best.floors[weighed],
            effort,
            linearization=linearization,
        )
