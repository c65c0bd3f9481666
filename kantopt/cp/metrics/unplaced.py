"""M1 unplaced."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.rules.gang import stands_short, untouched_end
from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import Job
from kantopt.problem.tiers import Tier, concerned
from kantopt.schema.model import Rule
from kantopt.verify.metrics.unplaced import core, missing_core, role_weights, whole
from kantopt.verify.step import Step


def unplaced_expr(m: Variables, tier: Tier) -> LinearExprT:
    """What is wanted and not placed, running jobs that lose their place included."""
    jobs = concerned(m.instance, tier)
    if tier.unit == "jobs":
        return len(jobs) - weighted([(m.satisfied(job.index), 1) for job in jobs])
    terms: Terms = []
    for job in jobs:
        if tier.surplus:
            terms += [(_missing(m, tier, job), 1), (_missing_core(m, tier, job), -1)]
        else:
            terms.append((_missing_core(m, tier, job), 1))
    return weighted(terms)


def _missing(m: Variables, tier: Tier, job: Job) -> LinearExprT:
    weights = role_weights(tier, m.instance, job)
    return whole(tier, m.instance, job) - weighted(
        [(m.role_placed(role.podsets), w) for w, role in zip(weights, job.roles, strict=True) if w]
    )


def _missing_core(m: Variables, tier: Tier, job: Job) -> LinearExprT:
    """Weight of the members below minCount that are not placed; exactly, not just at least.

    With the gang rule on a gang ends full, empty or untouched, and each end has its constant.
    """
    if not job.is_gang:
        return _missing(m, tier, job)
    mass = core(tier, m.instance, job)
    if not mass:
        return 0
    if Rule.GANG in m.rules:
        lacking = mass - mass * m.satisfied(job.index)
        if not stands_short(m, job):
            return lacking
        step = Step(m.instance, m.instance.current, m.instance.current)
        untouched = untouched_end(m, job)
        now = [step.role_placed(role) for role in job.roles]
        return lacking - (mass - missing_core(tier, m.instance, job, now)) * untouched
    if job.min_count:
        return _short_in_all(m, tier, job, mass)
    terms: Terms = []
    for w, (i, role) in zip(role_weights(tier, m.instance, job), enumerate(job.roles), strict=True):
        if w and role.min_count:
            placed = m.role_placed(role.podsets)
            key = ("short", job.index, i)
            terms.append((_positive_part(m, key, role.min_count - placed, role.min_count), w))
    return weighted(terms)


def _short_in_all(m: Variables, tier: Tier, job: Job, mass: int) -> IntVar:
    """Core weight not placed, 0 as soon as the gang has its minimum."""

    def make() -> IntVar:
        weights = role_weights(tier, m.instance, job)
        placed = weighted(
            [(m.role_placed(role.podsets), w) for w, role in zip(weights, job.roles, strict=True)]
        )
        short = _positive_part(m, ("mass", job.index, tier.unit), mass - placed, mass)
        value = m.cp.new_int_var(0, mass, f"short_in_all[{job.index}]")
        full = _full(m, job)
        m.cp.add(value == short).only_enforce_if(~full)
        m.cp.add(value == 0).only_enforce_if(full)
        return value

    return m.once(("short_in_all", job.index, tier.unit), make)


def _full(m: Variables, job: Job) -> IntVar:
    """Whether a gang has its minimum in every role and in all, both ways."""

    def make() -> IntVar:
        needs = [(role.podsets, role.min_count) for role in job.roles if role.min_count]
        if job.min_count:
            needs.append((job.podsets, job.min_count))
        meets = []
        for i, (podsets, least) in enumerate(needs):
            meets.append(m.cp.new_bool_var(f"meets[{job.index},{i}]"))
            placed = m.role_placed(podsets)
            m.cp.add(placed >= least).only_enforce_if(meets[-1])
            m.cp.add(placed <= least - 1).only_enforce_if(~meets[-1])
        answer = m.cp.new_bool_var(f"full[{job.index}]")
        m.cp.add_min_equality(answer, meets)
        return answer

    return m.once(("full", job.index), make)


def _positive_part(m: Variables, key: tuple[object, ...], expr: LinearExprT, most: int) -> IntVar:
    def make() -> IntVar:
        part = m.cp.new_int_var(0, most, str(key))
        m.cp.add_max_equality(part, [0, expr])
        return part

    return m.once(key, make)
