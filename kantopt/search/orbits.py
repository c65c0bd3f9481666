"""Orbits: of nodes and domains that are alike, as many as a plan can use (isomorphism pruning).

Where nobody leaves a place, what arrives on a node could as well arrive on one that is alike, and
what arrives in a domain in one whose nodes are alike: no rule or metric tells. So of each orbit no
more are needed than pods arrive (Margot 2002). Which domains are alike their codes tell, from the
nodes up (isomorphic trees; Aho, Hopcroft and Ullman 1974).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence

from kantopt.problem.cluster import Amounts, Node
from kantopt.problem.counted import counted_nodes
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed
from kantopt.problem.node_room import node_room
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.step import left_of, standing_loads


def representatives(
    instance: Instance, tiers: Sequence[Tier], first: Collection[int]
) -> frozenset[int]:
    """Return nodes such that some best plan has pods arrive on these alone.

    Parameters
    ----------
    instance
        A question in which no running pod can be moved or evicted.
    tiers
        What is minimised.
    first
        Nodes to take before others that are alike: those that a placement uses are all taken.
    """
    nodes = _Nodes(instance, tiers)
    return frozenset(_Orbits(instance, nodes, frozenset(first)).chosen())


_Asking = tuple[Amounts, tuple[DeviceNeed, ...], frozenset[int]]
"""What a pod asks for, of devices as well, and the nodes that admit it."""


class _Nodes:
    """What tells nodes apart, as one number each, and how many of a kind a plan can use."""

    def __init__(self, instance: Instance, tiers: Sequence[Tier]) -> None:
        self._instance = instance
        freedom = freedom_of(instance)
        podsets = instance.podsets
        self._arriving = [podset for podset in podsets if freedom.binds[podset.index]]
        jobs = {podset.job for podset in self._arriving}
        self._members = [podset for podset in podsets if podset.job in jobs]
        gangs = (instance.jobs[j] for j in jobs if instance.jobs[j].is_gang)
        sizes = (job.count for job in gangs)
        self.least = max((size for size in sizes if size > 1), default=0)
        """Nodes of a kind that the fewest which could hold a gang may be of, cluster empty."""
        self._pods = Counter[_Asking]()
        """Pods of each kind that could arrive."""
        for podset in self._arriving:
            self._pods[podset.requests, podset.devices, podset.allowed] += podset.count
        self._sets = list({id(p.allowed): p.allowed for p in self._members}.values())
        asked = {(tier.selector, tier.offers) for tier in tiers}
        self._sets += [counted_nodes(instance, *each) for each in sorted(asked)]
        self._sets.append(instance.zone_nodes)
        self._domains_count = any(tier.metric is Metric.DOMAINS_IN_USE for tier in tiers)
        self._keys = _telling_keys(instance)
        told = instance.named.union(podset.index for podset in self._members)
        self._held: list[list[Hashable]] = [[] for _ in instance.nodes]
        """Pods on each node that others look at, or that belong to a job which grows."""
        self._gpus = [0] * len(instance.nodes)
        self._in_use = [False] * len(instance.nodes)
        for podset in podsets:
            for spot, pods in podset.current.items():
                if podset.index in told:
                    self._held[spot.node].append((podset.index, spot.devices, pods))
                self._gpus[spot.node] += pods * podset.gpu_milli
                self._in_use[spot.node] |= not podset.daemon
        self._standing = standing_loads(instance)
        self._room: dict[Hashable, list[_Asking]] = {}
        self._fitting = [self._fit(n) for n in range(len(instance.nodes))]
        """Kinds of pods of which one could arrive on each node, by room alone."""
        numbers: dict[Hashable, int] = {}
        self.colour = [
            numbers.setdefault(self._tells(n), len(numbers)) for n in range(len(instance.nodes))
        ]

    def _tells(self, n: int) -> Hashable:
        node = self._instance.nodes[n]
        always = (
            tuple(n in members for members in self._sets),
            tuple(self._value(n, key, alone) for key, alone in self._keys),
            tuple(self._held[n]),
            self._domains_count and self._in_use[n],
        )
        if not self._fitting[n]:
            return always
        return (
            *always,
            (node.capacity, node.devices),
            self._load(n),
            (self._gpus[n], self._in_use[n]),
            (node.price, node.idle_power, node.power_per_gpu),
            tuple(p.losses.get(n, 0) for p in self._arriving if p.losses),
            tuple(p.wanted.get(n, 0) for p in self._arriving if p.wanted),
        )

    def _value(self, n: int, key: str, alone: bool) -> Hashable:
        value = self._instance.label_domain(n, key)
        return value is not None if alone else value

    def _load(self, n: int) -> tuple[Amounts, tuple[Amounts, ...]]:
        return tuple(self._standing.node[n]), tuple(map(tuple, self._standing.device[n]))

    def most(self, nodes: Iterable[int]) -> int:
        """Return how many groups of nodes like these a plan can use, or can hold one gang."""
        fitting = frozenset[_Asking]().union(*(self._fitting[n] for n in nodes))
        return max(self.least, sum(self._pods[kind] for kind in fitting))

    def _fit(self, n: int) -> frozenset[_Asking]:
        node, load = self._instance.nodes[n], self._load(n)
        state = (node.capacity, node.devices, load)
        if state not in self._room:
            self._room[state] = self._with_room(left_of(node, self._standing, self._standing))
        if not self._instance.on(Rule.ELIGIBILITY):
            return frozenset(self._room[state])
        return frozenset(kind for kind in self._room[state] if n in kind[2])

    def _with_room(self, free: Node) -> list[_Asking]:
        """Return the kinds of pods of which a node with so much free takes one."""
        on_devices, capacity = self._instance.on(Rule.DEVICES), self._instance.on(Rule.CAPACITY)
        return [
            (requests, devices, allowed)
            for requests, devices, allowed in self._pods
            if node_room(free, requests, devices if on_devices else (), 1, capacity=capacity)
        ]


def _telling_keys(instance: Instance) -> list[tuple[str, bool]]:
    """Label keys that rules look at, and whether no two nodes share a value.

    Where the domains of a level are those of the key, which of them a node is in tells nothing.
    """
    keys = {term.key for term in instance.anti_affinities}
    keys |= {spread.key for spread in instance.spreads}
    keys |= {wish.key for wish in instance.wishes} | {even.key for even in instance.evens}
    keys |= {key for near in instance.affinities for key in near.keys}
    found = []
    for key in sorted(keys):
        values = [node.labels[key] for node in instance.nodes if key in node.labels]
        alone = len(set(values)) == len(values)
        found.append((key, alone or _is_level(instance, key)))
    return found


def _is_level(instance: Instance, key: str) -> bool:
    topology = instance.topology
    if key not in topology.labels:
        return False
    domain_of = topology.domain_of[topology.level(key)]
    pairs = {(node.labels.get(key), domain_of[node.index]) for node in instance.nodes}
    return len({value for value, _ in pairs}) == len(pairs) == len({d for _, d in pairs})


Code = tuple[int, int]
"""A number of what is alike, apart for nodes (0) and domains (1)."""


class _Orbits:
    """Domains as trees with nodes as leaves, and of those that are alike the first few."""

    def __init__(self, instance: Instance, nodes: _Nodes, first: frozenset[int]) -> None:
        self._domain_of = instance.topology.domain_of
        self._nodes, self._first = nodes, first
        self._numbers: dict[Hashable, int] = {}
        self._everything = range(len(instance.nodes))

    def chosen(self) -> list[int]:
        """Return the nodes that are taken."""
        return list(self._chosen(self._everything, 0))

    def _children(self, nodes: Iterable[int], level: int) -> list[tuple[int, list[int]]]:
        """Return the domains and single nodes in a domain, each as a level and its nodes."""
        domains: dict[int, list[int]] = {}
        single = []
        for n in nodes:
            d = self._domain_of[level][n] if level < len(self._domain_of) else None
            if d is None:
                single.append((level, [n]))
            else:
                domains.setdefault(d, []).append(n)
        return single + [(level + 1, members) for members in domains.values()]

    def _code(self, nodes: Sequence[int], level: int, parent: int) -> Code:
        """What a child of a domain is: alike are those with the same code."""
        if level == parent:
            return 0, self._nodes.colour[nodes[0]]
        codes = Counter(self._code(each, at, level) for at, each in self._children(nodes, level))
        key = (level, frozenset(codes.items()))
        return 1, self._numbers.setdefault(key, len(self._numbers))

    def _chosen(self, nodes: Iterable[int], level: int) -> Iterable[int]:
        alike: dict[Code, list[tuple[int, list[int]]]] = {}
        for at, members in self._children(nodes, level):
            alike.setdefault(self._code(members, at, level), []).append((at, members))
        for group in alike.values():
            group.sort(key=lambda child: self._first.isdisjoint(child[1]))
            for at, members in group[: self._nodes.most(group[0][1])]:
                if at == level:
                    yield from members
                else:
                    yield from self._chosen(members, at)
