"""What ClusterQueues and Cohorts of Kueue's say: quotas by flavor, and whom jobs may evict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kantopt.formats.notes import Notes
from kantopt.formats.view import View

ANY = 2**31 - 1
"""Priority that none exceeds."""
Limits = tuple[int, int | None, int | None]
"""Nominal quota, borrowing and lending limit in base units; ``None``: no limit."""
Group = Mapping[str, Mapping[str, Limits]]
"""Resources that are given one flavor together: limits by flavor and resource."""
_OWN = ("nominalQuota", "borrowingLimit", "lendingLimit")


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whom a ClusterQueue lets its jobs evict."""

    own: bool = False
    others: bool = False
    borrowing: int | None = None
    """Priority up to which those of others go though its own quota is exceeded; ``None``: none."""
    equal: bool = False
    """Whether newer ones of its own go that are equally important."""
    any_priority: bool = False
    """Whether those of others go however important they are."""
    fair: bool = False
    """Whether shares decide who goes though its own quota is exceeded."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """A ClusterQueue, or what a Cohort owns itself."""

    name: str
    cohort: str
    """The root above all cohorts that it is in."""
    inside: str
    """The cohort that it is in, or that has it."""
    groups: tuple[Group, ...]
    weight: str | int = 1
    preemption: Preemption = Preemption()
    strict: bool = False
    """Whether Kueue starts its jobs in order only."""
    finds: frozenset[bool | None] = frozenset()
    """Whether Kueue itself finds the places of its pods, for flavors that differ in that."""
    bounded: bool = False
    """Whether it may borrow, or lends, only so much of anything: limits that are left out."""

    @property
    def pool(self) -> tuple[str, str]:
        """Who lends to whom."""
        return (self.cohort, "") if self.cohort else ("", self.name)

    @cached_property
    def flavors(self) -> dict[str, dict[str, Limits]]:
        """Limits by resource and flavor; of several it is not known how much of each is used."""
        found: dict[str, dict[str, Limits]] = {}
        for group in self.groups:
            for flavor, resources in group.items():
                for resource, limits in resources.items():
                    found.setdefault(resource, {})[flavor] = limits
        return dict(sorted(found.items()))

    @cached_property
    def total(self) -> dict[str, Limits]:
        """Limits by resource, of all flavors together."""
        return {resource: _added_up(of.values()) for resource, of in self.flavors.items()}

    @cached_property
    def nominal(self) -> dict[str, int]:
        """What it owns by resource."""
        return {resource: own for resource, (own, _, _) in self.total.items()}

    @cached_property
    def most(self) -> dict[str, int]:
        """What it may use at all, where it may borrow only so much."""
        total = self.total.items()
        return {r: own + borrow for r, (own, borrow, _) in total if borrow is not None}

    @cached_property
    def limited(self) -> frozenset[str]:
        """Resources of which it may borrow, or lends, only so much."""
        return frozenset(
            r
            for r, of in self.flavors.items()
            if self.bounded or any(own[1:] != (None, None) for own in of.values())
        )

    def vague(self, resource: str) -> bool:
        """Whether several flavors have a resource."""
        return len(self.flavors.get(resource, ())) > 1


def _added_up(limits: Iterable[Limits]) -> Limits:
    """Return what limits come to; one without limit leaves the sum without limit."""
    nominal, borrow, lend = zip(*limits, strict=True)
    return sum(nominal), _sum(borrow), _sum(lend)


def _sum(parts: Sequence[int | None]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def read_groups(spec: View) -> Iterator[Group]:
    """Yield what a ClusterQueue or a Cohort has of its flavors."""
    for group in spec.list("resourceGroups"):
        found: dict[str, dict[str, Limits]] = {}
        for flavor in group.list("flavors"):
            for item in flavor.list("resources"):
                resource = item.name()
                nominal, borrow, lend = (item.amount(key, resource, up=False) for key in _OWN)
                found.setdefault(flavor.name(), {})[resource] = (nominal or 0, borrow, lend)
        yield found


def read_preemption(queue: View, cohort: str, notes: Notes) -> Preemption:
    """Read whom a ClusterQueue lets its jobs evict; what goes beyond priorities is noted."""
    name, found = queue.at("metadata").name(), queue.at("spec", "preemption")
    own = found.text("withinClusterQueue", "Never")
    others = found.text("reclaimWithinCohort", "Never") if cohort else "Never"
    if others == "Any":
        text = "queues that may reclaim from jobs of any priority; plans evict only less important"
        notes.add(f"{text} ones for them", name)
    if "LowerOrNewerEqualPriority" in (own, others):
        text = "queues that may evict newer jobs of equal priority; plans evict only less important"
        notes.add(f"{text} ones for them", name)
    besides, borrowing = found.at("borrowWithinCohort"), None
    fair = "fairSharing" in queue.at("status")
    if not fair and besides.text("policy", "Never") != "Never":
        most = besides.integer("maxPriorityThreshold")
        borrowing = ANY if most is None else most
    return Preemption(
        own=own != "Never",
        others=others != "Never",
        borrowing=borrowing,
        equal=own == "LowerOrNewerEqualPriority",
        any_priority=others == "Any",
        fair=fair,
    )
