"""Why each node is out for the pods of a pod set: one reason per node, in the field's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.problem.uses import is_thing
from kantopt.schema.model import Rule
from kantopt.schema.quantity import CAPACITY, DISKS, FREE, SHARED_VOLUME
from kantopt.search.causes import FITS, Causes, asks_of
from kantopt.search.counts.neighbours import REFUSALS
from kantopt.search.fit_together import fit_together
from kantopt.search.insertion.domains import Domains
from kantopt.search.insertion.fill import room_for
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import UNLIMITED, State
from kantopt.verify.rules.topology import domains_used


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some nodes take no pod of a pod set.

    Attributes
    ----------
    rule
        Rule that keeps the pods away.
    text
        The reason, as kube-scheduler words it where it has a word.
    nodes
        Indices of the nodes.
    """

    rule: Rule
    text: str
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """Where the pods of a pod set could go as things stand.

    Attributes
    ----------
    wanted
        Pods that must be placed at once.
    room
        Pods that the nodes available would hold.
    available
        Nodes that take a pod.
    reasons
        The other nodes by reason, the most frequent first: with those available, all nodes.
    """

    podset: int
    wanted: int
    room: int
    available: tuple[int, ...]
    reasons: tuple[Reason, ...]
    free: Free | None


@dataclass(frozen=True, slots=True)
class Free:
    """What is free of a resource on the nodes that admit some pods, in base units."""

    resource: str
    total: int
    offered: int
    most: int
    """On one node."""


_REFUSED = {
    "cordoned": "node(s) were unschedulable",
    "to be emptied": "node(s) were to be emptied",
    "not ready": "node(s) were not ready",
    "volumes": "node(s) had volume node affinity conflict",
    "node selector or affinity": "node(s) didn't match Pod's node affinity/selector",
    "set apart": "node(s) were set apart for other jobs",
}
_NEIGHBOURS = {
    "claim": "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "
    "access mode",
    Rule.SPREAD.value: "node(s) didn't match pod topology spread constraints",
    Rule.AFFINITY.value: "node(s) didn't match pod affinity rules",
    Rule.ANTI_AFFINITY.value: "node(s) didn't match pod anti-affinity rules",
}
_STORED = {
    FREE: "node(s) didn't find available persistent volumes to bind",
    CAPACITY: "node(s) did not have enough free storage",
    DISKS: "node(s) had no available disk",
    SHARED_VOLUME: "node(s) exceed max volume count",
}


class Survey:
    """Looks at every node for the pods of one job."""

    def __init__(self, question: Instance) -> None:
        self.question = question
        self.now = State(question)
        self.empty = State(question, question.bare)
        self.domains = Domains(question)

    def places(self, s: int, wanted: int) -> Places:
        """Return where ``wanted`` pods of a pod set could go, and why not elsewhere."""
        question = self.question
        room = room_for(self.now, s, max(1, wanted))
        why: dict[tuple[Rule, str], list[int]] = {}
        causes, bare = Causes(self.now, s), Causes(self.empty, s)
        for n in np.flatnonzero(causes.room_cause != FITS).tolist():
            why.setdefault(self._cause(s, n, causes, bare), []).append(n)
        full = np.flatnonzero((causes.room_cause == FITS) & (room == 0)).tolist()
        for key, n in self._neighbours(s, full):
            why.setdefault(key, []).append(n)
        open_nodes: Mask = room > 0
        for key, closed in self._domains(s, wanted, room):
            out = open_nodes & closed
            if out.any():
                why.setdefault(key, []).extend(np.flatnonzero(out).tolist())
                open_nodes &= ~closed
        reasons = sorted(
            (Reason(rule, text, tuple(nodes)) for (rule, text), nodes in why.items()),
            key=lambda reason: (-len(reason.nodes), reason.text),
        )
        assert sum(len(r.nodes) for r in reasons) + int(open_nodes.sum()) == len(question.nodes)
        return Places(
            podset=s,
            wanted=wanted,
            room=fit_together(self.now, s, max(1, wanted), open_nodes),
            available=tuple(np.flatnonzero(open_nodes).tolist()),
            reasons=tuple(reasons),
            free=self._free(s),
        )

    def _free(self, s: int) -> Free | None:
        """Look at the resource that is asked for first: GPUs, if any."""
        names = self.question.resources
        asked = [
            r for r, _ in asks_of(self.now, s) if names[r] != "pods" and not is_thing(names[r])
        ]
        nodes = np.flatnonzero(self.now.allowed(s))
        if not asked or not len(nodes):
            return None
        r = asked[0]
        free = np.maximum(self.now.free[r, nodes], 0)
        offered = self.now.capacity[r, nodes]
        if bool((offered >= UNLIMITED).any()):
            return None
        return Free(names[r], int(free.sum()), int(offered.sum()), int(free.max()))

    def _cause(self, s: int, n: int, now: Causes, bare: Causes) -> tuple[Rule, str]:
        """Say what keeps a pod off a node, first what would if nothing but daemons ran there."""
        never = str(bare.room_cause[n])
        cause = never or str(now.room_cause[n])
        if cause in _REFUSED:
            return Rule.ELIGIBILITY, _REFUSED[cause]
        if cause == "taint":
            taint = self.question.podsets[s].closed[n]
            text = f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
            return Rule.ELIGIBILITY, text
        if cause == "pods":
            return Rule.CAPACITY, "Too many pods"
        if is_thing(cause):
            return Rule.CAPACITY, f"node(s) didn't have free {cause}"
        for prefix, words in _STORED.items():
            if cause.startswith(prefix):
                return Rule.CAPACITY, words
        rule = Rule.CAPACITY if cause in self.question.resources else Rule.DEVICES
        return rule, f"Insufficient {cause}" + (" even when empty" if never else "")

    def _neighbours(self, s: int, nodes: Sequence[int]) -> Iterator[tuple[tuple[Rule, str], int]]:
        """Nodes with room that neighbours close, by themselves or by pods of the set's own."""
        refusals = self.now.neighbours.refusals(s)
        own = self.now.neighbours.among_own(s)
        for n in nodes:
            name = next((name for name, closed in refusals if closed[n]), own)
            yield (REFUSALS[name], _NEIGHBOURS[name]), n

    def _domains(self, s: int, wanted: int, room: Ints) -> list[tuple[tuple[Rule, str], Mask]]:
        """Reasons of topology with the nodes that they close, those with room among them."""
        podset, found = self.question.podsets[s], []
        for need in self.question.needs_of.get(podset.job, ()):
            if podset.role not in need.roles:
                continue
            for level, rule in (
                (need.required, Rule.TOPOLOGY),
                (need.slice_level, Rule.SLICES),
            ):
                if level is None or not self.question.on(rule):
                    continue
                name, of = self.question.topology.levels[level], self.domains.of[level]
                label = self.question.topology.labels[level]
                found.append(((rule, f"node(s) had no label {label} of the {name}"), of < 0))
                totals = self.domains.totals(level, room)
                if rule is Rule.SLICES:
                    small = totals < need.slice_size
                    text = f"node(s) were in a {name} without room for a slice of {need.slice_size}"
                else:
                    used = domains_used(self.question, need, level, self.now.spots)
                    held = [d for d in used if d is not None]
                    if held:
                        other = ~np.isin(of, held)
                        text = f"node(s) were not in the {name} of the job's running pods"
                        found.append(((rule, text), other))
                    small = totals < wanted
                    text = f"node(s) were in a {name} without room for {wanted} pods"
                closed = np.append(small, False)[of]  # those in no domain have their reason
                found.append(((rule, text), np.asarray(closed, dtype=np.bool_)))
        return found
