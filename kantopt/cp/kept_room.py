"""Room of victims, kept from those who may not evict them: part of R10 priority.

For each priority q of victims: what stays, the victims of q and higher put back, and what arrives
and may not evict q, fit together. All of it is linear, node by node, device by device, queue by
queue; only where a pod set may both move and be evicted one Boolean says which it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.balance import arrives_in, balance, by_domain
from kantopt.cp.shared import counted_for
from kantopt.cp.units import most_used
from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.cluster import Queue, Quota, Spot
from kantopt.problem.job import AntiAffinity, Job, Spread
from kantopt.schema.model import Rule
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use
from kantopt.verify.rules.spread import spread_domains
from kantopt.verify.step import Step


def add_kept_room(m: Variables) -> None:
    """With victims of each priority put back, those that may not evict them have room."""
    done: set[tuple[frozenset[int], frozenset[int]]] = set()
    for priority in m.instance.priorities:
        kept = _sides(m, priority)
        sides = frozenset(kept.victims), frozenset(kept.arriving)
        if not all(sides) or sides in done:
            continue
        done.add(sides)
        if m.instance.on(Rule.CAPACITY):
            _nodes(m, kept)
        if m.instance.on(Rule.DEVICES):
            _devices(m, kept)
        if m.instance.on(Rule.QUOTA):
            _quotas(m, kept)
        if m.instance.on(Rule.ANTI_AFFINITY):
            for t, term in enumerate(m.instance.anti_affinities):
                _apart(m, kept, t, term)
        if m.instance.on(Rule.SPREAD):
            for i, spread in enumerate(m.instance.spreads):
                _balanced(m, kept, i, spread)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Who is put back for victims of a priority, and whose arrivals must leave them the room."""

    priority: int
    victims: tuple[int, ...]
    arriving: tuple[int, ...]


def _entitled(job: Job, priority: int) -> bool:
    """Whether a job may evict those of a priority."""
    return job.may_preempt and job.priority > priority


def _sides(m: Variables, priority: int) -> _Kept:
    victims, arriving = [], []
    evicting = False
    for podset in m.instance.podsets:
        s, job = podset.index, m.instance.jobs[podset.job]
        entitled = _entitled(job, priority)
        if m.may_lose(podset) and job.priority >= priority:
            victims.append(s)
        if m.arrive[s] and not entitled:
            arriving.append(s)
        evicting = evicting or (entitled and not podset.running and bool(m.arrive[s]))
    # Where nobody may evict, nobody is evicted: there is nothing to keep.
    return _Kept(priority, tuple(victims) if evicting else (), tuple(arriving))


def _given(m: Variables, kept: _Kept, rule: Rule) -> list[IntVar]:
    """What a limit depends on: without victims it is the rule itself, and holds if that does."""
    if rule in m.rules:
        return []
    evicted = weighted([(m.evicted(s), 1) for s in kept.victims])
    most = m.instance.pods_of(kept.victims)
    return [m.positive(("kept given", kept.priority), evicted, most)]


def _implied(m: Variables, rule: Rule, *, back: bool) -> bool:
    """Whether the rule itself says all there is to say of a place: nobody is put back there."""
    return not back and rule in m.rules


def _pods(m: Variables, s: int, spot: Spot) -> LinearExprT:
    """Pods of a possible victim on a spot with those put back that left it.

    At least that: who asks wants few.
    """
    pods = m.instance.podsets[s].current[spot]
    if not m.arrive[s]:
        return pods  # who leaves is evicted

    def make() -> IntVar:
        kept = m.cp.new_int_var(0, pods, f"kept[{s},{spot}]")
        m.cp.add(kept >= m.stay[s][spot])
        m.cp.add(kept >= pods * m.evicts(s))
        return kept

    return m.once(("kept", s, spot), make)


