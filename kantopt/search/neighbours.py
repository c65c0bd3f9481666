"""Anti-affinity and spread, counted pod by pod: which nodes a pod's neighbours leave to it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.problem.job import AntiAffinity, Spread
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


class Neighbours:
    """Pods counted by the anti-affinity terms and spread constraints that concern them."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._keys: dict[str, LabelDomains] = {}
        self._terms: dict[int, list[_Term]] = {}
        self._spreads: dict[int, list[_Spread]] = {}
        if instance.on(Rule.ANTI_AFFINITY):
            for item in instance.anti_affinities:
                term = _Term(item, self._domains(item.key))
                for s in sorted({item.owner, *item.others}):
                    self._terms.setdefault(s, []).append(term)
        if instance.on(Rule.SPREAD):
            for constraint in instance.spreads:
                eligible = np.zeros(len(instance.nodes), dtype=np.bool_)
                eligible[sorted(instance.podsets[constraint.owner].spread_over)] = True
                spread = _Spread(constraint, self._domains(constraint.key), eligible)
                for s in sorted({constraint.owner, *constraint.counted}):
                    self._spreads.setdefault(s, []).append(spread)

    def _domains(self, key: str) -> LabelDomains:
        if key not in self._keys:
            self._keys[key] = LabelDomains(self._instance, key)
        return self._keys[key]

    def concern(self, s: int) -> bool:
        """Whether any term or constraint looks at pods of ``s``."""
        return s in self._terms or s in self._spreads

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
        return admitted

    def one_per_domain(self, s: int) -> list[LabelDomains]:
        """Domains of which each takes at most one pod of ``s``, by its own anti-affinity."""
        return [
            term.domains for term in self._terms.get(s, ()) if term.owner == s and s in term.others
        ]

    def spread_holds(self, podsets: Iterable[int]) -> bool:
        """Whether the spread constraints that count some pod sets still hold."""
        return all(spread.holds() for s in podsets for spread in self._spreads.get(s, ()))

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
