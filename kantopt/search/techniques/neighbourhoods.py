"""Large neighbourhoods: free a few nodes of the incumbent, solve what they hold, repeat."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline, elapsed
from kantopt.cp.around import Around
from kantopt.cp.descent import descend
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import NEVER, Effort
from kantopt.problem.cluster import Domain
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.columns.program import DISRUPTION
from kantopt.search.engine.desk import Desk
from kantopt.search.engine.incumbent import Incumbent
from kantopt.shares import NEIGHBOURHOOD
from kantopt.verify.step import Loads, Step


class View:
    """An incumbent as the choice of nodes needs it: what is free, what has moved, what waits."""

    def __init__(self, instance: Instance, placement: Placement) -> None:
        self.instance = instance
        self.placement = placement
        self.nodes = range(len(instance.nodes))
        loads = Loads.of(instance, placement)
        self.free = [
            [
                0 if limit is None else max(0, limit - load)
                for limit, load in zip(node.capacity, loads.node[node.index], strict=True)
            ]
            for node in instance.nodes
        ]
        most = [
            max((node.capacity[r] or 0 for node in instance.nodes), default=0)
            for r in range(len(instance.resources))
        ]
        asked = [any(podset.requests[r] for podset in instance.podsets) for r in range(len(most))]
        self.slack = [
            sum(x / m for x, m, a in zip(row, most, asked, strict=True) if m and a)
            for row in self.free
        ]
        """Per node, what is free: shares of the largest node, summed over the resources."""
        self.waiting = [
            podset.index
            for podset in instance.podsets
            if placement.placed(podset.index) < podset.count
        ]
        step = Step(instance, instance.current, placement)
        self.moved = [podset.index for podset in instance.podsets if step.moved(podset.index)]

    def open_to_moved(self) -> list[int]:
        """Nodes in use with room for a pod of those pod sets of which pods have moved."""
        used = {
            spot.node
            for podset in self.instance.podsets
            if not podset.daemon
            for spot in self.placement.podsets[podset.index]
        }
        asked = {self.instance.podsets[s].requests for s in self.moved}

        def takes(n: int, requests: tuple[int, ...]) -> bool:
            limits = self.instance.nodes[n].capacity
            rows = zip(limits, requests, self.free[n], strict=True)
            return all(limit is None or need <= free for limit, need, free in rows)

        return [n for n in sorted(used) if any(takes(n, requests) for requests in asked)]

    def homes(self, s: int) -> list[int]:
        """Nodes where pods of a pod set run in the snapshot and are missing now."""
        spots = self.placement.podsets[s]
        current = self.instance.podsets[s].current
        return sorted({spot.node for spot, k in current.items() if spots.get(spot, 0) < k})

    def places(self, s: int) -> list[int]:
        """Nodes with pods of a pod set that do not run there in the snapshot."""
        current = self.instance.podsets[s].current
        spots = self.placement.podsets[s]
        return sorted({spot.node for spot, k in spots.items() if current.get(spot, 0) < k})


def _fill(view: View, chosen: list[int], size: int, rng: random.Random) -> list[int]:
    """Add nodes with much room until there are enough."""
    rest = [n for n in view.nodes if n not in chosen]
    rest.sort(key=lambda n: -view.slack[n] * rng.random())
    return (chosen + rest)[:size]


def by_slack(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes with much room left."""
    return _fill(view, [], size, rng)


def complementary(view: View, size: int, rng: random.Random) -> list[int]:
    """A node with room, and others whose free resources complement what is free there."""
    first = max(view.nodes, key=lambda n: view.slack[n] * rng.random())
    mine = view.free[first]
    total = sum(mine) or 1

    def likeness(n: int) -> float:
        theirs = sum(view.free[n]) or 1
        return sum(min(a / total, b / theirs) for a, b in zip(mine, view.free[n], strict=True))

    rest = [n for n in view.nodes if n != first]
    rest.sort(key=lambda n: (likeness(n) - view.slack[n]) * (0.5 + rng.random()))
    return [first, *rest][:size]


