"""Destroy operators of large neighbourhood search (Shaw 1998): which nodes it frees."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

from kantopt.problem.cluster import Domain
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import DISTURBING, OF_WHO_IS_PLACED, Tier, tiers_of
from kantopt.schema.model import Metric, Rule
from kantopt.search.engine.incumbent import Incumbent
from kantopt.verify.metrics import measure
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
        offered = [sum(node.capacity[r] or 0 for node in instance.nodes) for r in range(len(most))]
        left = {
            r: sum(row[r] for row in self.free) / offered[r]
            for r, amount in enumerate(asked)
            if amount and offered[r]
        }
        self.scarce = min(left, key=lambda r: left[r], default=None)
        """The resource of which the smallest share is free."""
        self.waiting = [
            podset.index
            for podset in instance.podsets
            if placement.placed(podset.index) < podset.count
        ]
        self.used = {
            spot.node
            for podset in instance.podsets
            if not podset.daemon
            for spot in placement.podsets[podset.index]
        }
        step = Step(instance, instance.current, placement)
        self.moved = [podset.index for podset in instance.podsets if step.moved(podset.index)]

    def open_to_moved(self) -> list[int]:
        """Nodes in use with room for a pod of those pod sets of which pods have moved."""
        asked = {self.instance.podsets[s].requests for s in self.moved}

        def takes(n: int, requests: tuple[int, ...]) -> bool:
            limits = self.instance.nodes[n].capacity
            rows = zip(limits, requests, self.free[n], strict=True)
            return all(limit is None or need <= free for limit, need, free in rows)

        return [n for n in sorted(self.used) if any(takes(n, requests) for requests in asked)]

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


def aims(tier: Tier) -> bool:
    """Whether a tier says how far a goal is missed that takes room: see :func:`for_goals`."""
    return tier.of_waiting or tier.metric in (Metric.UNDRAINED, Metric.DOMAINS_IN_USE)


def few_wait(best: Incumbent) -> bool:
    """Whether it is open who is placed of few jobs that wait: room for them is like a goal."""
    waiting = sum(job.waits for job in best.searched.jobs)
    first = best.first_open
    return first is not None and first.counts_unplaced and waiting <= _FEW


def for_goals(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes to be emptied, or a domain that may be, and those where the scarcest is free.

    Of domains those at a level of which some are to be empty, or that a gang that waits must be in.
    """
    instance = view.instance
    chosen = [n for n in sorted(instance.drained) if n in view.used]
    emptied = (t.level for t in tiers_of(instance) if t.metric is Metric.DOMAINS_IN_USE)
    waiting = {instance.podsets[s].job for s in view.waiting}
    close = (need.required for j in waiting for need in instance.needs_of.get(j, ()))
    levels = {level for level in (*emptied, *close) if level is not None}
    several = [level for level in sorted(levels) if instance.topology.domains[level]]
    if not chosen and several:
        domains = instance.topology.domains[rng.choice(several)]
        in_use = (d for d in domains if not view.used.isdisjoint(d.nodes))
        roomy = sorted(in_use, key=lambda d: -sum(view.slack[n] for n in d.nodes))
        tried = rng.choice(roomy[:_DOMAINS_TRIED]).nodes if roomy else ()
        chosen = [n for n in tried if n in view.used]
    chosen = rng.sample(chosen, min(len(chosen), size // 2))
    rest = [n for n in view.nodes if n not in chosen]
    r = view.scarce
    rest.sort(key=lambda n: (r is None or not view.free[n][r], rng.random()))
    return (chosen + rest)[:size]


def from_the_start(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes that a goal has emptied or filled, and whole domains where there was room at first.

    All others are to be as in the snapshot: pods that have moved between them are where they were.
    """
    instance, placed = view.instance, view.placement.podsets
    before = View(instance, instance.current)
    new = {spot.node for p in instance.podsets if not p.running for spot in placed[p.index]}
    close = (need.required for needs in instance.needs_of.values() for need in needs)
    level = max((level for level in close if level is not None), default=None)
    domains = () if level is None else instance.topology.domains[level]
    wholes = [domain.nodes for domain in domains] or [(n,) for n in view.nodes]
    r = before.scarce
    free = {n for n in view.nodes if r is None or before.free[n][r]}
    roomy = [nodes for nodes in wholes if not free.isdisjoint(nodes)]
    rng.shuffle(roomy)
    chosen = sorted(before.used - view.used | before.used & instance.drained | new)
    return [*dict.fromkeys((*chosen, *(n for nodes in roomy for n in nodes)))][:size]


def devices_wanted(best: Incumbent) -> int:
    """Devices that new pods, or slots of a goal, take of classes that running pods are on.

    0 if what is open first is none of these, nor who is disturbed for them, or if the question is
    too large to be written down for all nodes.
    """
    instance, tier = best.instance, best.first_open
    if tier is None:
        return 0
    wanted, new = Counter[str](), 0
    if tier.metric is Metric.FRAGMENT_RATE and tier.device_class is not None:
        (lacking,) = measure(instance, instance.current, (tier,))
        wanted[tier.device_class] = lacking - best.floor(best.tiers.index(tier))
    elif tier.metric not in DISTURBING.union(OF_WHO_IS_PLACED):
        return 0
    shared = set[str]()
    for podset in instance.podsets:
        for need in podset.devices:
            if podset.running:
                shared.add(need.device_class)
            else:
                wanted[need.device_class] += podset.count * need.count
                new += 1
    fine = new * len(instance.nodes) <= _MOST_PAIRS
    return sum(wanted[name] for name in shared) if fine else 0


def little_used(view: View, size: int, rng: random.Random) -> frozenset[tuple[int, int]]:
    """Devices, by node and index, of which least is in use in the snapshot, by fewest pods."""
    instance, free = view.instance, freedom_of(view.instance)
    loads = Loads.of(instance, instance.current)
    pods = Counter[tuple[int, int]]()
    stuck = set[tuple[int, int]]()
    for podset in instance.podsets:
        for spot, number in podset.current.items():
            for d in spot.devices:
                pods[spot.node, d] += number
                if not free.moves[podset.index]:
                    stuck.add((spot.node, d))

    def used(n: int, d: int) -> float:
        of = zip(loads.device[n][d], instance.nodes[n].devices[d].capacity, strict=True)
        return max((taken / most for taken, most in of if most), default=1.0)

    order = {
        key: used(*key) + _EACH * number + _BLUR * rng.random()
        for key, number in sorted(pods.items())
        if key not in stuck
    }
    return frozenset(sorted(order, key=order.__getitem__)[:size])


def any_nodes(view: View, size: int, rng: random.Random) -> list[int]:
    """Nodes drawn at random."""
    return rng.sample(list(view.nodes), size)


_FEW = 8
"""Jobs that wait, up to which room for them is looked for as for a goal."""
_DOMAINS_TRIED = 4
"""Domains in use of which one is freed for a goal: those with most room."""
_MOST_PAIRS = 20_000
"""Pod sets with devices that wait, times nodes, up to which all nodes are written down for them."""
_EACH, _BLUR = 0.1, 0.1
"""What each pod on a device counts against how much of it is in use, and chance at most."""

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
