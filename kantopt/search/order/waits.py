"""What units must wait for beside room: neighbours, the other pods of their job, quotas."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kantopt.problem.cluster import Spot
from kantopt.problem.difference import Change, whole_slices
from kantopt.problem.instance import Instance
from kantopt.problem.job import Spread
from kantopt.schema.model import Rule
from kantopt.search.counts.neighbours import Neighbours
from kantopt.search.order.company import Company
from kantopt.search.order.units import Unit, ties
from kantopt.search.presolve import presolved
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use
from kantopt.verify.rules.spread import spread_domains
from kantopt.verify.step import standing_loads


class Near:
    """Affinity, anti-affinity and spread: who may come now, and whom that waits for."""

    def __init__(self, instance: Instance, units: Sequence[Unit]) -> None:
        if instance.affinities:
            # Who finds somebody to be near wherever it goes waits for nobody.
            instance = replace(instance, affinities=presolved(instance).affinities)
        self.instance = instance
        changed = {change.podset for unit in units for change in unit.changes}
        self._neighbours = Neighbours(instance)
        self._concerned = {s for s in changed if self._neighbours.concern(s)}
        self._terms: dict[int, list[int]] = {}
        self._spreads: dict[int, list[int]] = {}
        self._crowded: dict[int, set[str]] = {}
        """By spread constraint the domains in which it could be broken."""
        if self._concerned:
            self._relate(units)
            for s in sorted(self._related()):
                for spot, pods in instance.podsets[s].current.items():
                    self._neighbours.add(s, spot.node, pods, arrival=False)
        self._left: dict[tuple[int, str, str], set[int]] = {}
        """Who left, by anti-affinity term, side of it and domain."""
        self._latest: dict[int, int] = {}
        self._filled: dict[int, set[int]] = {}
        """By spread constraint who came since to domains where it cannot be broken."""
        self._company = Company(instance, units) if instance.on(Rule.AFFINITY) else None

    def _relate(self, units: Sequence[Unit]) -> None:
        if self.instance.on(Rule.ANTI_AFFINITY):
            for t, term in enumerate(self.instance.anti_affinities):
                for s in {term.owner, *term.others} & self._concerned:
                    self._terms.setdefault(s, []).append(t)
        if self.instance.on(Rule.SPREAD):
            skews = _Skews(self.instance, units)
            for t, spread in enumerate(self.instance.spreads):
                crowded = skews.of(spread)
                if spread.owner in self._concerned and crowded:
                    self._crowded[t] = crowded
                    for s in self._concerned.intersection((spread.owner, *spread.counted)):
                        self._spreads.setdefault(s, []).append(t)

    def _related(self) -> set[int]:
        """Pod sets that share a term or a constraint with one that changes."""
        related = self.instance.related
        found = set[int]().union(*(sides for sides in related if sides & self._concerned))
        return {s for s in found if self._neighbours.concern(s)}

    def concerns(self, unit: Unit) -> bool:
        """Whether neighbours matter to a unit."""
        return any(change.podset in self._concerned for change in unit.changes)

    def enter(self, unit: Unit) -> bool:
        """Make the changes of a unit if no neighbour is offended, else leave all as it is."""
        made: list[tuple[int, int, int, bool]] = []
        changes = [change for change in unit.changes if change.podset in self._concerned]
        for change in changes:
            if change.source is not None:
                made.append(self._add(change.podset, change.source.node, -change.pods, False))
        coming = [
            (change.podset, change.target.node)
            for change in changes
            if change.target is not None
            for _ in range(change.pods)
        ]
        while coming:
            rest = []
            for s, n in coming:
                if self.admits(s, n):
                    made.append(self._add(s, n, 1, not self.instance.podsets[s].running))
                else:
                    rest.append((s, n))  # it may have to be near one that comes with it
            if len(rest) == len(coming):
                for s, n, pods, arrival in reversed(made):
                    self._add(s, n, -pods, arrival)
                return False
            coming = rest
        return True

    def shift(self, changes: Iterable[Change], sign: int) -> None:
        """Make changes, or with ``sign`` -1 take them back, whomever that offends."""
        for change in changes:
            if change.podset in self._concerned:
                new = not self.instance.podsets[change.podset].running
                if change.source is not None:
                    self._add(change.podset, change.source.node, -sign * change.pods, False)
                if change.target is not None:
                    self._add(change.podset, change.target.node, sign * change.pods, new)

    def _add(self, s: int, n: int, pods: int, arrival: bool) -> tuple[int, int, int, bool]:
        self._neighbours.add(s, n, pods, arrival=arrival)
        return s, n, pods, arrival

    def admits(self, s: int, n: int) -> bool:
        """Whether one more pod on a node offends nobody."""
        return s not in self._concerned or self._neighbours.bear(s, n)

    def waits(self, unit: Unit, v: int) -> set[int]:
        """Return whom a unit, number ``v`` to be done, waits for, and note it as done."""
        found: set[int] = set()
        for change in unit.changes:
            for t, domain in self._domains(change.podset, change.target):
                for side in self._sides(t, change.podset):
                    other = "owner" if side == "others" else "others"
                    found |= self._left.get((t, other, domain), set())
        for change in unit.changes:
            for t, domain in self._domains(change.podset, change.source):
                for side in self._sides(t, change.podset):
                    self._left.setdefault((t, side, domain), set()).add(v)
        found |= self._spread_waits(unit, v)
        if self._company is not None:
            found |= self._company.waits(unit, v)
        return found - {v}

    def _spread_waits(self, unit: Unit, v: int) -> set[int]:
        """Return whom a unit waits for where pods are spread.

        Who only comes to domains that have room for all who ever come there waits for nobody, and
        those who come after such a one may need it.
        """
        found: set[int] = set()
        spreads: dict[int, bool] = {}
        for change in unit.changes:
            for t in self._spreads.get(change.podset, ()):
                spreads[t] = spreads.get(t, True) and self._fills(t, change)
        for t, fills in spreads.items():
            if fills:
                self._filled.setdefault(t, set()).add(v)
                continue
            found |= {self._latest[t]} if t in self._latest else set()
            found |= self._filled.pop(t, set())
            self._latest[t] = v
        return found

    def _fills(self, t: int, change: Change) -> bool:
        """Whether pods only come, to a domain where a constraint cannot be broken."""
        key = self.instance.spreads[t].key
        if change.source is not None or change.target is None:
            return False
        return self.instance.label_domain(change.target.node, key) not in self._crowded[t]

    def _domains(self, s: int, spot: Spot | None) -> Iterator[tuple[int, str]]:
        """Anti-affinity terms that look at pods of ``s``, with the domain that a spot is in."""
        if spot is not None:
            for t in self._terms.get(s, ()):
                key = self.instance.anti_affinities[t].key
                domain = self.instance.label_domain(spot.node, key)
                if domain is not None:
                    yield t, domain

    def _sides(self, t: int, s: int) -> Iterator[str]:
        """On which sides of a term pods of ``s`` are."""
        term = self.instance.anti_affinities[t]
        if s == term.owner:
            yield "owner"
        if s in term.others:
            yield "others"


class _Skews:
    """Domains where some order of units could break a spread constraint.

    Each pod set of a thousand may have a constraint of its own: what they count alike is counted
    once, and only of those whose pods come somewhere.
    """

    def __init__(self, instance: Instance, units: Sequence[Unit]) -> None:
        self._instance = instance
        self._changes = [change for unit in units for change in unit.changes]
        self._targets: dict[int, set[int]] = {}
        for change in self._changes:
            if change.target is not None:
                self._targets.setdefault(change.podset, set()).add(change.target.node)
        self._counts: dict[Hashable, tuple[Mapping[str, int], int]] = {}

    def of(self, spread: Spread) -> set[str]:
        """Return the domains of a constraint; without any, nobody waits for it."""
        targets = self._targets.get(spread.owner)
        if not targets:
            return set()
        alike = spread.key, spread.counted, spread.over
        if alike not in self._counts:
            self._counts[alike] = self._counted(spread)
        most, least = self._counts[alike]
        floor = least if len(most) >= spread.min_domains else 0
        domains = {self._instance.label_domain(n, spread.key) for n in targets}
        known = {d for d in domains if d is not None and d in most}
        return {d for d in known if most[d] - floor > spread.max_skew}

    def _counted(self, spread: Spread) -> tuple[Mapping[str, int], int]:
        """Return the most pods that each domain could have, and the fewest of the emptiest."""
        key, over, counted = spread.key, spread.over, set(spread.counted)
        most = dict.fromkeys(spread_domains(self._instance, spread), 0)
        for s in counted:
            for spot, pods in self._instance.podsets[s].current.items():
                domain = self._instance.label_domain(spot.node, key)
                if domain is not None and spot.node in over:
                    most[domain] += pods
        least = dict(most)
        for change in self._changes:
            if change.podset in counted:
                for place, sums, pods in (
                    (change.source, least, -change.pods),
                    (change.target, most, change.pods),
                ):
                    domain = place and self._instance.label_domain(place.node, key)
                    if place is not None and domain is not None and place.node in over:
                        sums[domain] += pods
        return most, min(least.values(), default=0)


Group = tuple[str, int]
"""Pods that units may change only one after the other: ``("job", j)``, or ``("need", i)``."""


def groups_of(instance: Instance, units: Sequence[Unit]) -> dict[Unit, set[Group]]:
    """Groups that several units change, in number or in closeness, by unit."""
    by_group: dict[Group, list[Unit]] = {}
    for unit in units:
        found: dict[Group, None] = {}
        tied = {need.index: None for c in unit.changes for need in ties(instance, c)}
        if tied and not whole_slices(instance, unit.changes):
            found.update(dict.fromkeys(("need", i) for i in tied))
        if not unit.moves:
            for j in sorted({instance.podsets[change.podset].job for change in unit.changes}):
                if _counts(instance, j):
                    found["job", j] = None
        for group in found:
            by_group.setdefault(group, []).append(unit)
    groups: dict[Unit, set[Group]] = {}
    for group, members in by_group.items():
        if len(members) > 1:
            for unit in members:
                groups.setdefault(unit, set()).add(group)
    return groups


def _counts(instance: Instance, j: int) -> bool:
    """Whether it matters which of a job's pods run."""
    job = instance.jobs[j]
    both = any(role.running is not None and role.pending is not None for role in job.roles)
    return instance.on(Rule.GANG) and (job.is_gang or both)