def around_moved(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes that moved pods have left or come to, one leading to the next."""
    links: dict[int, set[int]] = {}
    for s in view.moved:
        for place in view.places(s):
            for home in view.homes(s):
                links.setdefault(place, set()).add(home)
                links.setdefault(home, set()).add(place)
    if not links:
        return any_nodes(view, size, rng)
    chosen = [rng.choice(sorted(links))]
    while len(chosen) < size:
        near = sorted({m for n in chosen for m in links[n]}.difference(chosen))
        if not near:
            break
        chosen.append(rng.choice(near))
    return _fill(view, chosen, size, rng)


def between_moved(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes that moved pods have left or come to, and as many in use that have room for one."""
    changed = {n for s in view.moved for n in (*view.homes(s), *view.places(s))}
    if not changed:
        return any_nodes(view, size, rng)
    chosen = rng.sample(sorted(changed), min(len(changed), size // 2))
    roomy = [n for n in view.open_to_moved() if n not in changed]
    chosen += rng.sample(roomy, min(len(roomy), size - len(chosen)))
    return _fill(view, chosen, size, rng)


def around_waiting(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes that lack little for a pod that waits, and where more of its job are."""
    if not view.waiting:
        return around_moved(view, size, rng)
    podset = view.instance.podsets[rng.choice(view.waiting)]
    job = view.instance.jobs[podset.job]
    mates = {spot.node for s in job.podsets for spot in view.placement.podsets[s]}
    limited = view.instance.on(Rule.ELIGIBILITY)
    able = [n for n in view.nodes if not limited or n in podset.allowed]

    def lack(n: int) -> float:
        free = zip(podset.requests, view.free[n], strict=True)
        return sum(max(0.0, 1 - b / a) for a, b in free if a) + (n not in mates)

    return sorted(able, key=lambda n: lack(n) * (0.5 + rng.random()))[:size]


def one_domain(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes of one domain of the topology, those with room first."""
    levels = [domains for domains in view.instance.topology.domains if len(domains) > 1]
    if not levels:
        return any_nodes(view, size, rng)
    domains = rng.choice(levels)
    domain = max(
        rng.sample(domains, min(3, len(domains))), key=lambda d: sum(view.slack[n] for n in d.nodes)
    )
    return sorted(domain.nodes, key=lambda n: -view.slack[n] * rng.random())[:size]


def _several(instance: Instance) -> list[Sequence[Domain]]:
    """Domains by level, where there are several and they have several nodes."""
    levels = instance.topology.domains
    return [domains for domains in levels if 1 < len(domains) < len(instance.nodes)]


def several_domains(instance: Instance) -> bool:
    """Whether there are whole domains to choose from."""
    return bool(_several(instance))


def whole_domains(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes of whole domains of one level, drawn at random; of one too large those with room."""
    domains = rng.choice(_several(view.instance))
    chosen: list[int] = []
    for domain in rng.sample(domains, len(domains)):
        if not chosen or len(chosen) + len(domain.nodes) <= size:
            chosen += domain.nodes
    return sorted(chosen, key=lambda n: -view.slack[n] * rng.random())[:size]


def one_job(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes of a job that is spread over several, and others with room."""
    spread = [
        job
        for job in view.instance.jobs
        if len({spot.node for s in job.podsets for spot in view.placement.podsets[s]}) > 1
    ]
    if not spread:
        return any_nodes(view, size, rng)
    job = rng.choice(spread)
    nodes = sorted({spot.node for s in job.podsets for spot in view.placement.podsets[s]})
    rng.shuffle(nodes)
    return _fill(view, nodes[: max(2, size // 2)], size, rng)


def any_nodes(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes drawn at random."""
    return rng.sample(list(view.nodes), size)


Choice = Callable[[View, int, random.Random], list[int]]

CHOICES: tuple[Choice, ...] = (
    by_slack,
    complementary,
    around_moved,
    around_waiting,
    one_domain,
    one_job,
    any_nodes,
)


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
GROWTH, SHRINKAGE = 1.3, 0.85
"""By how much a neighbourhood grows that was closed, and shrinks that was not."""
FADING = 0.9
"""How much of an operator's merit remains after another try."""
LEAST_MERIT = 0.05
WORK_PER_SECOND = 0.5
"""Deterministic seconds of the solver per second, for runs that must be repeatable."""


def nearby(desk: Desk, deadline: Deadline) -> None:
    """Free a few nodes at a time and solve what they hold, until that has long been in vain."""
    if desk.incumbent.missing:
        return
    seen = desk.incumbent
    search = desk.neighbourhoods
    if search is None:
        best = Incumbent(desk.instance, desk.tiers, seen.placement, known=seen.known)
        search = desk.neighbourhoods = Neighbourhoods(best, desk.budget.seed, desk.budget.deadline)
    best = search.go_on(seen.placement, desk.budget.deadline)
    if best.first_open is not None and best.first_open.metric in DISRUPTION:
        search.spare()
    seconds = NEIGHBOURHOOD * max(1.0, len(desk.instance.nodes) / NODES)
    patience, last = desk.patience * deadline.remaining(), elapsed()
    while elapsed() - last <= patience and not deadline.over() and not desk.done():
        if desk.refresh():
            best.adopt(desk.incumbent.placement)
        most = patience - (elapsed() - last)
        better = search.step(min(seconds, deadline.remaining()), most)
        if better is not None:
            desk.found(better)
            last = elapsed()


@dataclass(slots=True)
class _Operator:
    """A way to choose nodes, and how it has done so far."""

    choose: Choice
    size: float
    """Nodes that are freed the next time."""
    most: float = LARGEST
    """Nodes that are freed at most, however many could be closed."""
    merit: float = 1.0
    """Recent share of tries with success, the older the less."""
    seconds: float = 0.0
    """Seconds for each node, if that is more than a step has."""
    linearization: int = 1
    """How much of a neighbourhood CP-SAT's linear program has: 2 is all of it."""


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
        self._sparing = False

    def go_on(self, placement: Placement, deadline: Deadline) -> Incumbent:
        """Go on from a placement that may be better, until a deadline, with all that is learnt."""
        self.best.adopt(placement)
        self._deadline = deadline
        return self.best

    def spare(self) -> None:
        """Look between nodes of moved pods before all else, from now on: only moves are open."""
        if not self._sparing:
            self._sparing = True
            for operator in self._operators:
                operator.merit = min(1.0, operator.merit)
            self._operators.append(_Operator(between_moved, BETWEEN, merit=len(CHOICES)))

    def step(self, seconds: float, most: float = NEVER) -> Placement | None:
        """Solve one neighbourhood for about so long; return a better placement, if it has one.

        Operators that are worth more seconds have up to ``most``.

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
        size = min(int(operator.size), len(self._instance.nodes))
        nodes = operator.choose(self._view, size, self._rng)
        seconds = max(seconds, min(operator.seconds * size, most))
        found, closed = self._solve(frozenset(nodes), seconds, operator.linearization)
        better = found is not None and self.best.offer(found)
        operator.merit = max(LEAST_MERIT, FADING * operator.merit + (1 - FADING) * better)
        if closed:
            operator.size = min(operator.most, operator.size * GROWTH)
        else:
            operator.size = max(SMALLEST, operator.size * SHRINKAGE)
        return self.best.placement if better else None

    def _solve(
        self, nodes: frozenset[int], seconds: float, linearization: int
    ) -> tuple[Placement | None, bool]:
        best = self.best
        rules = [
            rule
            for rule in Rule
            if self._instance.on(rule) and not (rule is Rule.REQUIRED and best.missing)
        ]
        began = elapsed()
        model = PlacementModel(self._instance, rules=rules, around=Around(best.placement, nodes))
        seed = self._rng.randrange(2**31)
        if self._deadline.deterministic:
            effort = Effort(NEVER, seed, seconds * WORK_PER_SECOND)
        else:
            left = max(seconds - (elapsed() - began), seconds / 2)
            effort = Effort(min(left, self._deadline.remaining()), seed)
        return descend(
            model,
            best.tiers,
            best.placement,
            best.values,
            best.floors,
            effort,
            linearization=linearization,
        )
