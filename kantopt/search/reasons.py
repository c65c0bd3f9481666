"""Why a job stays pending: the first rule in its way, with numbers and a witness."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.job import TopologyNeed
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.schema.quantity import from_base
from kantopt.search.causes import Causes
from kantopt.search.counts.neighbours import REFUSALS
from kantopt.search.fit_together import fit_together
from kantopt.search.insertion.domains import Domains
from kantopt.search.insertion.fill import room_for
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import State, rooms
from kantopt.verify.bounds.alike_jobs import first_alike
from kantopt.verify.rules.quota import (
    cohorts,
    held_words,
    queue_limit,
    shared_limit,
    shared_use,
)
from kantopt.verify.rules.topology import domains_used

_NEIGHBOURS = {
    "claim": "a ReadWriteOncePod claim",
    Rule.SPREAD.value: "topology spread",
    Rule.AFFINITY.value: "pod affinity",
    Rule.ANTI_AFFINITY.value: "anti-affinity",
}
NOT_EXAMINED = "not examined"
"""Said instead of a rule when no rule stands in the way."""


def first_reason(instance: Instance, placement: Placement, j: int) -> tuple[str, str]:
    """Return the rule that first stands in the way of a pending job, and a sentence about it.

    Looked at are, in this order: which nodes admit the pods, whether the hardware could hold them
    if nothing else ran, together and then in one domain, quota, topology and slices, anti-affinity
    and spread, and last the room that there is now.
    """
    return _reasons(_Key(instance, placement)).of(j)


def get_ready(instance: Instance, placement: Placement) -> None:
    """Count what :func:`first_reason` looks at: of a large question most of its time."""
    _reasons(_Key(instance, placement))


class _Key:
    """Instance and placement by identity: many jobs are asked about in a row."""

    def __init__(self, instance: Instance, placement: Placement) -> None:
        self.instance = instance
        self.placement = placement

    def __hash__(self) -> int:
        return hash((id(self.instance), id(self.placement)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Key)
            and self.instance is other.instance
            and self.placement is other.placement
        )


@lru_cache(maxsize=1)
def _reasons(key: _Key) -> Reasons:
    return Reasons(key.instance, key.placement)


class Reasons:
    """Reasons for the jobs that a placement leaves pending."""

    def __init__(self, instance: Instance, placement: Placement) -> None:
        self.instance = instance
        self.domains = Domains(instance)
        self.now = State(instance, placement)
        self.empty = State(instance, instance.bare)
        self._known: dict[tuple[object, ...], Causes] = {}
        self._told: dict[tuple[int, int], tuple[str, str]] = {}
        """What was said of jobs whose pods nobody else looks at, by kind and pods placed."""

    def of(self, j: int) -> tuple[str, str]:
        """Return rule and sentence for one job; of jobs that are alike it is found once."""
        s = self.instance.jobs[j].podsets[0]
        if s in self.instance.named:
            return self._first(j)
        kind = first_alike(self.instance)[j], self.now.placed[s]
        if kind not in self._told:
            self._told[kind] = self._first(j)
        return self._told[kind]

    def _first(self, j: int) -> tuple[str, str]:
        wants = self._wants(j)
        if not wants:
            return NOT_EXAMINED, "nothing of the job is pending"
        if not self.instance.nodes:
            return Rule.ELIGIBILITY.value, "the snapshot has no nodes"
        job = self.instance.jobs[j]
        for s in job.podsets:
            podset = self.instance.podsets[s]
            if podset.running and self.now.placed[s] < podset.count:
                gone = podset.count - self.now.placed[s]
                return Rule.PRIORITY, f"{gone} of {podset.count} running pods of the job give way"
        for look in (
            self._eligibility,
            self._hardware,
            self._domains_hardware,
            self._quota,
            self._topology,
            self._neighbours,
            self._room,
        ):
            for s, pods in wants:
                found = look(j, s, pods)
                if found is not None:
                    prefix = f"pod set {self.instance.podsets[s].name}: " if len(wants) > 1 else ""
                    return found[0].value, prefix + found[1]
        if len(wants) > 1:
            names = ", ".join(self.instance.podsets[s].name for s, _ in wants)
            return Rule.CAPACITY.value, f"pod sets {names} fit each alone, not together"
        pods = wants[0][1]
        return NOT_EXAMINED, f"{pods} of {_pods(pods)} would fit by themselves"

    def _causes(self, state: State, s: int) -> Causes:
        """Return the causes of each node, found out once for all pods that ask the same."""
        podset = self.instance.podsets[s]
        key = (state is self.now, state.shape[s].index, podset.allowed, podset.spread_over)
        if key not in self._known:
            self._known[key] = Causes(state, s)
        return self._known[key]

    def _wants(self, j: int) -> list[tuple[int, int]]:
        """Pending pod sets with the pods that would be worth placing: the least of a gang."""
        job = self.instance.jobs[j]
        gang = job.is_gang and self.instance.on(Rule.GANG)
        short = job.min_count - sum(self.now.role_placed(j, i) for i in range(len(job.roles)))
        wants, rest = [], []
        for i, role in enumerate(job.roles):
            if role.pending is None:
                continue
            left = self.instance.podsets[role.pending].count - self.now.placed[role.pending]
            least = max(0, role.min_count - self.now.role_placed(j, i)) if gang else left
            if least:
                wants.append((role.pending, least))
            elif left:
                rest.append((role.pending, left))
        if wants:
            return wants
        if gang and short > 0 and len(rest) == 1:
            return [(s, min(pods, short)) for s, pods in rest]
        return rest

    def _eligibility(self, j: int, s: int, pods: int) -> tuple[Rule, str] | None:
        if self.now.allowed(s).any():
            return None
        causes = self._causes(self.empty, s)
        first = f"{self.instance.nodes[0].name} ({causes.room_cause[0]})"
        return Rule.ELIGIBILITY, (
            f"{causes.counts}; for example node {first}; short of {_pods(pods)}"
        )

    def _hardware(self, j: int, s: int, pods: int) -> tuple[Rule, str] | None:
        room = int((rooms(self.empty, self.empty.shape[s], pods) * self.empty.allowed(s)).sum())
        if room >= pods:
            return None
        causes = self._causes(self.empty, s)
        return causes.rule, _sentence(self._never, causes, room, pods)

    @property
    def _never(self) -> str:
        closed = not all(node.usable for node in self.instance.nodes)
        return "never on the nodes that are open" if closed else "never on this hardware"

    def _quota(self, j: int, s: int, pods: int) -> tuple[Rule, str] | None:
        podset, queue = self.instance.podsets[s], self.instance.jobs[j].queue
        room = self.now.admitted(s, pods)
        if room >= pods or queue is None:
            return None
        owner = self.instance.queues[queue]
        used = self.now.quotas.usage[queue]
        tail = f"; {room} of {_pods(pods)} fit, short of {pods - room}"
        for quota in owner.quotas:
            r = quota.resource
            limit = queue_limit(owner, quota)
            wanted = used[r] + pods * podset.demand[r]
            if podset.demand[r] and limit is not None and wanted > limit:
                name = self.instance.resources[r]
                amounts = f"{from_base(name, wanted)} of {from_base(name, limit)} {name}"
                amounts += held_words(from_base(name, quota.held))
                if used[r]:
                    amounts += f", {from_base(name, used[r])} of them in use with this plan"
                return Rule.QUOTA, f"queue {owner.name} would need {amounts}{tail}"
        names = []
        for r in self._unlent(queue, podset.demand, pods):
            names.append(name := self.instance.resources[r])
            members = cohorts(self.instance)[owner.cohort, r]
            over = shared_use(members, self.now.quotas.usage) - shared_limit(members)
            if over > 0:
                names[-1] += f" ({from_base(name, over)} more are in use than it has to lend)"
        lent = f"cohort {owner.cohort} lends no more {', '.join(names)}"
        return Rule.QUOTA, f"queue {owner.name}: {lent}{tail}"

    def _unlent(self, queue: int, demand: Amounts, pods: int) -> Iterator[int]:
        """Yield the resources of which a queue may not have what some pods ask for."""
        for r, amount in enumerate(demand):
            alone = [pods * amount * (r == other) for other in range(len(demand))]
            if amount and not self.now.quotas.allows(queue, alone):
                yield r

    def _topology(self, j: int, s: int, pods: int) -> tuple[Rule, str] | None:
        role = self.instance.podsets[s].role
        for need in self.instance.needs_of.get(j, ()):
            if role not in need.roles:
                continue
            if need.required is not None and self.instance.on(Rule.TOPOLOGY):
                found = self._domain(need, need.required, s, pods)
                if found is not None:
                    return Rule.TOPOLOGY, found
            if need.slice_level is not None and self.instance.on(Rule.SLICES):
                level, size = need.slice_level, need.slice_size
                room = self._by_domain(self.now, level, s, pods)
                whole = int((room // size * size).sum())
                if whole < pods <= int(room.sum()):
                    name = self.instance.topology.levels[level]
                    best = self.instance.topology.domains[level][int(room.argmax())]
                    return Rule.SLICES, (
                        f"{whole} of {_pods(pods)} fit in slices of {size} per {name}: the "
                        f"roomiest, {best}, takes {int(room.max())}; short of {pods - whole}"
                    )
        return None

    def _domains_hardware(self, j: int, s: int, pods: int) -> tuple[Rule, str] | None:
        """Whether no required domain could ever hold the pods: no quota would help them."""
        role = self.instance.podsets[s].role
        for need in self.instance.needs_of.get(j, ()):
            level = need.required
            if role not in need.roles or level is None or not self.instance.on(Rule.TOPOLOGY):
                continue
            if domains_used(self.instance, need, level, self.now.spots):
                continue  # held to where they are, which is the reason to name
            hardware = self._by_domain(self.empty, level, s, pods)
            most = int(hardware.max(initial=0))
            if len(hardware) and most < pods:
                name = self.instance.topology.levels[level]
                best = self.instance.topology.domains[level][int(hardware.argmax())]
                return Rule.TOPOLOGY, (
                    f"{self._never}: the largest {name}, {best}, holds {most} of "
                    f"{_pods(pods)} when empty{_short(pods, most)}"
                )
        return None

    def _by_domain(self, state: State, level: int, s: int, pods: int) -> Ints:
        return self.domains.totals(level, room_for(state, s, pods))

    def _domain(self, need: TopologyNeed, level: int, s: int, pods: int) -> str | None:
        """Return what to say if no domain holds the pods although all domains together would."""
        name = self.instance.topology.levels[level]
        used = domains_used(self.instance, need, level, self.now.spots)
        room = self._by_domain(self.now, level, s, pods)
        if used:
            held = sorted(d for d in used if d is not None)
            room = np.where(np.isin(np.arange(len(room)), held), room, 0)
            where = ", ".join(str(self.instance.topology.domains[level][d]) for d in held)
            if int(room.sum()) >= pods:
                return None
            podsets = self.instance.podsets_of(need)
            runs = any(self.instance.podsets[p].running and self.now.placed[p] for p in podsets)
            who = "running members" if runs else "members that have a place by now"
            placed = f"{who} hold the job to {name} {where or 'none'}"
            return f"{placed}, where {int(room.sum())} of {_pods(pods)} fit" + _short(
                pods, int(room.sum())
            )
        if not len(room):
            return f"no node is in any {name}; short of {_pods(pods)}"
        if int(room.max()) >= pods:
            return None
        if int(room_for(self.now, s, pods).sum()) < pods:
            return None
        best = self.instance.topology.domains[level][int(room.argmax())]
        most = int(room.max())
        return (
            f"no {name} of {len(room)} has room for {_pods(pods)}: the roomiest, {best}, "
            f"takes {most}{_short(pods, most)}"
        )

    def _neighbours(self, j: int, s: int, pods: int) -> tuple[Rule, str] | None:
        state = self.now
        if not state.neighbours.concern(s):
            return None
        free = rooms(state, state.shape[s], pods) * state.allowed(s)
        if int(free.sum()) < pods or (room := fit_together(state, s, pods)) >= pods:
            return None
        left = room_for(state, s, pods)
        closed: Mask = (free > 0) & (left == 0)
        own = state.neighbours.among_own(s)
        by, rest = dict[str, int](), closed.copy()
        for name, shut in state.neighbours.refusals(s):
            by[name] = int((rest & shut).sum())
            rest &= ~shut
        by[own] = by.get(own, 0) + int(rest.sum())
        names = [name for name in REFUSALS if by.get(name)] or [own]
        words = " and ".join(_NEIGHBOURS[name] for name in names)
        which = np.flatnonzero(closed if closed.any() else free > 0)
        node = self.instance.nodes[int(which[0])].name
        with_room = int((free > 0).sum())
        if closed.any():
            plural = "s" if len(names) == 1 else ""
            what = f"close{plural} {len(which)} of {with_room} nodes with room"
        else:
            what = f"lets no more onto {with_room} node{'s' * (with_room > 1)} with room"
        return REFUSALS[max(names, key=lambda name: by.get(name, 0))], (
            f"{room} of {_pods(pods)} fit: {words} {what}, for example node {node}"
            f"{_short(pods, room)}"
        )

    def _room(self, j: int, s: int, pods: int) -> tuple[Rule, str] | None:
        room = fit_together(self.now, s, pods)
        if room >= pods:
            return None
        causes = self._causes(self.now, s)
        return causes.rule, _sentence("", causes, room, pods)


def _sentence(start: str, causes: Causes, room: int, pods: int) -> str:
    """Pods that fit, nodes by cause, the closest node, and how many pods are short."""
    counts = causes.counts
    if room:
        counts = f"{room} of {_pods(pods)} fit; {counts}"
    parts = [f"{start}: {counts}" if start else counts, causes.witness]
    return "; ".join(part for part in parts if part) + _short(pods, room)


def _short(pods: int, room: int) -> str:
    return f"; short of {_pods(pods - room)}"


def _pods(number: int) -> str:
    return f"{number} pod" if number == 1 else f"{number} pods"
