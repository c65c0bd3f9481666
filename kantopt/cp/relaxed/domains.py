"""The relaxation with the nodes of each topology domain apart: what closeness asks for is exact.

Each class of nodes lies in one domain of every level; nodes that pods may leave are apart as well.
Then a gang that must be in one domain, whole slices in each, and the domains that a gang is spread
over are all sums over classes. Of gangs each is a kind of its own, of single pods all that are
alike are one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExprT

from kantopt.cp.relaxed.blocks import Block, add_rounding
from kantopt.cp.relaxed.kinds import JobKind, PodKind
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.variables import Terms, weighted
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import TopologyNeed
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.closeness import CLOSENESS

MOST_GANGS = 60_000
"""Most pairs of a gang and a domain; beyond, the model would not be solved in time."""

MOST_APART = 50
"""Most nodes with pods that may move for each of them to be a class of its own."""

_ABOUT_GANGS = (Metric.UNPLACED, Metric.WAITING, Metric.FAIR_SHARE, Metric.ALLOCATION, *CLOSENESS)
"""Metrics of who is placed, and of how close."""


def worth_dividing(instance: Instance, tiers: Sequence[Tier]) -> bool:
    """Whether gangs wait and there are domains for them, and a tier is about that."""
    return _pairs(instance) > 0 and any(tier.metric in _ABOUT_GANGS for tier in tiers)


def few_enough(instance: Instance) -> bool:
    """Whether gangs and domains are few enough for the domains to be looked at apart."""
    return _pairs(instance) <= MOST_GANGS


def _pairs(instance: Instance) -> int:
    """Gangs that wait times domains, if there are several."""
    waiting = sum(job.is_gang and bool(instance.pending_of(job.index)) for job in instance.jobs)
    levels = instance.topology.domains
    domains = len(levels[-1]) if levels else 0
    return waiting * domains if domains > 1 else 0


def gang_marks(instance: Instance) -> dict[int, Hashable]:
    """Tell gangs of several pods from each other: those that wait, and those that stay or go."""
    free = freedom_of(instance)
    return {
        job.index: job.index
        for job in instance.jobs
        if job.is_gang
        and any(
            podset.count > 1 and not free.moves[podset.index]
            for podset in (instance.podsets[s] for s in job.podsets)
        )
    }


class GangRelaxation(Relaxation):
    """A relaxation that tells gangs from each other, but merges the nodes of all domains."""

    flags: dict[int, tuple[IntVar, list[tuple[int, list[int]]]]]
    """Booleans by index that are true where any pods of some kinds are in some classes."""

    def _mark(self) -> Mapping[int, Hashable]:
        found = dict(super()._mark())
        for j, mark in gang_marks(self.instance).items():
            found[j] = (found.get(j), mark)
        return found

    def _add_closeness(self) -> None:
        self.flags = {}
        for j, lost in self.victims.items():
            self._go_together(self.kinds.jobs[j], lost)

    def _go_together(self, kind: JobKind, lost: IntVar) -> None:
        """A single job that goes as a whole and cannot move is gone everywhere or nowhere."""
        if len(kind.jobs) > 1 or not self.instance.on(Rule.GANG_VICTIMS):
            return
        for pods in kind.pods:
            if pods.one.running and pods.evictable and not pods.movable:
                for c, here in self.classes.standing(pods).items():
                    self.cp.add(self.at[pods.index][c] == here * (1 - lost))


class DomainRelaxation(GangRelaxation):
    """A relaxation of which each class of nodes lies in one domain of every level."""

    most_counts = 60_000

    @cached_property
    def _movable_on(self) -> frozenset[int]:
        """Nodes with pods that may move: what leaves one for the next of its class has moved."""
        found = frozenset(
            spot.node
            for pods in self.kinds.pods
            if pods.movable
            for s in pods.podsets
            for spot in self.instance.podsets[s].current
        )
        return found if len(found) <= MOST_APART else frozenset()

    @cached_property
    def _levels(self) -> frozenset[int]:
        """Levels that a gang or a tier asks about: nodes are merged over the domains of others."""
        of_tiers = {tier.level for tier in self.close if tier.level is not None}
        return self.instance.close_levels | of_tiers

    def _region(self, n: int) -> Hashable:
        domains = self.instance.topology.domain_of
        path = tuple(domains[level][n] for level in sorted(self._levels))
        return path, n if n in self._movable_on else None

    def _add_closeness(self) -> None:
        super()._add_closeness()
        self._domain = [
            tuple(level[c.nodes[0]] for level in self.instance.topology.domain_of)
            for c in self.classes.classes
        ]
        self._used: dict[tuple[int, tuple[int, ...], int], dict[int, IntVar]] = {}
        self._beyond: dict[tuple[int, tuple[int, ...], int, int], IntVar] = {}
        self._blocks: dict[tuple[int, int], list[Block]] = {}
        self._in_blocks: set[tuple[int, int, int]] = set()
        """Level, domain and kind of the pods of blocks."""
        for j, kind in enumerate(self.kinds.jobs):
            for need in self.needs.get(kind.one.index, ()):
                if any(pods.one.running for i in need.roles for pods in kind.roles[i]):
                    continue  # members that run may stand as they do
                if need.required is not None and self.instance.on(Rule.TOPOLOGY):
                    self._require(j, kind, need, need.required)
                if need.slice_level is not None and self.instance.on(Rule.SLICES):
                    self._slice(kind, need, need.slice_level)

    def _add_block(self, level: int, d: int, block: Block) -> None:
        """Note blocks of a domain, unless their pods are in others there: they come but once."""
        pods = {(level, d, k) for k in block.kinds}
        if pods.isdisjoint(self._in_blocks):
            self._in_blocks |= pods
            self._blocks.setdefault((level, d), []).append(block)

    def add_rounding(self, cp: CpModel) -> None:
        """Add to a copy of the model what stays beside gangs that are whole in domains."""
        domains = {level: self.classes_by_domain(level) for level, _ in self._blocks}
        where = ((domains[level][d], blocks) for (level, d), blocks in self._blocks.items())
        add_rounding(self, cp, where)

    def spread(self, j: int, level: int, roles: tuple[int, ...], fewest: int) -> LinearExprT | None:
        """Return domains of a level that a single gang uses beyond the fewest, at most.

        ``None`` for kinds of several jobs, of which pods cannot be told apart.
        """
        kind = self.kinds.jobs[j]
        if len(kind.jobs) > 1:
            return None
        used = self.touched(j, level, roles)
        if len(used) <= fewest:
            return 0
        key = (j, roles, level, fewest)
        if key not in self._beyond:  # one for all tiers: what is known of one is known of others
            beyond = self.cp.new_int_var(0, len(used) - fewest, f"beyond[{j},{level}]")
            self.cp.add(beyond >= weighted([(flag, 1) for flag in used.values()]) - fewest)
            self._beyond[key] = beyond
        return self._beyond[key]

    def touched(self, j: int, level: int, roles: tuple[int, ...]) -> Mapping[int, IntVar]:
        """Return Booleans of the domains of a level in which a single gang has pods."""
        if (j, roles, level) not in self._used:
            self._used[j, roles, level] = self._domains_used(self.kinds.jobs[j], level, roles)
        return self._used[j, roles, level]

    def _domains_used(self, kind: JobKind, level: int, roles: tuple[int, ...]) -> dict[int, IntVar]:
        used: dict[int, IntVar] = {}
        for d, classes in self.classes_by_domain(level).items():
            if d is None:
                continue
            flag = self.cp.new_bool_var(f"used[{kind.one.index},{level},{d}]")
            here = [pods for i in roles for pods in kind.roles[i] if self._room(pods, classes)]
            for pods in here:
                self.cp.add(self.inside(pods, classes) <= self._room(pods, classes) * flag)
            if here:
                used[d] = flag
                self.flags[flag.index] = (flag, [(pods.index, classes) for pods in here])
        return used

    def _room(self, pods: PodKind, classes: list[int]) -> int:
        """Most pods of a kind in some classes, were they alone there."""
        room = 0
        for c in classes:
            if c in self.at[pods.index]:
                rows = (row for row in self.rows[c] if row.weights.get(pods.index))
                room += min(
                    (row.limit // row.weights[pods.index] for row in rows), default=pods.count
                )
        return min(pods.count, room)

    def classes_by_domain(self, level: int) -> dict[int | None, list[int]]:
        """Classes of nodes in each domain of a level."""
        found: dict[int | None, list[int]] = {}
        for c, path in enumerate(self._domain):
            found.setdefault(path[level], []).append(c)
        return found

    def inside(self, pods: PodKind, classes: list[int]) -> LinearExprT:
        """Pods of a kind in some classes."""
        counts = self.at[pods.index]
        return weighted([(counts[c], 1) for c in classes if c in counts])

    def _require(self, j: int, kind: JobKind, need: TopologyNeed, level: int) -> None:
        """Each job of a kind has its pods in one domain."""
        starts: list[IntVar] = []
        waits = not any(pods.one.running for pods in kind.pods)
        whole = waits and kind.one.is_gang and self.instance.on(Rule.GANG)
        jobs = len(kind.jobs)
        for d, classes in self.classes_by_domain(level).items():
            if d is None:
                for i in need.roles:
                    for pods in kind.roles[i]:
                        self.cp.add(self.inside(pods, classes) == 0)
                continue
            most = jobs
            least = {i: kind.one.needed(kind.one.roles[i]) if whole else 0 for i in need.roles}
            for i in need.roles:
                if least[i]:
                    room = sum(self._room(pods, classes) for pods in kind.roles[i])
                    most = min(most, room // least[i])
            start = self.cp.new_int_var(0, most, f"starts[{kind.one.index},{level},{d}]")
            starts.append(start)
            roles = tuple((tuple(kind.roles[i]), least[i]) for i in need.roles)
            self._add_block(level, d, Block(start, roles))
            for i in need.roles:
                role = kind.one.roles[i]
                for pods in kind.roles[i]:
                    self.cp.add(self.inside(pods, classes) <= role.count * start)
                    if least[i]:
                        self.cp.add(self.inside(pods, classes) >= least[i] * start)
        total = weighted([(start, 1) for start in starts])
        if whole:
            self.cp.add(total == self.satisfied[j])
        else:
            self.cp.add(total <= jobs)

    def _slice(self, kind: JobKind, need: TopologyNeed, level: int) -> None:
        """Each domain has whole slices of the pods."""
        for d, classes in self.classes_by_domain(level).items():
            terms: Terms = []
            room = 0
            for i in need.roles:
                for pods in kind.roles[i]:
                    here = [self.at[pods.index][c] for c in classes if c in self.at[pods.index]]
                    terms += [(var, 1) for var in here]
                    room += self._room(pods, classes) if here else 0
            if not terms:
                continue
            most = 0 if d is None else room // need.slice_size
            slices = self.cp.new_int_var(0, most, f"slices[{kind.one.index},{level},{d}]")
            self.cp.add(weighted(terms) == need.slice_size * slices)
            if d is not None:
                every = tuple(pods for i in need.roles for pods in kind.roles[i])
                self._add_block(level, d, Block(slices, ((every, need.slice_size),)))
