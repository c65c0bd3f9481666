"""The metrics on a relaxation: expressions that are at most what a legal plan is measured at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.metrics import MOST
from kantopt.cp.relaxed.contents import CONTENTS, by_content
from kantopt.cp.relaxed.crossing import Gang, beyond_fewest
from kantopt.cp.relaxed.kinds import JobKind
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.variables import Terms, weighted
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.fewest import fewest_of_level
from kantopt.verify.disturbance import adds_up, disturbance
from kantopt.verify.in_use import fees_of
from kantopt.verify.metrics.allocation import offered_gpus
from kantopt.verify.metrics.displaced import running_part
from kantopt.verify.metrics.unplaced import core, role_weights, whole
from kantopt.verify.metrics.waiting import waits


def expression(m: Relaxation, tier: Tier) -> LinearExprT | None:
    """Return a lower bound of a tier as an expression; ``None`` if there is nothing to say.

    For every legal plan the relaxation has a solution in which all expressions are at most the
    values of the plan.
    """
    expr = _of_metric(m, tier)
    if expr is None or not tier.target:
        return expr
    over = m.cp.new_int_var(0, MOST, f"over[{tier.name}]")
    m.cp.add(over >= expr - tier.target)
    return over


def _of_metric(m: Relaxation, tier: Tier) -> LinearExprT | None:
    """Lower bound of the metric itself."""
    match tier.metric:
        case Metric.UNPLACED:
            return _unplaced_jobs(m, tier) if tier.unit == "jobs" else _unplaced(m, tier)
        case Metric.DISPLACED:
            return _displaced(m, tier)
        case (
            Metric.EVICTIONS
            | Metric.LOST_GPU_SECONDS
            | Metric.MOVES
            | Metric.MIGRATION_COST
            | Metric.DISRUPTION_COST
        ):
            return _disturbance(m, tier)
        case Metric.WAITING:
            return _waiting(m)
        case Metric.FAIR_SHARE:
            return weighted(_short(m))
        case Metric.ALLOCATION:
            return _allocation(m, tier)
        case Metric.NODES_IN_USE | Metric.COST | Metric.ENERGY:
            return _in_use(m, tier)
        case Metric.DOMAINS_CROSSED | Metric.EXCESS_NODES | Metric.EXCESS_GROUPS:
            return _closeness(m, tier)
        case metric if metric in CONTENTS:
            return by_content(m, tier)
        case _:
            return None


def _counted(m: Relaxation, tier: Tier) -> list[tuple[int, JobKind]]:
    return [(j, kind) for j, kind in enumerate(m.kinds.jobs) if tier.concerns(kind.one)]


def _unplaced_jobs(m: Relaxation, tier: Tier) -> LinearExprT:
    kinds = _counted(m, tier)
    jobs = sum(len(kind.jobs) for _, kind in kinds)
    return jobs - weighted([(m.satisfied[j], 1) for j, _ in kinds])


def _unplaced(m: Relaxation, tier: Tier) -> LinearExprT:
    """What is wanted and not placed; see :func:`measure_unplaced`.

    Of gangs that are full or empty the number of full ones says it exactly, else a member below
    minCount that is missing may be less than what the others have beyond theirs.
    """
    constant, terms = 0, Terms()
    for j, kind in _counted(m, tier):
        one, jobs = kind.one, len(kind.jobs)
        weights = role_weights(tier, m.instance, one)
        mass = core(tier, m.instance, one)
        wanted = whole(tier, m.instance, one)
        placed: Terms = [
            (m.placed(pods), -w)
            for w, role in zip(weights, kind.roles, strict=True)
            for pods in role
            if w
        ]
        missing = (jobs * (wanted if tier.surplus or not one.is_gang else mass), placed)
        if not one.is_gang:
            if not tier.surplus:
                constant, terms = constant + missing[0], terms + missing[1]
        elif m.instance.on(Rule.GANG) and not m.stands_short(kind):
            if tier.surplus:
                constant += missing[0] - jobs * mass
                terms += [*missing[1], (m.satisfied[j], mass)]
            else:
                constant += jobs * mass
                terms.append((m.satisfied[j], -mass))
        else:
            least = m.cp.new_int_var(0, max(0, missing[0]), f"missing[{j},{tier.unit}]")
            terms.append((least, 1))
            if tier.surplus:
                full = [*missing[1], (m.satisfied[j], mass)]
                m.cp.add(least >= weighted(full) + (missing[0] - jobs * mass))
            else:
                m.cp.add(least >= weighted(missing[1]) + missing[0])
    return weighted(terms) + constant


def _displaced(m: Relaxation, tier: Tier) -> LinearExprT:
    """What runs now and is evicted; of gangs, less what they have now above their minimum."""
    terms = Terms()
    for j, kind in _counted(m, tier):
        running = [pods for pods in kind.pods if pods.one.running]
        lost = [(m.evicted(pods), tier.weight(pods.one)) for pods in running if pods.evictable]
        if not kind.one.is_gang:
            terms += lost
            continue
        mass = sum(tier.weight(pods.one) * pods.count for pods in running)
        parts = (job for job in running_part(m.instance, tier) if job.index in kind.jobs)
        spare = mass - sum(core(tier, m.instance, job) for job in parts)
        least = m.cp.new_int_var(0, MOST, f"displaced[{j},{tier.unit}]")
        m.cp.add(least >= weighted(lost) - spare)
        terms.append((least, 1))
    return weighted(terms)


def _disturbance(m: Relaxation, tier: Tier) -> LinearExprT:
    terms = Terms()
    for j, kind in _counted(m, tier):
        if not adds_up(tier, kind.one):
            if j in m.victims:
                terms.append((m.victims[j], kind.one.disruption_cost))
            continue
        for pods in kind.pods:
            evicted, moved = disturbance(tier, kind.one, pods.one)
            if evicted and pods.evictable:
                terms.append((m.evicted(pods), evicted))
            if moved and pods.movable:
                terms.append((m.moved[pods.index], moved))
    return weighted(terms)


def _waiting(m: Relaxation) -> LinearExprT:
    waiting = [(j, kind) for j, kind in enumerate(m.kinds.jobs) if waits(m.instance, kind.one)]
    seconds = sum(len(kind.jobs) * kind.one.waited_seconds for _, kind in waiting)
    return seconds - weighted([(m.satisfied[j], kind.one.waited_seconds) for j, kind in waiting])


def _allocation(m: Relaxation, tier: Tier) -> LinearExprT:
    """GPUs of the nodes that count; all that pods hold anywhere is taken from them."""
    offered = offered_gpus(m.instance, tier)
    held = weighted([(m.placed(k), k.one.gpu_milli) for k in m.kinds.pods if k.one.gpu_milli])
    free = m.cp.new_int_var(0, offered, "unallocated")
    m.cp.add(free >= offered - held)
    return free


def _short(m: Relaxation) -> Terms:
    """What queues have less than they are entitled to."""
    terms = Terms()
    for q, entitled in enumerate(m.instance.entitled):
        held = weighted(
            [
                (m.placed(pods), pods.one.gpu_milli)
                for kind in m.kinds.jobs
                if kind.one.owner == q
                for pods in kind.pods
                if pods.one.gpu_milli
            ]
        )
        short = m.cp.new_int_var(0, entitled, f"short[{q}]")
        m.cp.add(short >= entitled - held)
        terms.append((short, 1))
    return terms


def _in_use(m: Relaxation, tier: Tier) -> LinearExprT | None:
    """Fees of nodes that it takes to hold what is in a class, where those that count not are full.

    Of a class the cheapest nodes are taken beside those that stay in use anyway. What GPUs draw
    that pods hold is left out.
    """
    nodes, fees, terms = counted(m.instance, tier), fees_of(m.instance, tier), Terms()
    stays: dict[int, set[int]] = {}
    for kind in m.kinds.pods:
        if not kind.fixed and any(m.instance.podsets[s].daemon for s in kind.podsets):
            return None  # what they take of their nodes does not keep these in use
        if kind.fixed:
            for s in kind.podsets:
                for spot in m.instance.podsets[s].current:
                    if m.instance.podsets[s].daemon or spot.node not in nodes:
                        continue
                    stays.setdefault(m.classes.class_of[spot.node], set()).add(spot.node)
    for c in m.classes.classes:
        here, anyway = nodes.intersection(c.nodes), stays.get(c.index, set())
        used = m.cp.new_int_var(len(anyway), len(here), f"in_use[{tier.metric},{c.index}]")
        for row in m.rows[c.index]:
            m.cp.add(m.load(c, row) <= row.largest * (used + len(c.nodes) - len(here)))
        others = sorted(fees[n] for n in here - anyway)
        terms.append((_cheapest(m, used - len(anyway), others), 1))
        terms.append((1, sum(fees[n] for n in anyway)))
    return weighted(terms)


def _cheapest(m: Relaxation, number: LinearExprT, fees: Sequence[int]) -> LinearExprT:
    """Fees of so many nodes, given in ascending order: a convex function, by its tangents."""
    if not fees or fees[0] == fees[-1]:
        return number * fees[0] if fees else 0
    total = m.cp.new_int_var(0, sum(fees), "fees")
    below = 0
    for k, fee in enumerate(fees):
        if k == 0 or fee > fees[k - 1]:
            m.cp.add(total >= below + fee * (number - k))
        below += fee
    return total


def _closeness(m: Relaxation, tier: Tier) -> LinearExprT:
    """Regions beyond the fewest: of gangs that cannot move as they stand, of others at best."""
    terms = Terms()
    gangs: dict[int | None, list[Gang]] = {}
    for j, excess in standing_beyond(m, tier):
        terms.append((m.kept(j), excess))
    for j, level, gang in close_gangs(m, tier):
        apart = None if level is None else m.spread(j, level, gang.roles, gang.fewest)
        if apart is None:
            gangs.setdefault(level, []).append(gang)
        elif not isinstance(apart, int):
            terms.append((apart, 1))
    for level, close in gangs.items():
        nodes = range(len(m.instance.nodes))
        regions = nodes if level is None else m.instance.topology.domain_of[level]
        terms.append((beyond_fewest(m, close, regions, f"{tier.metric}[{level}]"), 1))
    return weighted(terms)


def standing_beyond(m: Relaxation, tier: Tier) -> Iterator[tuple[int, int]]:
    """Kinds of jobs with pods that cannot move, and what each job uses beyond the fewest now."""
    position = m.close.index(tier)
    for j, kind in enumerate(m.kinds.jobs):
        excess = m.excess.get(kind.one.index)
        if excess and excess[position]:
            yield j, excess[position]


def close_gangs(m: Relaxation, tier: Tier) -> Iterator[tuple[int, int | None, Gang]]:
    """Kinds of gangs, by index, that should be close in a level (none: nodes), and can be."""
    standing = {j for j, _ in standing_beyond(m, tier)}
    for j, kind in enumerate(m.kinds.jobs):
        if j in standing:
            continue
        for level, roles, fewest in _wishes(m, tier, kind):
            pods = [pods for i in roles for pods in kind.roles[i]]
            if all(pods.arrives for pods in pods):
                yield j, level, Gang(kind, roles, fewest, m.satisfied[j])


def _wishes(
    m: Relaxation, tier: Tier, kind: JobKind
) -> Iterator[tuple[int | None, tuple[int, ...], int]]:
    """Level (none: nodes), roles and fewest regions of what jobs of a kind should be close in."""
    instance, one = m.instance, kind.one
    if tier.metric is Metric.DOMAINS_CROSSED:
        for need in m.needs.get(one.index, ()):
            if need.preferred is not None:
                fewest = fewest_of_level(instance, one.index, need.preferred, need.roles)
                yield need.preferred, need.roles, fewest
    elif one.is_gang and (tier.level is not None or tier.metric is Metric.EXCESS_NODES):
        roles = tuple(range(len(one.roles)))
        yield tier.level, roles, fewest_of_level(instance, one.index, tier.level)
