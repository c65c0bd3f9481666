"""Nodes counted together, domain by domain or each by itself: what they offer and may hold.

Of each region one resource is looked at, in steps: pods of sizes ``a`` on nodes of sizes ``b``
satisfy ``sum of a // t <= sum of b // t`` (as for :mod:`kantopt.verify.witness.capacity`). Of each
group a region holds some number of pods: as many as rules on gangs, domains and slices leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kantopt.problem.instance import Instance
from kantopt.problem.job import TopologyNeed
from kantopt.problem.node_room import node_room
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.fewest import fewest_of_level
from kantopt.verify.step import Loads
from kantopt.verify.witness.groups import PriceGroup, by_job, job_and_pods
from kantopt.verify.witness.rows import PriceRows, held

NODES = "nodes"
"""Name of the level at which each node is a region."""
MOST_UNITS = 4096
"""Most steps of room that a region may have."""


@dataclass(frozen=True, slots=True)
class View:
    """By what regions are told apart, and by what their room is measured."""

    level: str
    """A topology level, or :data:`NODES`."""
    resource: str
    step: int


@dataclass(frozen=True, slots=True)
class Choice:
    """How many pods of a group, by index, a region may hold, in ascending order."""

    group: int
    home: int
    pods: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Region:
    """A region: its room in steps, and the groups of which it could hold pods."""

    room: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """A gang that counts for how many regions it uses beyond the fewest; groups by index."""

    tier: Tier
    job: int
    fewest: int
    groups: tuple[int, ...]


def region_level(instance: Instance, tier: Tier) -> str | None:
    """Return the level whose regions a tier counts, by gang or by need; ``None`` if it does not."""
    if tier.metric is Metric.EXCESS_NODES:
        return NODES
    if tier.metric is Metric.EXCESS_GROUPS and tier.level is not None:
        return instance.topology.levels[tier.level]
    if tier.metric is Metric.DOMAINS_CROSSED:
        preferred = [need.preferred for need in instance.topology_needs]
        finest = max((level for level in preferred if level is not None), default=None)
        return None if finest is None else instance.topology.levels[finest]
    return None


def spreads_of(
    instance: Instance, tier: Tier, groups: Sequence[PriceGroup], level: str
) -> tuple[Spread, ...]:
    """Return the gangs that a tier counts for the regions of a level that they use."""
    of_job, found = by_job(instance, groups), []
    if tier.metric is Metric.DOMAINS_CROSSED:
        for need in instance.topology_needs:
            if need.preferred is None or instance.topology.levels[need.preferred] != level:
                continue
            concerned = tuple(
                i
                for i in of_job.get(need.job, ())
                if instance.podsets[groups[i].podsets[0]].role in need.roles
            )
            fewest = fewest_of_level(instance, need.job, need.preferred, need.roles)
            found.append(Spread(tier, need.job, fewest, concerned))
    elif tier.metric in (Metric.EXCESS_GROUPS, Metric.EXCESS_NODES):
        if region_level(instance, tier) != level:
            return ()
        for j, members in of_job.items():
            job = instance.jobs[j]
            if job.is_gang and (
                sum(groups[i].count for i in members) > 1 or tier.metric is Metric.EXCESS_GROUPS
            ):
                fewest = fewest_of_level(instance, j, tier.level)
                found.append(Spread(tier, j, fewest, tuple(members)))
    return tuple(found)


def regions_of(rows: PriceRows, view: View) -> tuple[Region, ...]:
    """Return the regions of a view.

    Raises
    ------
    ValueError
        If there is no such level or resource, it has no limit somewhere, or there are too many
        steps.
    """
    instance = rows.merged.instance
    if view.resource not in instance.resources or view.step < 1:
        raise ValueError(f"{view.resource} by {view.step} is no measure of room")
    r = instance.resources.index(view.resource)
    limits = [node.capacity[r] for node in instance.nodes]
    if not instance.on(Rule.CAPACITY) or any(limit is None for limit in limits):
        raise ValueError(f"{view.resource} is not limited on all nodes")
    members = _members(instance, view.level)
    standing = Loads.of(instance, instance.current).node
    maker = _Choices(rows, r, view)
    regions = []
    for nodes in members:
        room = sum(max(limits[n] or 0, standing[n][r]) // view.step for n in nodes)
        if room > MOST_UNITS:
            raise ValueError(f"{view.resource} by {view.step}: too many steps of room")
        regions.append(Region(room, maker.choices(nodes)))
    return tuple(regions)


def _members(instance: Instance, level: str) -> list[list[int]]:
    """Nodes of each region; those in no domain make one more."""
    if level == NODES:
        return [[node.index] for node in instance.nodes]
    if level not in instance.topology.levels:
        raise ValueError(f"{level} is no level of the topology")
    domain_of = instance.topology.domain_of[instance.topology.levels.index(level)]
    found: dict[int | None, list[int]] = {}
    for n, domain in enumerate(domain_of):
        found.setdefault(domain, []).append(n)
    return list(found.values())


class _Choices:
    """Works out how many pods of each group a region may hold."""

    def __init__(self, rows: PriceRows, r: int, view: View) -> None:
        self._rows = rows
        self._instance = instance = rows.merged.instance
        self._sizes = [
            instance.podsets[group.podsets[0]].requests[r] // view.step for group in rows.groups
        ]
        self._rooms: dict[object, int] = {}
        self._stays = [not g.leaves or held(rows, i) for i, g in enumerate(rows.groups)]
        self._whole = [self._goes_whole(group) for group in rows.groups]
        levels = instance.topology.levels
        depth = len(levels) if view.level == NODES else levels.index(view.level)
        needs = instance.needs_of
        self._least = [1] * len(rows.groups)
        self._by = [1] * len(rows.groups)
        for i, group in enumerate(rows.groups):
            job, first = job_and_pods(instance, group)
            for need in needs.get(job.index, ()):
                if first.role in need.roles:
                    self._restrict(i, need, depth)
        self._everywhere = not instance.on(Rule.ELIGIBILITY)

    def _goes_whole(self, group: PriceGroup) -> bool:
        """Whether of pods that cannot move either all stay or none."""
        instance = self._instance
        job, first = job_and_pods(instance, group)
        if not first.running or group.arriving:
            return False
        if job.all_victims and instance.on(Rule.GANG_VICTIMS):
            return True
        return job.is_gang and instance.on(Rule.GANG) and group.need == group.count

    def _restrict(self, i: int, need: TopologyNeed, depth: int) -> None:
        """Take into account that new pods share a domain, or come in slices."""
        instance, group = self._instance, self._rows.groups[i]
        job = instance.jobs[need.job]
        if any(job.roles[role].running is not None for role in need.roles):
            return  # members that run may stand as they do
        within = need.required is not None and need.required >= depth
        if within and instance.on(Rule.TOPOLOGY) and job.is_gang and instance.on(Rule.GANG):
            self._least[i] = max(1, group.need)
        sliced = need.slice_level is not None and need.slice_level >= depth
        if sliced and instance.on(Rule.SLICES) and len(need.roles) == 1 and group.whole:
            self._by[i] = need.slice_size

    def choices(self, nodes: Sequence[int]) -> tuple[Choice, ...]:
        """Return what some nodes may hold of each group of which they may hold any."""
        found = []
        for i, group in enumerate(self._rows.groups):
            home = sum(group.home.get(n, 0) for n in nodes) if group.home else 0
            most = home
            if group.arriving:
                most = min(group.count, home + self._room(i, nodes))
            if most:
                pods = self._numbers(i, home, most)
                found.append(Choice(i, home, pods, self._sizes[i]))
        return tuple(found)

    def _numbers(self, i: int, home: int, most: int) -> tuple[int, ...]:
        if self._stays[i]:
            return tuple(range(home, most + 1))
        if self._whole[i]:
            return (0, home)
        by = self._by[i]
        least = -(-self._least[i] // by) * by
        return (0, *range(least, most + 1, by))

    def _room(self, i: int, nodes: Sequence[int]) -> int:
        """Most pods of a group that could arrive on some nodes, were they empty."""
        instance, group = self._instance, self._rows.groups[i]
        podset, room = instance.podsets[group.podsets[0]], 0
        needs = podset.devices if instance.on(Rule.DEVICES) else ()
        for n in nodes:
            if not self._everywhere and not any(
                n in instance.podsets[s].allowed for s in group.podsets
            ):
                continue
            node = instance.nodes[n]
            key = (podset.requests, podset.devices, node.capacity, node.devices)
            if key not in self._rooms:
                self._rooms[key] = node_room(node, podset.requests, needs, 10**9)
            room += self._rooms[key]
            if room >= group.count:
                return group.count
        return room