Scarce = Mapping[int, tuple[str, frozenset[int]]]
"""By queue whose quota it shares, and the resources of which there is not enough for all."""


def scarce_quotas(instance: Instance, units: Sequence[Unit]) -> Scarce:
    """Queues whose binds wait for evictions of their cohort, or their own, and of what.

    None if there is quota enough for all, whether or not anybody is evicted.
    """
    if not instance.on(Rule.QUOTA):
        return {}
    usage = [list(used) for used in standing_loads(instance).queue]
    for change in (change for unit in units for change in unit.changes if change.kind == "bind"):
        queue = instance.job_of(change.podset).queue
        if queue is not None:
            for r, amount in enumerate(instance.podsets[change.podset].demand):
                usage[queue][r] += change.pods * amount
    scarce: dict[str, set[int]] = {}
    for item in instance.queues:
        for quota in item.quotas:
            limit = queue_limit(item, quota)
            if limit is not None and usage[item.index][quota.resource] > limit:
                scarce.setdefault(_group(instance, item.index), set()).add(quota.resource)
    for (cohort, r), members in cohorts(instance).items():
        if shared_use(members, usage) > shared_limit(members):
            scarce.setdefault(f"cohort {cohort}", set()).add(r)
    groups = {item.index: _group(instance, item.index) for item in instance.queues}
    return {q: (group, frozenset(scarce[group])) for q, group in groups.items() if group in scarce}


def _group(instance: Instance, q: int) -> str:
    queue = instance.queues[q]
    return f"cohort {queue.cohort}" if queue.cohort else f"queue {queue.name}"


def scarce_in(
    instance: Instance, scarce: Scarce, changes: Iterable[Change], kind: str
) -> set[tuple[str, int]]:
    """Of what that is scarce pods take quota that are bound, or leave some that are evicted."""
    found = set()
    for change in changes:
        queue = instance.job_of(change.podset).queue
        if change.kind == kind and queue is not None and queue in scarce:
            group, resources = scarce[queue]
            demand = instance.podsets[change.podset].demand
            found |= {(group, r) for r in resources if demand[r]}
    return found
