"""Who could meet whom in a domain that pods ask to be kept apart in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kantopt.problem.freedom import Freedom
from kantopt.problem.instance import Instance
from kantopt.problem.job import AntiAffinity
from kantopt.schema.model import Rule


@dataclass(slots=True)
class _Meeting:
    """Nodes and jobs that have, or could have, pods of some pod sets in one domain."""

    elements: list[int] = field(default_factory=list)
    changes: bool = False
    """One of them could change."""


class KeptApart:
    """Nodes and jobs that pod anti-affinity ties: nodes by their index, jobs after all nodes.

    Parameters
    ----------
    bound
        Whether a job is tied to its nodes anyway. One that is not stays as it is, and what it has
        in a domain belongs to the nodes there.
    """

    def __init__(self, instance: Instance, freedom: Freedom, bound: Sequence[bool]) -> None:
        self._instance, self._freedom, self._bound = instance, freedom, bound
        self._labels: dict[tuple[int, str], frozenset[str]] = {}
        self._single: dict[str, bool] = {}
        self._met: dict[tuple[int, str], dict[str, _Meeting]] = {}

    def groups(self) -> Iterator[list[int]]:
        """Yield what is tied together: a term's owner and all others in a domain they share.

        Where nothing in the domain could change nothing is tied. A label that no two nodes share
        ties nothing either: who meets there meets on a node.
        """
        if not self._instance.on(Rule.ANTI_AFFINITY):
            return
        for term in self._instance.anti_affinities:
            if self._is_single(term.key):
                continue
            others = self._others(term)
            for domain, mine in self._presence(term.owner, term.key).items():
                met = others.get(domain)
                if met is not None and (mine.changes or met.changes):
                    yield [*mine.elements, *met.elements]
                    del met.elements[1:]  # tied now: one stands for all

    def _is_single(self, key: str) -> bool:
        if key not in self._single:
            labels = [node.labels[key] for node in self._instance.nodes if key in node.labels]
            self._single[key] = len(set(labels)) == len(labels)
        return self._single[key]

    def _others(self, term: AntiAffinity) -> dict[str, _Meeting]:
        """Return by domain who else is met; terms with one selector share one tuple."""
        key = (id(term.others), term.key)
        if key not in self._met:
            met: dict[str, _Meeting] = {}
            for s in term.others:
                for domain, theirs in self._presence(s, term.key).items():
                    all_there = met.setdefault(domain, _Meeting())
                    all_there.elements += theirs.elements
                    all_there.changes |= theirs.changes
            self._met[key] = met
        return self._met[key]

    def _presence(self, s: int, key: str) -> dict[str, _Meeting]:
        instance, podset = self._instance, self._instance.podsets[s]
        found: dict[str, _Meeting] = {}
        if self._bound[podset.job]:
            domains = {instance.label_domain(spot.node, key) for spot in podset.current}
            if self._freedom.arrives(s):
                domains |= self._domains(podset.allowed, key)
            changes = self._freedom.arrives(s) or self._freedom.evictions[s] > 0
            for domain in domains - {None}:
                assert domain is not None
                found[domain] = _Meeting([len(instance.nodes) + podset.job], changes)
        else:
            for spot in podset.current:
                domain = instance.label_domain(spot.node, key)
                if domain is not None:
                    found.setdefault(domain, _Meeting()).elements.append(spot.node)
        return found

    def _domains(self, nodes: frozenset[int], key: str) -> frozenset[str]:
        if (id(nodes), key) not in self._labels:
            labels = (self._instance.label_domain(n, key) for n in nodes)
            self._labels[id(nodes), key] = frozenset(x for x in labels if x is not None)
        return self._labels[id(nodes), key]
