"""Whether a job has a place, by counting: exact where its pods are alike and mind no neighbours.

Then a node holds as many pods as its free room divided by what one pod asks, whatever the other
nodes hold, and nothing but sums over a domain and over a queue ties nodes to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property

import numpy as np

from kantopt.problem.cluster import Queue, Quota, Spot
from kantopt.problem.derived.focus import running_pods, wanted_pods
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.insertion.domains import Domains
from kantopt.search.shapes import Ints, Mask, mask_of
from kantopt.verify.rules.quota import cohorts, overdraft, queue_limit
from kantopt.verify.step import Loads

Gone = Callable[[PodSet], bool]
"""Running pod sets of other jobs of which no pod counts any more."""

QuotaSubject = tuple[str, int, int]
"""``queue`` or ``cohort``, the queue, the resource."""


def nobody(_: PodSet) -> bool:
    """Say that all that runs stays."""
    return False


def hardest(question: Instance, wanted: Mapping[int, int]) -> int:
    """Return the pod set that is hardest to place of some wanted, as far as one can tell."""
    return max(wanted, key=lambda s: (question.podsets[s].gpu_milli, wanted[s], -s))


def regions(question: Instance, level: int | None) -> list[Ints]:
    """Return the nodes of each domain of a level, or all nodes."""
    if level is None:
        return [np.arange(len(question.nodes), dtype=np.int64)]
    return [np.array(each.nodes, dtype=np.int64) for each in question.topology.domains[level]]


def countable(question: Instance, j: int) -> bool:
    """Whether counting decides about a job: one role, no devices, no neighbours, no slices."""
    job = question.jobs[j]
    own = frozenset(job.podsets)
    wanted = wanted_pods(question, j)
    needs = question.needs_of.get(j, ())
    close = any(need.required is not None for need in needs)
    return (
        len(job.roles) == 1
        and len(wanted) == 1
        and not any(question.podsets[s].devices for s in own)
        and not any(need.slice_level is not None for need in needs)
        and not (close and running_pods(question, job.podsets))
        and own.isdisjoint(question.named)
    )


class Counting:
    """What nodes, domains and queues leave to the pods of one job.

    Parameters
    ----------
    question
        The question; :func:`countable` says whether this class may be asked about it.
    """

    def __init__(self, question: Instance, j: int) -> None:
        self.question = question
        self.j = j
        [(self.s, self.wanted)] = wanted_pods(question, j).items()
        self.podset = question.podsets[self.s]
        self._asks = [(r, amount) for r, amount in enumerate(self.podset.requests) if amount]
        self._capacity: dict[int, Ints] = {}
        self.limited: dict[int, Mask] = {}
        """Nodes that limit a resource at all."""
        for r, _ in self._asks:
            values = [node.capacity[r] for node in question.nodes]
            self.limited[r] = np.array([value is not None for value in values], dtype=np.bool_)
            self._capacity[r] = np.array([value or 0 for value in values], dtype=np.int64)
        self.size = len(question.nodes)
        self.admitted = mask_of(self.size, self.podset.allowed)
        needs = question.needs_of.get(j, ()) if question.on(Rule.TOPOLOGY) else ()
        self.level = next((n.required for n in needs if n.required is not None), None)

    def pods(self, rules: Collection[Rule]) -> int:
        """Pods that must be placed at once under some rules."""
        return self.wanted if Rule.GANG in rules or Rule.REQUIRED in rules else 1

    def room(self, gone: Gone = nobody) -> Ints:
        """Pods that each node has room for, were it to admit them; at most those wanted."""
        room: Ints = np.full(self.size, self.wanted, dtype=np.int64)
        if not self.question.on(Rule.CAPACITY):
            return room
        stays = self._staying(gone)
        for r, amount in self._asks:
            use: Ints = np.zeros(self.size, dtype=np.int64)
            np.add.at(use, self._nodes[stays], self._uses[r][stays])
            fits = np.maximum(self._capacity[r] - use, 0) // amount
            np.minimum(room, fits, out=room, where=self.limited[r])
        return room

    def taken(self, rules: Collection[Rule], gone: Gone = nobody) -> Ints:
        """Pods that each node takes under some rules; at most those wanted."""
        room = self.room(gone) if Rule.CAPACITY in rules else self._boundless
        return np.where(self.admitted, room, 0) if Rule.ELIGIBILITY in rules else room

    def held(self, room: Ints, level: int | None) -> int:
        """Pods that fit together, in one domain of a level if one is given."""
        if level is None:
            return int(room.sum())
        return int(self._domains.totals(level, room).max(initial=0))

    def over_quota(self, pods: int, gone: Gone = nobody) -> list[QuotaSubject]:
        """Quotas that so many pods of the job would break."""
        question, queue = self.question, self.question.jobs[self.j].queue
        if queue is None or not question.on(Rule.QUOTA):
            return []
        before = self._usage
        after = [list(row) for row in before]
        for podset in question.podsets:
            q = question.jobs[podset.job].queue
            if podset.running and podset.job != self.j and q is not None and gone(podset):
                for r, amount in enumerate(podset.demand):
                    after[q][r] -= podset.count * amount
        for r, amount in enumerate(self.podset.demand):
            after[queue][r] += pods * amount
        owner, found = question.queues[queue], []
        for quota in owner.quotas:
            r = quota.resource
            if not self.podset.demand[r]:
                continue
            limit = queue_limit(owner, quota)
            if limit is not None and after[queue][r] > limit:
                found.append(("queue", queue, r))
            if owner.cohort and overdraft(self._cohorts[owner.cohort, r], after, queue) > 0:
                found.append(("cohort", queue, r))
        return found

    def fits(
        self,
        rules: Collection[Rule] | None = None,
        gone: Gone = nobody,
        *,
        closed: Sequence[int] = (),
    ) -> bool:
        """Whether the job has a place beside what stays, off some nodes.

        Under all rules that are on, or under some.
        """
        if rules is None:
            rules = frozenset(rule for rule in Rule if self.question.on(rule))
        pods, room = self.pods(rules), self.taken(rules, gone)
        if closed:
            room = np.where(mask_of(self.size, closed), 0, room)
        level = self.level if Rule.TOPOLOGY in rules else None
        if self.held(room, level) < pods:
            return False
        return Rule.QUOTA not in rules or not self.over_quota(pods, gone)

    def too_much(self, rules: Collection[Rule], question: Instance | None = None) -> bool:
        """Whether the job asks for more than is free in sum and held by pods that may be evicted.

        Moves bring no more: what a pod leaves on one node it takes on another. Nodes do not count
        where neither it nor anybody who could move may go. ``question``: where others may be
        evicted, if not in the one asked about.
        """
        question = question or self.question
        if Rule.CAPACITY not in rules or not question.on(Rule.CAPACITY):
            return False
        pods, stays, may = self.pods(rules), self._staying(nobody), freedom_of(question, rules)
        for r, amount in self._asks:
            if not bool(self.limited[r].all()):
                continue
            use: Ints = np.zeros(self.size, dtype=np.int64)
            np.add.at(use, self._nodes[stays], self._uses[r][stays])
            reached = self._everywhere
            if Rule.ELIGIBILITY in rules:
                reached = self.admitted.copy()
                goers = (p for p in question.podsets if may.moves[p.index] and p.requests[r])
                reached[list(frozenset().union(*{p.allowed for p in goers}))] = True
            free = int(np.maximum(self._capacity[r] - use, 0)[reached].sum())
            held = sum(
                there * podset.requests[r]
                for podset in question.podsets
                if may.gives_way(podset.index, self.j)
                for spot, there in podset.current.items()
                if reached[spot.node]
            )
            if free + held < pods * amount:
                return True
        return False

    def most(self) -> int:
        """Pods of those wanted that have a place as it stands."""
        low, high = 0, min(self.wanted, self.held(self.taken(tuple(Rule)), self.level))
        while low < high:
            middle = (low + high + 1) // 2
            if self.over_quota(middle):
                high = middle - 1
            else:
                low = middle
        return low

    def placed(self, rules: Collection[Rule], gone: Gone = nobody) -> Placement | None:
        """Return the question's placement with the job placed, the others as they are, if it fits.

        Pods that count as gone are still there in it: who leaves, and for where, is to be decided.
        """
        if not self.fits(rules, gone):
            return None
        pods, room = self.pods(rules), self.taken(rules, gone)
        if Rule.TOPOLOGY in rules and self.level is not None:
            totals = self._domains.totals(self.level, room)
            enough = np.flatnonzero(totals >= pods)
            tightest = int(enough[np.argmin(totals[enough])])
            room = np.where(self._domains.mask(self.level, tightest), room, 0)
        return self.question.current.replace({self.s: self._spots(room, pods)})

    def _spots(self, room: Ints, pods: int) -> dict[Spot, int]:
        """Fill the roomiest nodes first, so that few are needed."""
        spots: dict[Spot, int] = {}
        for n in np.lexsort((np.arange(self.size), -room)).tolist():
            if not pods:
                break
            taken = min(pods, int(room[n]))
            spots[Spot(n)] = taken
            pods -= taken
        return spots

    @cached_property
    def _domains(self) -> Domains:
        return Domains(self.question)

    @cached_property
    def _boundless(self) -> Ints:
        return np.full(self.size, self.wanted, dtype=np.int64)

    @cached_property
    def _everywhere(self) -> Mask:
        return np.ones(self.size, dtype=np.bool_)

    @cached_property
    def _usage(self) -> list[list[int]]:
        return [list(row) for row in Loads.of(self.question, self.question.current).queue]

    @cached_property
    def _cohorts(self) -> dict[tuple[str, int], list[tuple[Queue, Quota]]]:
        return cohorts(self.question)

    # What runs, pod set by pod set and node by node.

    @cached_property
    def _entries(self) -> list[tuple[int, int, int]]:
        """Pod set, node and pods."""
        return [
            (podset.index, spot.node, pods)
            for podset in self.question.podsets
            if podset.running
            for spot, pods in podset.current.items()
        ]

    @cached_property
    def _nodes(self) -> Ints:
        return np.array([n for _, n, _ in self._entries], dtype=np.int64)

    @cached_property
    def _owners(self) -> Ints:
        return np.array([s for s, _, _ in self._entries], dtype=np.int64)

    @cached_property
    def _uses(self) -> dict[int, Ints]:
        podsets = self.question.podsets
        return {
            r: np.array([podsets[s].requests[r] * k for s, _, k in self._entries], dtype=np.int64)
            for r, _ in self._asks
        }

    def _staying(self, gone: Gone) -> Mask:
        """Entries that still count."""
        stays: Mask = np.array(
            [
                podset.job == self.j or not (podset.running and gone(podset))
                for podset in self.question.podsets
            ],
            dtype=np.bool_,
        )
        return stays[self._owners]
