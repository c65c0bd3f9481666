"""Affinity and spread, counted pod by pod: which nodes a pod's neighbours leave to it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

import numpy as np

from kantopt.problem.affinities import CLUSTER
from kantopt.problem.instance import Instance
from kantopt.problem.job import Affinity, AntiAffinity, Spread
from kantopt.problem.kept import kept_with_instance
from kantopt.schema.model import Rule
from kantopt.search.counts.label_domains import LabelDomains
from kantopt.search.counts.spread_counts import SpreadCounts
from kantopt.search.shapes import Ints, Mask, mask_of

REFUSALS = {
    "claim": Rule.ANTI_AFFINITY,
    Rule.SPREAD.value: Rule.SPREAD,
    Rule.AFFINITY.value: Rule.AFFINITY,
    Rule.ANTI_AFFINITY.value: Rule.ANTI_AFFINITY,
}
"""What neighbours close nodes by, in the order of kube-scheduler's filters, and the rule of each;
``claim`` is one that only one pod may use."""


class _Term:
    """Anti-affinity of all who keep away from the same pods, with both sides per domain."""

    rule = Rule.ANTI_AFFINITY
    index: int

    def __init__(self, term: AntiAffinity, domains: LabelDomains) -> None:
        self.owners: set[int] = set()
        self.others = frozenset(term.others)
        self.everywhere = term.key == CLUSTER
        self.inside = term.owner in self.others
        """Whether owners are among the others, so that a domain holds one of theirs."""
        self.domains = domains
        self.owners_in: dict[int, int] = {}
        self.others_in: dict[int, int] = {}
        self.arrived_in: dict[int, int] = {}

    def sides(self, s: int) -> tuple[bool, bool]:
        """Whether a pod set asks, and whether it is looked at."""
        return s in self.owners, s in self.others

    def add(self, s: int, n: int, pods: int, *, arrival: bool) -> None:
        domain = int(self.domains.of[n])
        if domain < 0:
            return
        if s in self.owners:
            self.owners_in[domain] = self.owners_in.get(domain, 0) + pods
        if s in self.others:
            self.others_in[domain] = self.others_in.get(domain, 0) + pods
        if arrival:
            self.arrived_in[domain] = self.arrived_in.get(domain, 0) + pods

    def admits(self, s: int) -> Mask | None:
        """Nodes on which one more pod of ``s`` keeps the terms; ``None`` if that is all."""
        closed = set()
        if s in self.owners:
            closed |= {d for d, pods in self.others_in.items() if pods}
        if s in self.others:
            closed |= {d for d, pods in self.owners_in.items() if pods}
        return ~self.domains.nodes_in(closed) if closed else None

    def holds(self) -> bool:
        """Whether no pods have arrived where others keep away from them, or they from others."""
        return not any(
            pods and self.owners_in.get(d, 0) and self.others_in.get(d, 0) > self.inside
            for d, pods in self.arrived_in.items()
        )


class _Near:
    """Affinities to the same pods, with these, and with those that came for it, per domain."""

    rule = Rule.AFFINITY
    index: int

    def __init__(
        self,
        near: Affinity,
        domains: Sequence[LabelDomains],
        homes: Mapping[int, Mask],
        live: Collection[int],
    ) -> None:
        self.owners: set[int] = set()
        self.anchors = frozenset(near.anchors)
        self.homes = homes
        """Where those run of which one at most moves when one of them is the first."""
        self.live = live
        """Those of them that are where they were until they have come."""
        self.moved = 0
        """How many of those have moved."""
        self.founds = near.founds
        self.domains = domains
        self.whole: Mask = np.all([each.of >= 0 for each in domains], axis=0)
        """Nodes that have all labels."""
        self.keyed: Mask = np.any([each.of >= 0 for each in domains], axis=0)
        """Nodes that have any: pods elsewhere do not count."""
        self.there = self._nobody()
        """Pods to be near, by key and domain; the last entry is for nodes without the label."""
        self.arrived: dict[int, list[Ints]] = {}
        """Pods of each owner that arrived, in the same way."""
        self.counted = 0
        """Pods to be near on nodes that have any label."""

    def _nobody(self) -> list[Ints]:
        return [np.zeros(each.size + 1, dtype=np.int64) for each in self.domains]

    def sides(self, s: int) -> tuple[bool, bool]:
        return s in self.owners, s in self.anchors

    def add(self, s: int, n: int, pods: int, *, arrival: bool) -> None:
        if s in self.anchors:
            self.counted += pods if self.keyed[n] else 0
            self._count(self.there, n, pods)
            self.moved += pods if arrival and s in self.homes else 0
        if arrival and s in self.owners:
            if s not in self.arrived:
                self.arrived[s] = self._nobody()
            self._count(self.arrived[s], n, pods)

    def _count(self, rows: list[Ints], n: int, pods: int) -> None:
        for domains, row in zip(self.domains, rows, strict=True):
            row[domains.of[n]] += pods

    def seeks_its_like(self, s: int) -> bool:
        """Whether pods of ``s`` are to be near pods of which it would be the first."""
        alone = self.counted == 0 and self.founds
        return alone and s in self.owners and s not in self.live

    def admits(self, s: int) -> Mask | None:
        """Nodes on which one more pod of ``s`` keeps the affinity; ``None`` if that is all."""
        if self.seeks_its_like(s):
            return self.whole
        founded = any(map(self._founded, self.arrived))
        if not founded:
            return self._near() if s in self.owners else None
        # One of an owner's was the first: the others must not come elsewhere.
        near = self._near()
        if s in self.homes and (self.moved or s in self.live):
            return near & self.homes[s]
        return near if s in self.owners else near | ~self.keyed

    def _near(self) -> Mask:
        """Nodes all of whose domains have a pod to be near."""
        found = self.whole.copy()
        for domains, there in zip(self.domains, self.there, strict=True):
            found &= there[domains.of] > 0
        return found

    def _founded(self, owner: int) -> bool:
        """Whether pods of an owner arrived that are near nobody but each other."""
        own = owner in self.anchors
        return any(
            bool(((arrived > 0) & (there == own * arrived))[:-1].any())
            for arrived, there in zip(self.arrived[owner], self.there, strict=True)
        )

    def holds(self) -> bool:
        """Whether all that arrived are near a pod, or all in the domain of the first one."""
        if not any(map(self._founded, self.arrived)):
            return True
        alone = all(int((there[:-1] > 0).sum()) == 1 for there in self.there)
        return alone and self.founds and self.moved <= 1


_Counts = _Term | SpreadCounts | _Near
"""What counts pods by node and says with ``admits`` which nodes are open to one more."""


def _named(each: _Counts) -> str:
    """What it is called in ``REFUSALS``."""
    return "claim" if isinstance(each, _Term) and each.everywhere else each.rule.value


@kept_with_instance(most=64)
def _eligible(instance: Instance, over: frozenset[int]) -> Mask:
    """Nodes that a constraint looks at; thousands look at the same."""
    return mask_of(len(instance.nodes), over)


class Neighbours:
    """Pods counted by the affinities and spread constraints that concern them.

    Parameters
    ----------
    without
        Terms of anti-affinity that are counted elsewhere.
    """

    def __init__(self, instance: Instance, without: Collection[AntiAffinity] = ()) -> None:
        self._instance = instance
        self._keys: dict[str, LabelDomains] = {}
        self._by_podset: dict[int, list[_Counts]] = {}
        self._taken = 0
        if instance.on(Rule.ANTI_AFFINITY):
            self._take_terms(term for term in instance.anti_affinities if term not in without)
        if instance.on(Rule.SPREAD):
            self._take_spreads(instance.spreads)
        if instance.on(Rule.AFFINITY):
            self._take_affinities(instance.affinities)

    def _take_terms(self, terms: Iterable[AntiAffinity]) -> None:
        """Count once for all owners that keep away from the same pods."""
        found: dict[Hashable, _Term] = {}
        for item in terms:
            same = item.key, item.others, item.owner in item.others
            if (term := found.get(same)) is None:  # looked up once: it may name thousands
                term = found[same] = _Term(item, self._domains(item.key))
            term.owners.add(item.owner)
        for term in found.values():
            self._take(term, term.owners | term.others)

    def _take_spreads(self, spreads: Iterable[Spread]) -> None:
        """Count once for all owners that ask for the same."""
        found: dict[Hashable, SpreadCounts] = {}
        for item in spreads:
            same = item.key, item.max_skew, item.min_domains, item.counted, item.over
            if (spread := found.get(same)) is None:
                eligible = _eligible(self._instance, item.over)
                spread = found[same] = SpreadCounts(item, self._domains(item.key), eligible)
            spread.owners.add(item.owner)
        for spread in found.values():
            self._take(spread, spread.owners | spread.counted)

    def _take_affinities(self, affinities: Iterable[Affinity]) -> None:
        """Count once for all owners that ask to be near the same pods."""
        found: dict[Hashable, _Near] = {}
        for item in affinities:
            same = item.keys, item.anchors, item.founds
            if (near := found.get(same)) is None:
                domains = [self._domains(key) for key in item.keys]
                homes = self._homes(item)
                live = {s for s in homes if self._instance.job_of(s).move_mode == "live"}
                near = found[same] = _Near(item, domains, homes, live)
            near.owners.add(item.owner)
        for near in found.values():
            self._take(near, near.owners | near.anchors)

    def _homes(self, near: Affinity) -> Mapping[int, Mask]:
        """Where pods to be near run that go one by one."""
        instance = self._instance
        return {
            s: mask_of(len(instance.nodes), {spot.node for spot in instance.podsets[s].current})
            for s in near.anchors
            if instance.podsets[s].running and instance.podsets[s].job not in instance.together
        }

    def _take(self, each: _Counts, podsets: Iterable[int]) -> None:
        each.index = self._taken
        self._taken += 1
        for s in sorted(podsets):
            self._by_podset.setdefault(s, []).append(each)

    def _domains(self, key: str) -> LabelDomains:
        if key not in self._keys:
            self._keys[key] = LabelDomains(self._instance, key)
        return self._keys[key]

    def concern(self, s: int) -> bool:
        """Whether any term or constraint looks at pods of ``s``."""
        return s in self._by_podset

    def kin(self, s: int) -> tuple[tuple[int, bool, bool], ...]:
        """Return what is equal for pod sets of which the same is said; nothing of those without."""
        return tuple((each.index, *each.sides(s)) for each in self._by_podset.get(s, ()))

    def broken(self, s: int) -> set[int]:
        """Return the numbers of what looks at a pod set and no longer holds."""
        return {each.index for each in self._by_podset.get(s, ()) if not each.holds()}

    def seeks(self, s: int) -> bool:
        """Whether pods of ``s`` must be near others."""
        return any(s in near.owners for near in self._nears(s))

    def regions(self, s: int) -> list[Mask]:
        """Return the nodes among which pods of ``s`` stay together: where the first is to come.

        Mostly all nodes; of pods that are to be near their like, of whom none is there yet, those
        of each domain.
        """
        own = [near for near in self._nears(s) if near.seeks_its_like(s)]
        finest = max((d for near in own for d in near.domains), key=lambda d: d.size, default=None)
        if finest is None:
            return [np.ones(len(self._instance.nodes), dtype=np.bool_)]
        return [finest.nodes_in([d]) for d in range(finest.size)]

    def _nears(self, s: int) -> list[_Near]:
        return [each for each in self._by_podset.get(s, ()) if isinstance(each, _Near)]

    def _terms(self, s: int) -> list[_Term]:
        return [each for each in self._by_podset.get(s, ()) if isinstance(each, _Term)]

    def add(self, s: int, n: int, pods: int, *, arrival: bool) -> None:
        """Count pods of a pod set on a node; a negative number takes them away."""
        for each in self._by_podset.get(s, ()):
            each.add(s, n, pods, arrival=arrival)

    def admits(self, s: int) -> Mask | None:
        """Nodes on which one more pod of ``s`` offends nobody; ``None`` if that is all of them."""
        admitted: Mask | None = None
        for each in self._by_podset.get(s, ()):
            fine = each.admits(s)
            if fine is not None:
                admitted = fine if admitted is None else admitted & fine
        return admitted

    def refusals(self, s: int) -> list[tuple[str, Mask]]:
        """Return what of ``REFUSALS`` closes nodes to one more pod of ``s``, and which nodes.

        In the order of kube-scheduler's filters: it names the first that refuses.
        """
        found: dict[str, Mask] = {}
        for each in self._by_podset.get(s, ()):
            fine = each.admits(s)
            if fine is not None:
                name = _named(each)
                found[name] = ~fine | found[name] if name in found else ~fine
        return [(name, found[name]) for name in REFUSALS if name in found]

    def among_own(self, s: int) -> str:
        """Return what pods of ``s`` close to others of theirs, as named in ``REFUSALS``."""
        for each in self._terms(s):
            if s in each.owners and each.inside:
                return _named(each)
        own = [_named(each) for each in self._by_podset.get(s, ()) if each.sides(s)[0]]
        return next((name for name in REFUSALS if name in own), Rule.SPREAD.value)

    def one_per_domain(self, s: int) -> list[LabelDomains]:
        """Domains of which each takes at most one pod of ``s``, by its own anti-affinity."""
        return [term.domains for term in self._terms(s) if s in term.owners and term.inside]

    def bear(self, s: int, n: int) -> bool:
        """Whether one more pod of ``s`` on a node offends nobody."""
        admitted = self.admits(s)
        return admitted is None or bool(admitted[n])

    def holds(self, podsets: Iterable[int]) -> bool:
        """Whether all that looks at some pod sets still holds."""
        return all(each.holds() for s in podsets for each in self._by_podset.get(s, ()))

    def repelled(self, s: int, n: int, ignored: Sequence[tuple[int, int, int]]) -> bool:
        """Whether anti-affinity or spread keeps a victim off a node even without some other pods.

        A pod of ``s`` comes back, so only those that arrived ask for spread. ``ignored`` lists pod
        set, node and number of the pods to leave out.
        """
        for term in self._terms(s):
            domain = int(term.domains.of[n])
            if domain < 0:
                continue
            owners, others = term.owners_in.get(domain, 0), term.others_in.get(domain, 0)
            for other, m, pods in ignored:
                if int(term.domains.of[m]) == domain:
                    owners -= pods if other in term.owners else 0
                    others -= pods if other in term.others else 0
            if (s in term.owners and others > 0) or (s in term.others and owners > 0):
                return True
        spreads = (x for x in self._by_podset.get(s, ()) if isinstance(x, SpreadCounts))
        return any(spread.is_pressed(s, n, ignored) for spread in spreads)