def _nodes(m: Variables, kept: _Kept) -> None:
    podsets = m.instance.podsets
    victims, arriving = set(kept.victims), set(kept.arriving)
    at: dict[int, list[tuple[int, Spot]]] = {}
    for s, spots in enumerate(m.stay):
        for spot in spots:
            at.setdefault(spot.node, []).append((s, spot))
    for n, node in enumerate(m.instance.nodes):
        arrive = [s for s, _, new in m.on_node[n] if new and s in arriving]
        here = at.get(n, []) if arrive else []
        for r, limit in enumerate(node.capacity):
            came = [s for s in arrive if podsets[s].requests[r]]
            if limit is None or not came:
                continue
            back = any(podsets[s].requests[r] for s, _ in here if s in victims)
            if _implied(m, Rule.CAPACITY, back=back):
                continue
            amounts = {s: podsets[s].requests[r] // m.unit[r] for s in {*came, *dict(here)}}
            load = [
                (_pods(m, s, spot) if s in victims else m.stay[s][spot], amounts[s])
                for s, spot in here
                if amounts[s]
            ]
            load += [(m.arrive[s][n], amounts[s]) for s in came]
            m.about("node", n)
            conditions = _given(m, kept, Rule.CAPACITY)
            if m.standing.node[n][r] > limit:
                conditions.append(_any(m, ("came", n, r, kept.priority), came, n))
            m.cp.add(_sum(load) <= limit // m.unit[r]).only_enforce_if(conditions)


def _any(m: Variables, key: tuple[object, ...], podsets: list[int], n: int) -> IntVar:
    """Whether pods of some pod sets arrive on a node (true if they do)."""
    most = m.instance.pods_of(podsets)
    return m.positive(key, weighted([(m.arrive[s][n], 1) for s in podsets]), most)


def _sum(terms: Terms) -> LinearExprT:
    """Sum of terms of which some are numbers."""
    known = sum(term * weight for term, weight in terms if isinstance(term, int))
    return weighted([(x, weight) for x, weight in terms if not isinstance(x, int)]) + known


def _devices(m: Variables, kept: _Kept) -> None:
    victims, arriving = set(kept.victims), set(kept.arriving)
    at: dict[tuple[int, int], list[tuple[int, Spot]]] = {}
    for s, spots in enumerate(m.stay):
        for spot in spots:
            for d in spot.devices:
                if d < len(m.instance.nodes[spot.node].devices):
                    at.setdefault((spot.node, d), []).append((s, spot))
    for n, d in sorted({*at, *m.on_device}):
        here = at.get((n, d), [])
        came = [s for s, _, new in m.on_device.get((n, d), ()) if new and s in arriving]
        for r, limit in enumerate(m.instance.nodes[n].devices[d].capacity):
            amounts = {s: m.device_request(s, n, d)[r] // m.unit[r] for s in {*came, *dict(here)}}
            asking = [s for s in came if amounts[s]]
            back = any(amounts[s] for s, _ in here if s in victims)
            if not asking or _implied(m, Rule.DEVICES, back=back):
                continue
            load = [
                (_pods(m, s, spot) if s in victims else m.stay[s][spot], amounts[s])
                for s, spot in here
                if amounts[s]
            ]
            load += [(m.use[s][n, d], amounts[s]) for s in asking]
            m.about("node", n)
            conditions = _given(m, kept, Rule.DEVICES)
            if m.standing.device[n][d][r] > limit:
                most = m.instance.pods_of(asking)
                used = weighted([(m.use[s][n, d], 1) for s in asking])
                conditions.append(m.positive(("came", n, d, r, kept.priority), used, most))
            m.cp.add(_sum(load) <= limit // m.unit[r]).only_enforce_if(conditions)


def _quotas(m: Variables, kept: _Kept) -> None:
    """Keep queues within their limits; what was used beyond may stay if nothing new comes."""
    standing = m.standing.queue
    for queue in m.instance.queues:
        for quota in queue.quotas:
            limit, r = queue_limit(queue, quota), quota.resource
            if limit is not None and _concerned(m, kept, [queue], r):
                m.about("queue", queue.index, r)
                had = standing[queue.index][r]
                came = _came(m, kept, queue, r) if had > limit else None
                _keep_within(m, kept, _use(m, kept, queue, r), limit, had, came)
    for (cohort, r), members in cohorts(m.instance).items():
        if _concerned(m, kept, [queue for queue, _ in members], r):
            m.about("cohort", members[0][0].index, r)
            limit, had = shared_limit(members), shared_use(members, standing)
            parts = {queue.index: _beyond(m, kept, queue, quota) for queue, quota in members}
            _keep_within(m, kept, _sum([(x, 1) for x in parts.values()]), limit, had, None)
            for queue, quota in members if had > limit else ():
                own = _use(m, kept, queue, r) - quota.guaranteed
                used = counted_for(m, (cohort, r, kept.priority), r, parts, queue.index, own)
                _keep_within(m, kept, used, limit, had, _came(m, kept, queue, r))


def _keep_within(
    m: Variables, kept: _Kept, used: LinearExprT, limit: int, had: int, came: IntVar | None
) -> None:
    """Keep a use within a limit; if it was beyond and nothing came, within what it was."""
    given = _given(m, kept, Rule.QUOTA)
    m.cp.add(used <= max(limit, had)).only_enforce_if(given)
    if came is not None:
        m.cp.add(used <= limit).only_enforce_if([*given, came])


def _came(m: Variables, kept: _Kept, queue: Queue, r: int) -> IntVar:
    """Whether pods come to a queue that use a resource (true if they do)."""
    podsets = m.instance.podsets
    terms: Terms = []
    for s in kept.arriving:
        own = m.instance.job_of(s).queue == queue.index
        if podsets[s].demand[r] and own and not podsets[s].running:
            terms += [(var, 1) for var in m.arrive[s].values()]
    most = sum(podsets[s].count for s in kept.arriving)
    return m.positive(("kept came", queue.index, r, kept.priority), weighted(terms), most)


def _concerned(m: Variables, kept: _Kept, queues: list[Queue], r: int) -> bool:
    """Whether arrivals use a resource of some queues, and victims do."""
    indices = {queue.index for queue in queues}
    back, came = (
        any(m.instance.podsets[s].demand[r] and m.instance.job_of(s).queue in indices for s in side)
        for side in (kept.victims, kept.arriving)
    )
    return came and not _implied(m, Rule.QUOTA, back=back)


def _use(m: Variables, kept: _Kept, queue: Queue, r: int) -> LinearExprT:
    """What a queue uses; of pods that stay, move or are put back each counts once."""
    victims, arriving = set(kept.victims), set(kept.arriving)
    terms: Terms = []
    for podset in m.instance.podsets:
        s, amount, job = podset.index, podset.demand[r], m.instance.jobs[podset.job]
        if amount and job.queue == queue.index:
            if podset.running and (s in victims or _entitled(job, kept.priority)):
                terms.append((podset.count, amount))
                continue
            terms += [(var, amount) for var in m.stay[s].values()]
            if s in arriving:
                terms += [(var, amount) for var in m.arrive[s].values()]
    return _sum(terms)


def _beyond(m: Variables, kept: _Kept, queue: Queue, quota: Quota) -> LinearExprT:
    """Use beyond what a queue never lends."""
    r = quota.resource
    use = _use(m, kept, queue, r)
    if not quota.guaranteed or isinstance(use, int):
        return use if not isinstance(use, int) else max(0, use - quota.guaranteed)
    key = ("beyond_kept", queue.index, r, kept.priority)
    return m.at_least(key, use - quota.guaranteed, most_used(m.instance, queue.index, r))


def _apart(m: Variables, kept: _Kept, t: int, term: AntiAffinity) -> None:
    victims, arriving = set(kept.victims), set(kept.arriving)
    involved = {term.owner, *term.others}
    back = bool(involved & victims)
    if not involved & arriving or _implied(m, Rule.ANTI_AFFINITY, back=back):
        return
    allowed = 1 if term.owner in term.others else 0
    standing = Step(m.instance, m.instance.nowhere, m.instance.current)
    owners_now = standing.count_by((term.owner,), term.key)
    others_now = standing.count_by(term.others, term.key)
    there: dict[str, tuple[Terms, Terms, Terms]] = {}
    for s in sorted(involved):
        for spot in m.stay[s]:
            domain = m.instance.label_domain(spot.node, term.key)
            if domain is not None:
                pods = _pods(m, s, spot) if s in victims else m.stay[s][spot]
                _count(there, term, domain, s, pods, new=False)
        for n, var in m.arrive[s].items() if s in arriving else ():
            domain = m.instance.label_domain(n, term.key)
            if domain is not None:
                _count(there, term, domain, s, var, new=True)
    for domain, (owners, others, came) in sorted(there.items()):
        if not came or not owners or not others:
            continue
        most = 2 * m.instance.pods_of(involved)
        key = (t, domain, kept.priority)
        m.about("term", t)
        owner = m.positive(("kept owner", *key), _sum(owners), most)
        conditions = [owner, *_given(m, kept, Rule.ANTI_AFFINITY)]
        if owners_now.get(domain, 0) and others_now.get(domain, 0) > allowed:
            conditions.append(m.positive(("kept more", *key), _sum(came), most))
        m.cp.add(_sum(others) <= allowed).only_enforce_if(conditions)


def _count(
    there: dict[str, tuple[Terms, Terms, Terms]],
    term: AntiAffinity,
    domain: str,
    s: int,
    pods: LinearExprT,
    *,
    new: bool,
) -> None:
    """Add pods in a domain to owners, others and arrivals, as they are."""
    owners, others, came = there.setdefault(domain, ([], [], []))
    if s == term.owner:
        owners.append((pods, 1))
    if s in term.others:
        others.append((pods, 1))
    if new:
        came.append((pods, 1))


def _balanced(m: Variables, kept: _Kept, i: int, spread: Spread) -> None:
    """Domains where victims were are no fuller for arrivals than if these were back."""
    victims, arriving = set(kept.victims), set(kept.arriving)
    if spread.owner not in arriving or victims.isdisjoint(spread.counted):
        return
    domains = spread_domains(m.instance, spread)
    domain_of = {n: domain for domain, nodes in domains.items() for n in nodes}
    there: dict[str, Terms] = {domain: [] for domain in domains}
    there |= by_domain(
        m,
        spread.counted,
        domain_of.get,
        comes=arriving.__contains__,
        stays=lambda s, spot: _pods(m, s, spot) if s in victims else m.stay[s][spot],
    )
    left = (spot.node for s in spread.counted if s in victims for spot in m.stay[s])
    back = {domain_of[n] for n in left if n in domain_of}
    _, least = balance(m, i, spread)
    for domain in sorted(back):
        arrive = m.arrive[spread.owner].items()
        came: Terms = [(var, 1) for n, var in arrive if domain_of.get(n) == domain]
        if came:
            here = arrives_in(m, i, spread, domain, came)
            conditions = [here, *_given(m, kept, Rule.SPREAD)]
            m.cp.add(_sum(there[domain]) <= spread.max_skew + least).only_enforce_if(conditions)
