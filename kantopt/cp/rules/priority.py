"""R10 priority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial

from ortools.sat.python.cp_model import IntVar, LinearExprT, LiteralT

from kantopt.cp.balance import by_domain
from kantopt.cp.kept_room import add_kept_room
from kantopt.cp.shared import counted_for
from kantopt.cp.units import most_used
from kantopt.cp.variables import Terms, Variables, weighted, within
from kantopt.problem.cluster import Queue, Quota, Spot
from kantopt.problem.job import Job, Spread
from kantopt.schema.model import Rule
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use
from kantopt.verify.rules.spread import spread_domains

Unit = dict[tuple[int, Spot], int]
"""Pods that are put back together, by pod set and spot."""


def add_priority(m: Variables) -> None:
    """Room of an evicted pod belongs to newly placed jobs that are more important and need it.

    For every victim, one of the ways in which it could fail to fit back must be true; and its room
    is kept from all who may not evict it, see :mod:`kantopt.cp.kept_room`. The former are
    lazy constraints: a plan with the fewest evictions evicts nobody who fits back.
    """
    if not m.instance.strict:
        return
    add_kept_room(m)
    arriving = preemptors(m)
    for job in m.instance.jobs:
        add_victim(m, job, arriving)


def preemptors(m: Variables) -> list[Job]:
    """Return the jobs that may evict others and of which pods may arrive."""
    return [
        job
        for job in m.instance.jobs
        if job.may_preempt and any(m.arrive[s] for s in m.instance.pending_of(job.index))
    ]


def add_victim(m: Variables, job: Job, arriving: Sequence[Job]) -> None:
    """Pods of a job are evicted only for one that arrives, if they do not fit back."""
    running = [s for s in job.podsets if m.may_lose(m.instance.podsets[s])]
    if not running:
        return
    starts = [
        m.starts(other.index)
        for other in arriving
        if m.instance.may_evict_for(other.index, job.index)
    ]
    if not starts:
        for s in running:
            m.cp.add(m.evicted(s) == 0)
        return
    whole = None
    if job.is_gang or job.all_victims:
        whole = m.cp.new_bool_var(f"whole[{job.index}]")
        m.cp.add(m.role_placed(job.podsets) <= job.count * (1 - whole))
        m.cp.add(m.role_placed(job.podsets) >= 1).only_enforce_if(~whole)
        podsets = [m.instance.podsets[s] for s in job.podsets]
        unit = {(p.index, spot): k for p in podsets for spot, k in p.current.items()}
        m.lazily(partial(_has_no_room, m, job, unit, [whole]))
    for s in running:
        evicts = m.evicts(s)
        m.cp.add_bool_or(starts).only_enforce_if(evicts)
        for i, (spot, stay) in enumerate(m.stay[s].items()):
            pods = m.instance.podsets[s].current[spot]
            left = m.positive(("left", s, i), pods - stay, pods)
            given = [evicts, left] if whole is None else [evicts, left, ~whole]
            m.lazily(partial(_has_no_room, m, job, {(s, spot): 1}, given))


def _has_no_room(m: Variables, job: Job, unit: Unit, given: Sequence[LiteralT]) -> None:
    m.cp.add_bool_or(_reasons(m, job, unit)).only_enforce_if(given)


def _reasons(m: Variables, job: Job, unit: Unit) -> list[IntVar]:
    """Booleans, each of which can only be true if the unit does not fit back for one reason."""
    reasons: list[IntVar] = []
    if m.instance.on(Rule.CAPACITY):
        reasons += _node_full(m, job, unit)
    if m.instance.on(Rule.DEVICES):
        reasons += _device_full(m, job, unit)
    if m.instance.on(Rule.QUOTA) and job.queue is not None:
        reasons += _quota_full(m, job, unit)
    if m.instance.on(Rule.ANTI_AFFINITY):
        reasons += _repelled(m, job, unit)
    if m.instance.on(Rule.SPREAD):
        reasons += _out_of_balance(m, job, unit)
    return reasons


def _lesser(m: Variables, s: int, victim: Job) -> bool:
    """Whether arriving pods of a pod set may not evict the victim, so do not count."""
    return not m.instance.may_evict_for(m.instance.podsets[s].job, victim.index)


def _exceeds(
    m: Variables, key: object, load: LinearExprT, limit: int, came: LinearExprT | None = None
) -> IntVar:
    """Return a Boolean that can only be true if a load exceeds a limit, and somebody came."""

    def make() -> IntVar:
        answer = m.cp.new_bool_var(str(key))
        m.cp.add(load >= within(limit + 1)).only_enforce_if(answer)
        if came is not None:
            m.cp.add(came >= 1).only_enforce_if(answer)
        return answer

    return m.once(("exceeds", key), make)


def _node_full(m: Variables, job: Job, unit: Unit) -> Iterator[IntVar]:
    podsets = m.instance.podsets
    back: dict[int, list[tuple[int, int]]] = {}
    for (s, spot), pods in unit.items():
        back.setdefault(spot.node, []).append((s, pods))
    for n, returning in sorted(back.items()):
        for r, limit in enumerate(m.instance.nodes[n].capacity):
            added = sum(pods * podsets[s].requests[r] for s, pods in returning)
            if added and limit is not None:
                load = _load_without_lesser(m, n, r, job)
                key = ("node", n, r, job.priority, added)
                yield _exceeds(m, key, load, (limit - added) // m.unit[r])


def _load_without_lesser(m: Variables, n: int, r: int, job: Job) -> LinearExprT:
    def make() -> LinearExprT:
        podsets, scale = m.instance.podsets, m.unit[r]
        return weighted(
            [
                (var, podsets[s].requests[r] // scale)
                for s, var, new in m.on_node[n]
                if podsets[s].requests[r] and not (new and _lesser(m, s, job))
            ]
        )

    return m.load(("without lesser on node", n, r, job.priority), make)


def _device_full(m: Variables, job: Job, unit: Unit) -> Iterator[IntVar]:
    back: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (s, spot), pods in unit.items():
        for d in spot.devices:
            if d < len(m.instance.nodes[spot.node].devices):
                back.setdefault((spot.node, d), []).append((s, pods))
    for (n, d), returning in sorted(back.items()):
        for r, limit in enumerate(m.instance.nodes[n].devices[d].capacity):
            added = sum(pods * m.device_request(s, n, d)[r] for s, pods in returning)
            if added:
                scale = m.unit[r]
                load = weighted(
                    [
                        (var, m.device_request(s, n, d)[r] // scale)
                        for s, var, new in m.on_device.get((n, d), ())
                        if m.device_request(s, n, d)[r] and not (new and _lesser(m, s, job))
                    ]
                )
                key = ("device", n, d, r, job.priority, added)
                yield _exceeds(m, key, load, (limit - added) // scale)


def _use_without_lesser(m: Variables, q: int, r: int, job: Job) -> LinearExprT:
    def make() -> LinearExprT:
        return weighted(
            [
                (m.total(podset.index), podset.demand[r])
                for podset in m.instance.podsets
                if podset.demand[r]
                and m.instance.jobs[podset.job].queue == q
                and (podset.running or not _lesser(m, podset.index, job))
            ]
        )

    return m.load(("without lesser", q, r, job.priority), make)


def _quota_full(m: Variables, job: Job, unit: Unit) -> Iterator[IntVar]:
    assert job.queue is not None
    queue = m.instance.queues[job.queue]
    shared, standing = cohorts(m.instance), m.standing.queue
    for quota in queue.quotas:
        r = quota.resource
        added = sum(k * m.instance.podsets[s].demand[r] for (s, _), k in unit.items())
        if not added:
            continue
        limit = queue_limit(queue, quota)
        if limit is not None:
            use = _use_without_lesser(m, queue.index, r, job)
            key = ("queue", queue.index, r, job.priority, added)
            overdrawn = standing[queue.index][r] > limit
            came = _came(m, queue.index, r, job) if overdrawn else None
            yield _exceeds(m, key, use, limit - added, came)
        if queue.cohort:
            members = shared[queue.cohort, r]
            more, limit = {queue.index: added}, shared_limit(members)
            parts = {q.index: _beyond(m, q, of, job, more.get(q.index, 0)) for q, of in members}
            cohort = ("cohort", queue.index, r, job.priority, added)
            if shared_use(members, standing) <= limit:
                yield _exceeds(m, cohort, weighted([(x, 1) for x in parts.values()]), limit)
                continue
            for q, of in members:
                if isinstance(came := _came(m, q.index, r, job), int):
                    continue  # nobody new
                own = _use_without_lesser(m, q.index, r, job) + more.get(q.index, 0)
                beyond = own - within(of.guaranteed)
                used = counted_for(m, cohort, r, parts, q.index, beyond)
                yield _exceeds(m, (*cohort, q.index), used, limit, came)


def _came(m: Variables, q: int, r: int, victim: Job) -> LinearExprT:
    """New pods of a queue that use a resource and may evict a victim."""
    return weighted(
        [
            (m.total(podset.index), 1)
            for podset in m.instance.podsets
            if podset.demand[r]
            and not podset.running
            and m.instance.jobs[podset.job].queue == q
            and not _lesser(m, podset.index, victim)
        ]
    )


def _beyond(m: Variables, queue: Queue, quota: Quota, job: Job, added: int) -> LinearExprT:
    """Use beyond what a queue never lends, exactly, with some amount put back."""
    r = quota.resource
    use = _use_without_lesser(m, queue.index, r, job) + added
    if not quota.guaranteed:
        return use

    def make() -> IntVar:
        most = most_used(m.instance, queue.index, r) + added
        beyond = m.cp.new_int_var(0, most, f"beyond_back[{queue.index},{r},{job.index}]")
        m.cp.add_max_equality(beyond, [0, use - within(quota.guaranteed)])
        return beyond

    return m.once(("beyond_back", queue.index, r, job.priority, added), make)


def _repelled(m: Variables, job: Job, unit: Unit) -> Iterator[IntVar]:
    def comes(s: int) -> bool:
        return not _lesser(m, s, job)

    for t, term in enumerate(m.instance.anti_affinities):
        back: dict[str, tuple[int, int]] = {}
        for (s, spot), pods in unit.items():
            domain = m.instance.label_domain(spot.node, term.key)
            owner, other = s == term.owner, s in term.others
            if domain is not None and (owner or other):
                owners, others = back.get(domain, (0, 0))
                back[domain] = (owners + pods * owner, others + pods * other)
        if not back:
            continue
        domain_of = partial(m.instance.label_domain, key=term.key)
        sides = (term.owner,), term.others
        there = [by_domain(m, side, domain_of, comes=comes) for side in sides]
        for domain, (owners, others) in sorted(back.items()):
            allowed = 1 if term.owner in term.others else 0
            answer = m.cp.new_bool_var(f"repelled[{t},{domain},{job.index}]")
            present, near = (weighted(each.get(domain, [])) for each in there)
            m.cp.add(present + owners >= 1).only_enforce_if(answer)
            m.cp.add(near + others >= allowed + 1).only_enforce_if(answer)
            yield answer


def _out_of_balance(m: Variables, job: Job, unit: Unit) -> Iterator[IntVar]:
    """Pods that arrive and may evict the victim could not be where it is put back (R9)."""
    for i, spread in enumerate(m.instance.spreads):
        if _lesser(m, spread.owner, job) or not m.arrive[spread.owner]:
            continue
        domains = spread_domains(m.instance, spread)
        domain_of = {n: domain for domain, nodes in domains.items() for n in nodes}
        back = Counter[str]()
        for (s, spot), pods in unit.items():
            if s in spread.counted and spot.node in domain_of:
                back[domain_of[spot.node]] += pods
        if not back:
            continue
        key = i, job.priority, tuple(sorted(back.items()))
        counts = _counts_back(m, spread, domain_of, back, job)
        least = _least_back(m, key, spread, counts)
        for domain in sorted(back):
            arrive = m.arrive[spread.owner].items()
            came = weighted([(var, 1) for n, var in arrive if domain_of.get(n) == domain])
            answer = m.cp.new_bool_var(f"uneven[{i},{domain},{job.index}]")
            m.cp.add(came >= 1).only_enforce_if(answer)
            m.cp.add(counts[domain] >= spread.max_skew + 1 + least).only_enforce_if(answer)
            yield answer


def _counts_back(
    m: Variables, spread: Spread, domain_of: Mapping[int, str], back: Mapping[str, int], job: Job
) -> dict[str, LinearExprT]:
    """What a spread constraint counts in each domain, with a unit put back beside no lesser one."""
    found: dict[str, Terms] = {domain: [] for domain in dict.fromkeys(domain_of.values())}
    found |= by_domain(m, spread.counted, domain_of.get, comes=lambda s: not _lesser(m, s, job))
    return {domain: weighted(terms) + back.get(domain, 0) for domain, terms in found.items()}


def _least_back(
    m: Variables, key: Hashable, spread: Spread, counts: Mapping[str, LinearExprT]
) -> LinearExprT:
    """Pods in the emptiest domain, exactly; 0 if there are too few of them."""
    if len(counts) < spread.min_domains:
        return 0

    def make() -> IntVar:
        most = 2 * m.instance.pods_of(spread.counted)
        least = m.cp.new_int_var(0, most, f"least_back[{key}]")
        m.cp.add_min_equality(least, list(counts.values()))
        return least

    return m.once(("least back", key), make)
