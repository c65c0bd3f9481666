"""What a plan says of itself, checked against what it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.planning.document.identity import identified
from kantopt.planning.document.timing import timed
from kantopt.schema.answers.actions import summary_of
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan, Standing, Unplaced
from kantopt.schema.answers.plan import Tier as Row
from kantopt.schema.base import Part
from kantopt.schema.dump import dump_data
from kantopt.verify.step import Violation


def false_claims(plan: Plan) -> list[Standing]:
    """Find what a plan says wrongly and that the plan alone shows to be wrong."""
    return [
        *_identity(plan),
        *_summary(plan),
        *_timing(plan),
        *_solver(plan),
        *_statuses(plan),
        *_missing(plan),
    ]


def as_standing(violation: Violation) -> Standing:
    """Write a violation down."""
    return Standing(rule=str(violation.rule), subject=violation.subject, message=violation.message)


def claim(subject: str, stated: object, measured: object) -> Standing:
    """Say what a plan states, and what is so."""
    return Standing(
        rule="claims", subject=subject, message=f"stated {_word(stated)}, found {_word(measured)}"
    )


def compared(subject: str, stated: object, measured: object) -> Iterator[Standing]:
    """Say so if a plan states something else than what is so."""
    if stated != measured:
        yield claim(subject, stated, measured)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _identity(plan: Plan) -> Iterator[Standing]:
    stated, true = plan.metadata.plan_id, identified(plan).metadata.plan_id
    yield from compared("metadata.planId", stated or "nothing", true)


def _summary(plan: Plan) -> Iterator[Standing]:
    true = summary_of(plan.assignments, plan.evictions, plan.moves, plan.unplaced)
    for name, field in type(true).model_fields.items():
        stated, fact = getattr(plan.summary, name), getattr(true, name)
        yield from compared(f"summary.{field.alias or name}", stated, fact)


def _timing(plan: Plan) -> Iterator[Standing]:
    """All of it follows from the plan's own moves, waves and model."""
    stated = plan.timing
    if stated is None:
        return  # nothing is said
    true = timed(plan, stated.reference)
    facts: list[tuple[str, Part, Part | None]] = [("timing", stated, true.timing)]
    facts += [(f"wave {w.id} timing", w, t) for w, t in zip(plan.waves, true.waves, strict=True)]
    for subject, said, fact in facts:
        told, found = dump_data(said), {} if fact is None else dump_data(fact)
        for name in sorted(told.keys() | found.keys()):
            one, other = told.get(name, "nothing"), found.get(name, "nothing")
            yield from compared(f"{subject} {name}", one, other)


def _solver(plan: Plan) -> Iterator[Standing]:
    solver = plan.solver
    if solver.reproducible and solver.found_by == "cp-sat" and not solver.deterministic:
        yield claim("solver.reproducible", True, "a plan found by cp-sat under a clock")


def needed_jobs(plan: Plan) -> list[str]:
    """Jobs that a plan speaks of, in its order."""
    items: tuple[Binding | Eviction | Move | Unplaced, ...] = (
        *plan.assignments,
        *plan.evictions,
        *plan.moves,
        *plan.unplaced,
    )
    return list(dict.fromkeys(item.job for item in items))


def _missing(plan: Plan) -> Iterator[Standing]:
    embedded = {job.full_name for job in plan.jobs}
    for name in needed_jobs(plan):
        if name not in embedded:
            yield claim(f"jobs {name}", "not embedded", "a job acted on or unplaced")


def _statuses(plan: Plan) -> Iterator[Standing]:
    names = tuple(tier.name for tier in plan.objectives)
    for i, tier in enumerate(plan.objectives):
        subject = f"objective {tier.name}"
        yield from _given(tier, names[:i])
        if tier.bound is not None and tier.bound > tier.value:
            yield claim(f"{subject} bound", tier.bound, f"at most the value {tier.value}")
        met = tier.bound == tier.value
        if tier.status == "OPTIMAL" and not met:
            bound = "no bound" if tier.bound is None else f"the bound {tier.bound}"
            yield claim(subject, f"OPTIMAL at {tier.value}", bound)
        if (tier.bound is None) is not (tier.proved_by == "none"):
            bound = "no bound" if tier.bound is None else f"the bound {tier.bound}"
            yield claim(f"{subject} provedBy", tier.proved_by, bound)
    open_tiers = [tier.name for tier in plan.objectives if tier.status != "OPTIMAL"]
    if plan.solver.status == "INFEASIBLE" and not plan.model.required:
        yield claim("solver.status", "INFEASIBLE", "nothing required")
    if plan.solver.status == "OPTIMAL" and open_tiers:
        yield claim("solver.status", "OPTIMAL", f"open tiers ({', '.join(open_tiers)})")


def _given(tier: Row, above: tuple[str, ...]) -> Iterator[Standing]:
    """A proof by search looks at all tiers above, one by arithmetic at all or none."""
    allowed = {"arithmetic": ((), above), "none": ((),)}.get(tier.proved_by, (above,))
    if tier.given not in allowed:
        yield claim(f"objective {tier.name} given", listed(tier.given), listed(allowed[-1]))


def listed(names: Sequence[str]) -> str:
    """Write names in a row; of none that there is nothing."""
    return ", ".join(names) or "nothing"
