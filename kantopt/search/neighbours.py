"""Affinity and spread, counted pod by pod: which nodes a pod's neighbours leave to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.problem.job import Affinity, AntiAffinity, Spread
from kantopt.schema.model import Rule
from kantopt.search.shapes import Ints, Mask


class LabelDomains:
    """Domains that the values of one node label make; a node without the label is in none."""

    def __init__(self, instance: Instance, key: str) -> None:
        values = [instance.label_domain(n, key) for n in range(len(instance.nodes))]
        index = {name: d for d, name in enumerate(sorted({v for v in values if v is not None}))}
        self.size = len(index)
        self.of: Ints = np.array([-1 if v is None else index[v] for v in values], dtype=np.int64)

    def nodes_in(self, domains: Iterable[int]) -> Mask:
        """Nodes of some domains."""
        chosen = np.zeros(self.size + 1, dtype=np.bool_)
        chosen[list(domains)] = True
        return np.asarray(chosen[self.of], dtype=np.bool_)


class _Term:
    """An anti-affinity term with the pods of both sides per domain."""

    def __init__(self, term: AntiAffinity, domains: LabelDomains) -> None:
        self.owner = term.owner
        self.others = frozenset(term.others)
        self.domains = domains
        self.owners_in: dict[int, int] = {}
        self.others_in: dict[int, int] = {}

    def add(self, s: int, domain: int, pods: int) -> None:
        if s == self.owner:
            self.owners_in[domain] = self.owners_in.get(domain, 0) + pods
        if s in self.others:
            self.others_in[domain] = self.others_in.get(domain, 0) + pods

    def closed_to(self, s: int) -> set[int]:
        """Domains where a pod of ``s`` may not arrive."""
        closed = set()
        if s == self.owner:
            closed |= {d for d, pods in self.others_in.items() if pods}
        if s in self.others:
            closed |= {d for d, pods in self.owners_in.items() if pods}
        return closed


class _Spread:
    """A spread constraint with the pods that it counts and those that arrived, per domain."""

    def __init__(self, spread: Spread, domains: LabelDomains, eligible: Mask) -> None:
        self.owner = spread.owner
        self.counted = frozenset(spread.counted)
        self.max_skew = spread.max_skew
        self.domains = domains
        self.eligible = eligible
        watched = np.zeros(domains.size, dtype=np.bool_)
        watched[domains.of[eligible & (domains.of >= 0)]] = True
        self.watched = watched
        number = int(watched.sum())
        self.whole = number > 0 and number >= spread.min_domains
        self.count: Ints = np.zeros(domains.size, dtype=np.int64)
        self.arrived: Ints = np.zeros(domains.size, dtype=np.int64)

    def skew(self) -> Ints:
        """Return by how much each domain exceeds the emptiest."""
        least = int(self.count[self.watched].min()) if self.whole else 0
        return np.asarray(np.where(self.watched, self.count, 0) - least, dtype=np.int64)

    def admits(self, s: int) -> Mask:
        """Nodes on which one more pod of ``s`` keeps the constraint."""
        skew = self.skew() + (1 if s in self.counted else 0)
        fine = skew <= self.max_skew
        if s == self.owner:
            return self._by_node(fine, outside=False)
        return self._by_node(fine | (self.arrived == 0), outside=True) | ~self.eligible

    def _by_node(self, domains: Mask, *, outside: bool) -> Mask:
        return np.asarray(np.append(domains, outside)[self.domains.of], dtype=np.bool_)

    def holds(self) -> bool:
        """Whether no domain in which pods arrived exceeds the emptiest too far."""
        return bool((self.skew()[self.arrived > 0] <= self.max_skew).all())


class _Near:
    """An affinity with the pods that it asks to be near, and those that came for it, per domain."""

    def __init__(self, near: Affinity, domains: Sequence[LabelDomains]) -> None:
        self.owner = near.owner
        self.anchors = frozenset(near.anchors)
        self.founds = near.founds
        self.domains = domains
        self.whole: Mask = np.all([each.of >= 0 for each in domains], axis=0)
        """Nodes that have all labels."""
        self.keyed: Mask = np.any([each.of >= 0 for each in domains], axis=0)
        """Nodes that have any: pods elsewhere do not count."""
        self.there: list[Ints] = [np.zeros(each.size + 1, dtype=np.int64) for each in domains]
        """Pods to be near, by key and domain; the last entry is for nodes without the label."""
        self.others: list[Ints] = [np.zeros(each.size + 1, dtype=np.int64) for each in domains]
        """The same without those of the owner that arrived."""
        self.arrived: list[Ints] = [np.zeros(each.size + 1, dtype=np.int64) for each in domains]
        """Pods of the owner that arrived."""
        self.counted = 0
        """Pods to be near on nodes that have any label."""

    def add(self, s: int, n: int, pods: int, *, arrival: bool) -> None:
        own = s == self.owner and arrival
        if s in self.anchors and self.keyed[n]:
            self.counted += pods
        for domains, there, others, arrived in zip(
            self.domains, self.there, self.others, self.arrived, strict=True
        ):
            d = int(domains.of[n])
            if s in self.anchors:
                there[d] += pods
                others[d] += 0 if own else pods
            if own:
                arrived[d] += pods

    def admits(self, s: int, *, running: bool) -> Mask | None:
        """Nodes on which one more pod of ``s`` keeps the affinity; ``None`` if that is all."""
        if s == self.owner:
            if self.counted == 0 and self.founds and not running:
                return self.whole
            return self._near()
        if self._founded():
            # One of the owner's was the first: the others must not come elsewhere.
            return self._near() | ~self.keyed
        return None

    def _near(self) -> Mask:
        """Nodes all of whose domains have a pod to be near."""
        found = self.whole.copy()
        for domains, there in zip(self.domains, self.there, strict=True):
            found &= there[domains.of] > 0
        return found

    def _founded(self) -> bool:
        """Whether pods of the owner arrived that are near nobody but each other."""
        return any(
            bool(((arrived > 0) & (others == 0))[:-1].any())
            for arrived, others in zip(self.arrived, self.others, strict=True)
        )

    def holds(self) -> bool:
        """Whether all that arrived are near a pod, or all in the domain of the first one."""
        if not self._founded():
            return True
        return self.founds and all(int((there[:-1] > 0).sum()) == 1 for there in self.there)


class Neighbours:
    """Pods counted by the affinities and spread constraints that concern them."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._keys: dict[str, LabelDomains] = {}
        self._terms: dict[int, list[_Term]] = {}
        self._spreads: dict[int, list[_Spread]] = {}
        self._nears: dict[int, list[_Near]] = {}
        if instance.on(Rule.ANTI_AFFINITY):
            for item in instance.anti_affinities:
                term = _Term(item, self._domains(item.key))
                for s in sorted({item.owner, *item.others}):
                    self._terms.setdefault(s, []).append(term)
        if instance.on(Rule.SPREAD):
            for constraint in instance.spreads:
                eligible = np.zeros(len(instance.nodes), dtype=np.bool_)
                eligible[sorted(constraint.over)] = True
                spread = _Spread(constraint, self._domains(constraint.key), eligible)
                for s in sorted({constraint.owner, *constraint.counted}):
                    self._spreads.setdefault(s, []).append(spread)

        if instance.on(Rule.AFFINITY):
            for affinity in instance.affinities:
                near = _Near(affinity, [self._domains(key) for key in affinity.keys])
                for s in sorted({affinity.owner, *affinity.anchors}):
                    self._nears.setdefault(s, []).append(near)

    def _domains(self, key: str) -> LabelDomains:
        if key not in self._keys:
            self._keys[key] = LabelDomains(self._instance, key)
        return self._keys[key]

    def concern(self, s: int) -> bool:
        """Whether any term or constraint looks at pods of ``s``."""
        return s in self._terms or s in self._spreads or s in self._nears

    def seeks(self, s: int) -> bool:
        """Whether pods of ``s`` must be near others."""
        return any(near.owner == s for near in self._nears.get(s, ()))

    def add(self, s: int, n: int, pods: int, *, arrival: bool) -> None:
        """Count pods of a pod set on a node; a negative number takes them away."""
        for term in self._terms.get(s, ()):
            domain = int(term.domains.of[n])
            if domain >= 0:
                term.add(s, domain, pods)
        for spread in self._spreads.get(s, ()):
            domain = int(spread.domains.of[n])
            if domain < 0:
                continue
            if s in spread.counted and spread.eligible[n]:
                spread.count[domain] += pods
            if s == spread.owner and arrival:
                spread.arrived[domain] += pods
        for near in self._nears.get(s, ()):
            near.add(s, n, pods, arrival=arrival)

    def admits(self, s: int) -> Mask | None:
        """Nodes on which one more pod of ``s`` offends nobody; ``None`` if that is all of them."""
        admitted: Mask | None = None
        for term in self._terms.get(s, ()):
            closed = term.closed_to(s)
            if closed:
                free = ~term.domains.nodes_in(closed)
                admitted = free if admitted is None else admitted & free
        for spread in self._spreads.get(s, ()):
            fine = spread.admits(s)
            admitted = fine if admitted is None else admitted & fine
        running = self._instance.podsets[s].running
        for near in self._nears.get(s, ()):
            close = near.admits(s, running=running)
            if close is not None:
                admitted = close if admitted is None else admitted & close
        return admitted

    def lonely(self, s: int) -> Mask | None:
        """Nodes where a pod of ``s`` would have none of those by it that it must be near.

        ``None`` if it need be near nobody.
        """
        running = self._instance.podsets[s].running
        for near in self._nears.get(s, ()):
            if near.owner == s:
                close = near.admits(s, running=running)
                assert close is not None, "an owner's nodes are always told"
                return ~close
        return None

    def one_per_domain(self, s: int) -> list[LabelDomains]:
        """Domains of which each takes at most one pod of ``s``, by its own anti-affinity."""
        return [
            term.domains for term in self._terms.get(s, ()) if term.owner == s and s in term.others
        ]

    def holds(self, podsets: Iterable[int]) -> bool:
        """Whether spread constraints and affinities that look at some pod sets still hold."""
        return all(
            each.holds()
            for s in podsets
            for each in (*self._spreads.get(s, ()), *self._nears.get(s, ()))
        )

    def repelled(self, s: int, n: int, ignored: Iterable[tuple[int, int, int]]) -> bool:
        """Whether anti-affinity keeps a pod of ``s`` off a node even without some other pods.

        ``ignored`` lists pod set, node and number of the pods to leave out.
        """
        for term in self._terms.get(s, ()):
            domain = int(term.domains.of[n])
            if domain < 0:
                continue
            owners, others = term.owners_in.get(domain, 0), term.others_in.get(domain, 0)
            for other, m, pods in ignored:
                if int(term.domains.of[m]) == domain:
                    owners -= pods if other == term.owner else 0
                    others -= pods if other in term.others else 0
            if (s == term.owner and others > 0) or (s in term.others and owners > 0):
                return True
        return False
