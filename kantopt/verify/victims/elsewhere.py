"""Other places for a few pods of a placement, and who could stay if they went there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.schema.rule_kinds import STATE_RULES, About, rules_about
from kantopt.verify.rules import CHECKS, check
from kantopt.verify.rules.priority import ROOM_RULES, Pods, victim_units
from kantopt.verify.step import Loads, Step

MOST_NODES = 8
"""Nodes with room that are looked at for each pod."""
MOST_TRIED = 32
"""Ways to place some pods that are judged, at most."""
MOST_STEPS = 3
"""Spots that are tried for pods in a region, at most, as a multiple of their number."""
MOST_PODS = 300
"""Pods for which other places are looked for, at most."""
_OF_PLACES = rules_about(About.DOMAINS, About.NEIGHBOURS)
"""Rules that pods which stay where they are may break because others go elsewhere."""


class Elsewhere:
    """Finds other places for pods that arrived, all else being as it is after a step.

    Where some nodes bear fewer pods than after another step, ``fuller`` is what was found for that
    one, and these nodes: only there can be more room.
    """

    def __init__(self, step: Step, fuller: tuple[Elsewhere, Collection[int]] | None = None) -> None:
        self.step = step
        self._fuller = fuller
        self._roomy: dict[tuple[object, ...], tuple[int, ...]] = {}
        """Found out once for all pods that ask the same of a node."""

    def place(
        self, pods: Sequence[tuple[int, Spot]], back: Pods, tried: int = MOST_TRIED
    ) -> Placement | None:
        """Place some pods elsewhere.

        Only some ways are tried, always the same: ``None`` does not say that there is none.

        Parameters
        ----------
        pods
            Pod set and spot of each pod that is to have another place.
        back
            Evicted pods that are to be back where they were. Others that fit back then are put
            back as well, and the whole is judged by all rules. If there are none to be back,
            evictions keep their reasons: the rule of priority is left out.
        tried
            Ways that are judged, at most.
        """
        if not 0 < len(pods) <= MOST_PODS or not all(self.roomy(s) for s, _ in pods):
            return None
        freed = () if self._fuller is None else self._fuller[1]
        ways = _Ways(self.step, pods, back, {s: self.roomy(s) for s, _ in pods}, freed)
        for spots in islice(ways.all(), tried) if ways.roomy() else ():
            placement = ways.judged(spots)
            if placement is not None:
                return placement
        return None

    def roomy(self, s: int) -> tuple[int, ...]:
        """Return the nodes that have room for one more pod of a pod set, as things are."""
        podset = self.step.instance.podsets[s]
        asked = (podset.requests, podset.devices, podset.allowed)
        if asked not in self._roomy:
            nodes: Iterable[int] = range(len(self.step.instance.nodes))
            if self._fuller is not None:
                other, freed = self._fuller
                nodes = sorted({*other.roomy(s), *freed})
            spots = free_spots(self.step.instance, self.step.loads, s, nodes)
            self._roomy[asked] = tuple(spot.node for spot in spots)
        return self._roomy[asked]


def free_spots(instance: Instance, loads: Loads, s: int, nodes: Iterable[int]) -> Iterator[Spot]:
    """Spots with room for one more pod of a pod set beside what there is: on each node one."""
    podset = instance.podsets[s]
    for n in nodes:
        if n not in podset.allowed:
            continue
        node = instance.nodes[n]
        amounts = zip(podset.requests, loads.node[n], node.capacity, strict=True)
        if any(a and c is not None and used + a > c for a, used, c in amounts):
            continue
        devices: list[int] = []
        for need in podset.devices:
            free = [
                d
                for d in node.devices_of(need.device_class)
                if all(
                    not a or used + a <= c
                    for a, used, c in zip(
                        need.request, loads.device[n][d], node.devices[d].capacity, strict=True
                    )
                )
            ]
            if len(free) < need.count:
                break
            devices += free[: need.count]
        else:
            yield Spot(n, tuple(sorted(devices)))


class _Ways:
    """Ways to place some pods elsewhere."""

    def __init__(
        self,
        step: Step,
        pods: Sequence[tuple[int, Spot]],
        back: Pods,
        roomy: dict[int, tuple[int, ...]],
        freed: Collection[int],
    ) -> None:
        self.step, self.back, self._freed = step, back, freed
        self.instance = step.instance
        self.pods = sorted(pods)
        left = {old.node for _, old in pods}
        self._nodes = {s: sorted(left.union(nodes)) for s, nodes in roomy.items()}
        """Nodes that may have room for a pod set: others are full though the pods are gone."""
        leaving = {at: -k for at, k in Counter(self.pods).items()}
        self.base = changed(changed(step.after, leaving), back)
        self._before = changed(step.after, back)
        """Who is back is where it stood, which spread, affinity and cordons never ask about."""
        self._steps = 0
        """Spots that may still be tried in a region."""

    @cached_property
    def loads(self) -> Loads:
        """Loads with the pods gone and the others back, and with those placed so far."""
        return self.step.loads.between(self.step.after, self.base)

    def roomy(self) -> bool:
        """Whether those who are to be back have room without the others."""
        return not self.back or self._room(self.step.after, self.base, ROOM_RULES)

    def _room(self, before: Placement, after: Placement, rules: Iterable[Rule]) -> bool:
        step = Step(self.instance, before, after)
        step.loads = self.step.loads.between(self.step.after, after)
        return not any(
            next(iter(CHECKS[rule](step)), None) for rule in rules if self.instance.on(rule)
        )

    def all(self) -> Iterator[tuple[Spot, ...]]:
        """Spots for the pods in turn, those with required closeness domain by domain."""
        for nodes in self._regions():
            self._steps = MOST_STEPS * len(self.pods)
            yield from self._from(0, nodes)

    def _regions(self) -> Iterator[Container[int]]:
        jobs = {self.instance.podsets[s].job for s, _ in self.pods}
        levels = {
            need.required
            for need in self.instance.topology_needs
            if need.job in jobs and need.required is not None
        }
        for level in sorted(levels):
            for domain in self.instance.topology.domains[level]:
                yield frozenset(domain.nodes)
        if not levels:
            yield range(len(self.instance.nodes))

    def _from(self, i: int, region: Container[int], first: int = 0) -> Iterator[tuple[Spot, ...]]:
        """Spots for the pods from the ``i``-th on; of pods that are alike the later ones go later.

        Otherwise all orders of a gang's pods would be gone through where one of them has no room.
        """
        if i == len(self.pods):
            yield ()
            return
        s, old = self.pods[i]
        alike = i + 1 < len(self.pods) and self.pods[i + 1][0] == s
        tried = 0
        nodes = (n for n in self._nodes[s] if n >= first and n in region)
        for spot in free_spots(self.instance, self.loads, s, nodes):
            if tried == MOST_NODES or self._steps == 0:
                return
            if spot == old:
                continue
            tried += 1
            self._steps -= 1
            self.loads.add(s, spot, 1)
            for rest in self._from(i + 1, region, spot.node if alike else 0):
                yield (spot, *rest)
            self.loads.add(s, spot, -1)

    def judged(self, spots: tuple[Spot, ...]) -> Placement | None:
        """Return the placement with the pods there, if it is legal."""
        arrive = Counter((s, x) for (s, _), x in zip(self.pods, spots, strict=True))
        placement = changed(self.base, arrive)
        if not self._room(self._before, placement, STATE_RULES):
            return None
        if not self.back:  # as many come and go as before: all other rules see no difference
            return None if check(self.instance, placement, _OF_PLACES) else placement
        placement = self._with_more_back(placement)
        faults = check(self.instance, placement)
        return None if any(fault.rule != Rule.REQUIRED for fault in faults) else placement

    def _with_more_back(self, placement: Placement) -> Placement:
        """Put back whoever else went for the same pods, or for others that are gone as well."""
        nodes = {old.node for _, old in self.pods} | {spot.node for _, spot in self.back}
        nodes.update(self._freed)
        step = Step(self.instance, self.step.before, placement)
        units = [
            unit
            for job in sorted(step.changed_jobs, key=lambda job: -job.priority)
            for unit in victim_units(step, job)
            if any(spot.node in nodes for _, spot in unit)
        ]
        for unit in units:
            more = changed(placement, unit)
            while not self._too_many(more, unit) and self._room(placement, more, ROOM_RULES):
                placement = more
                more = changed(placement, unit)
        return placement

    def _too_many(self, placement: Placement, unit: Pods) -> bool:
        """Whether more pods of a unit are where they were than there were."""
        before = self.step.before
        return any(
            placement.podsets[s].get(x, 0) > before.podsets[s].get(x, 0)
            or placement.placed(s) > before.placed(s)
            for s, x in unit
        )


def changed(placement: Placement, pods: Pods) -> Placement:
    """Return a placement with more pods, or with fewer where the number is negative."""
    return placement.plus((s, spot, k) for (s, spot), k in pods.items())
