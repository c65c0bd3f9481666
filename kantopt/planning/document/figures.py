"""What a plan says of the cluster, measured on it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kantopt.planning.document.claims import claim, compared, listed
from kantopt.planning.document.goals import goal_rows
from kantopt.planning.document.left import jobs_short
from kantopt.planning.failing import bears_of
from kantopt.planning.question import Question
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.memory import moved_bytes
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.plan import Eviction, Move, Plan, Standing
from kantopt.verify.metrics import bound_of, bounds, measure
from kantopt.verify.step import Step, Violation
from kantopt.verify.victims.ending import for_good
from kantopt.verify.victims.preemptors import preemptors_of


def false_figures(
    question: Question, instance: Instance, plan: Plan, final: Placement, asked: Placement
) -> list[Standing]:
    """Find what a plan says wrongly of the cluster: values, victims, what stays unplaced.

    Parameters
    ----------
    question, instance
        The question, and under the plan's own model.
    final
        The placement that the plan ends with.
    asked
        The same without what fills left-over room: what its objectives are about.
    """
    return [
        *_tiers(instance, plan, asked),
        *_goals(instance, plan, final),
        *_unplaced(instance, plan, final),
        *_victims(question, instance, plan, asked),
        *_cascade(instance, plan),
    ]


def false_standing(plan: Plan, standing: Sequence[Violation]) -> list[Standing]:
    """Find what a plan calls wrong before and is not, and what it leaves out of that.

    ``standing`` is what is wrong with the snapshot as it stands, under the plan's own model.
    """
    stated = Counter((item.subject, f"{item.rule} {item.message}") for item in plan.pre_existing)
    true = Counter((item.subject, f"{item.rule} {item.message}") for item in standing)
    findings = [claim(f"preExisting {s}", said, "nothing") for s, said in (stated - true)]
    return findings + [claim(f"preExisting {s}", "nothing", fact) for s, fact in (true - stated)]


def _tiers(instance: Instance, plan: Plan, final: Placement) -> Iterator[Standing]:
    tiers = tiers_of(instance)
    stated = [tier.name for tier in plan.objectives]
    names = [tier.name for tier in tiers]
    if stated != names:
        yield claim("objectives", ", ".join(stated) or "none", ", ".join(names) or "none")
        return
    before = measure(instance, instance.current, tiers)
    values = measure(instance, final, tiers)
    least = bounds(instance, tiers, values)
    for i, row in enumerate(plan.objectives):
        was, value, bound = before[i], values[i], least[i]
        subject = f"objective {row.name}"
        yield from compared(f"{subject} before", row.before, was)
        yield from compared(f"{subject} value", row.value, value)
        if row.proved_by != "arithmetic" or row.bound is None:
            continue
        if row.bound > bound:
            yield claim(f"{subject} bound by arithmetic", row.bound, bound)
        elif not row.given and row.bound > bound_of(tiers[i], instance, {}):
            yield claim(f"{subject} given", "nothing", listed(names[:i]))


def _goals(instance: Instance, plan: Plan, final: Placement) -> Iterator[Standing]:
    stated = {goal.objective: goal for goal in plan.goals}
    facts = {goal.objective: goal for goal in goal_rows(instance, final)}
    for name in sorted(stated.keys() | facts.keys()):
        said, true = stated.get(name), facts.get(name)
        if said is None or true is None:
            yield claim(
                f"goal {name}", *("nothing" if x is None else "a goal" for x in (said, true))
            )
            continue
        for field in type(true).model_fields:
            one, other = getattr(said, field), getattr(true, field)
            yield from compared(f"goal {name} {field}", one, other)


def _unplaced(instance: Instance, plan: Plan, final: Placement) -> Iterator[Standing]:
    short = jobs_short(instance, final)
    facts = {job.name: _short(left, wanted, job.priority) for job, left, wanted in short}
    stated = {item.job: _short(item.pods, item.wanted, item.priority) for item in plan.unplaced}
    for name in sorted(facts.keys() | stated.keys()):
        one, other = stated.get(name, "nothing"), facts.get(name, "nothing")
        yield from compared(f"unplaced {name}", one, other)


def _short(pods: int, wanted: int, priority: int) -> str:
    return f"{pods} of {wanted} pods at priority {priority}"


def _victims(
    question: Question, instance: Instance, plan: Plan, final: Placement
) -> Iterator[Standing]:
    step = Step(instance, instance.current, final)
    preemptors, over = preemptors_of(step), for_good(step, bears_of(question, instance))
    items: tuple[Eviction | Move, ...] = (*plan.evictions, *plan.moves)
    for item in items:
        job = instance.jobs[instance.job_index[item.job]]
        role = next(role for role in job.roles if role.name == item.pod_set)
        podset = instance.podsets[role.podsets[0]]
        restarts = isinstance(item, Eviction) or item.mode == "restart"
        budgets = {instance.budgets[b].name for b in podset.budgets} if restarts else set()
        if set(item.budgets) != budgets:
            stated = ", ".join(item.budgets) or "none"
            yield claim(f"{item.id} budgets", stated, ", ".join(sorted(budgets)) or "none")
        if isinstance(item, Move):
            yield from compared(f"{item.id} mode", item.mode, job.move_mode)
            if plan.timing is not None:
                memory = moved_bytes(instance, podset.index, item.count)
                yield from compared(f"{item.id} memoryBytes", item.memory_bytes, memory)
            continue
        yield from compared(f"{item.id} priority", item.priority, job.priority)
        yield from compared(f"{item.id} forGood", item.for_good, job.index in over)
        spot = Spot(instance.node_index[item.node], item.devices)
        other = preemptors.of(podset.index, spot)
        if item.for_job != (None if other is None else other.name):
            yield claim(
                f"{item.id} for", item.for_job or "nothing", other.name if other else "nothing"
            )


def _cascade(instance: Instance, plan: Plan) -> Iterator[Standing]:
    """Whoever is pushed out next gives way to a victim of the round before that may push it out."""
    if plan.cascade is None:
        return
    depth = sum(1 for each in plan.cascade.rounds if each.evicted)
    yield from compared("cascade depth", plan.cascade.depth, depth)
    ends = [not each.evicted for each in plan.cascade.rounds]
    if any(ends[:-1]):
        yield claim("cascade rounds", len(ends), f"{ends.index(True) + 1}, the last to push nobody")
    if plan.cascade.complete and not any(ends[-1:]):
        yield claim("cascade complete", "true", "a last round that pushes somebody out")
    before = {item.job for item in plan.evictions}
    for i, each in enumerate(plan.cascade.rounds, 1):
        for pushed in each.evicted:
            subject = f"cascade round {i} {pushed.job}"
            j = instance.job_index.get(pushed.job)
            other = instance.job_index.get(pushed.for_job or "")
            if j is None:
                yield claim(subject, "evicted", "no such job")
            elif pushed.priority != instance.jobs[j].priority:
                yield claim(f"{subject} priority", pushed.priority, instance.jobs[j].priority)
            elif instance.strict and (
                other is None
                or pushed.for_job not in before
                or not instance.may_evict_for(other, j)
            ):
                known = ", ".join(sorted(before)) or "nothing"
                yield claim(f"{subject} for", pushed.for_job or "nothing", known)
        before = {pushed.job for pushed in each.evicted}
