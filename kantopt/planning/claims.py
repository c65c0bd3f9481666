"""What a plan says of itself, checked against what it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kantopt.planning.goals import goal_rows
from kantopt.planning.question import Question
from kantopt.planning.timing import timed
from kantopt.problem.chosen import asked_for
from kantopt.problem.instance import Instance
from kantopt.problem.memory import memory_of
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.base import Part
from kantopt.schema.dump import canonical_digest, dump_data
from kantopt.schema.plan import Binding, Eviction, Move, Plan, Standing, Unplaced
from kantopt.schema.plan import Tier as Row
from kantopt.verify.metrics import bound_of, bounds, measure
from kantopt.verify.rules.priority import preemptor
from kantopt.verify.step import Step, Violation

_Facts = dict[str, int | bool]
_Place = tuple[str, str, str, tuple[int, ...]]
"""Job, pod set, node and devices; no node for pending pods."""


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


def false_standing(plan: Plan, standing: Sequence[Violation]) -> list[Standing]:
    """Find what a plan calls wrong before and is not, and what it leaves out of that.

    ``standing`` is what is wrong with the snapshot as it stands, under the plan's own model.
    """
    stated = Counter((item.subject, f"{item.rule} {item.message}") for item in plan.pre_existing)
    true = Counter((item.subject, f"{item.rule} {item.message}") for item in standing)
    findings = [_claim(f"preExisting {s}", said, "nothing") for s, said in (stated - true)]
    return findings + [_claim(f"preExisting {s}", "nothing", fact) for s, fact in (true - stated)]


def false_jobs(question: Question, plan: Plan, *, same: bool) -> list[Standing]:
    """Find embedded jobs that differ from those given, and pending ones that are not embedded.

    ``same`` tells that the snapshot is the one that the plan was made for: then a running job that
    it does not know was never there.
    """
    given = {f"{job.namespace}/{job.name}": job for job in question.jobs}
    embedded = {f"{job.namespace}/{job.name}": job for job in plan.jobs}
    findings = []
    for name, job in embedded.items():
        if name not in given:
            if same:
                findings.append(_claim(f"jobs {name}", "embedded", "no such job"))
            continue
        said, true = dump_data(job), dump_data(given[name])
        differing = sorted(key for key in said.keys() | true if said.get(key) != true.get(key))
        if differing:
            findings.append(_claim(f"jobs {name}", f"other {', '.join(differing)}", "those given"))
    told = frozenset(_needed(plan))
    for name, job in given.items():
        placed = {podset.name: sum(a.count for a in podset.assignments) for podset in job.pod_sets}
        pending = any(podset.count > placed[podset.name] for podset in job.pod_sets)
        pending = pending and asked_for(job, plan.model.pending)
        if pending and name not in embedded and name not in told:
            findings.append(_claim(f"jobs {name}", "not embedded", "a pending job"))
    return findings


def false_figures(
    question: Question, instance: Instance, plan: Plan, final: Placement
) -> list[Standing]:
    """Find what a plan says wrongly of the cluster: values, victims, pods, what stays unplaced.

    Parameters
    ----------
    question
        The documents, which know the pods by name.
    instance
        The question under the plan's own model.
    final
        The placement that the plan ends with.
    """
    return [
        *_tiers(instance, plan, final),
        *_goals(instance, plan, final),
        *_unplaced(instance, plan, final),
        *_victims(instance, plan, final),
        *_cascade(instance, plan),
        *_pods(question, plan),
        *_nodes(question, plan),
    ]


def _claim(subject: str, stated: object, measured: object) -> Standing:
    return Standing(
        rule="claims", subject=subject, message=f"{_word(stated)} stated of {_word(measured)}"
    )


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _identity(plan: Plan) -> Iterator[Standing]:
    bare = plan.model_copy(update={"metadata": plan.metadata.model_copy(update={"plan_id": ""})})
    digest = canonical_digest(bare)
    if plan.metadata.plan_id != digest:
        yield _claim("metadata.planId", plan.metadata.plan_id or "nothing", digest)


def _summary(plan: Plan) -> Iterator[Standing]:
    placed = sum(item.count for item in plan.assignments)
    evicted = sum(item.count for item in plan.evictions)
    moved = sum(item.count for item in plan.moves if not item.stopover)
    facts: _Facts = {
        "placed_jobs": len({item.job for item in plan.assignments}),
        "placed_pods": placed,
        "unplaced_jobs": len(plan.unplaced),
        "unplaced_pods": sum(item.pods for item in plan.unplaced),
        "evicted_pods": evicted,
        "moved_pods": moved,
        "stopovers": sum(item.count for item in plan.moves if item.stopover),
        "changes": bool(placed or evicted or moved),
    }
    for name, fact in facts.items():
        stated = getattr(plan.summary, name)
        if stated != fact:
            alias = type(plan.summary).model_fields[name].alias or name
            yield _claim(f"summary.{alias}", stated, fact)


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
            if told.get(name) != found.get(name):
                one, other = told.get(name, "nothing"), found.get(name, "nothing")
                yield _claim(f"{subject} {name}", one, other)


def _solver(plan: Plan) -> Iterator[Standing]:
    solver = plan.solver
    if solver.reproducible and solver.found_by == "cp-sat" and not solver.deterministic:
        yield _claim("solver.reproducible", True, "a plan found by cp-sat under a clock")


def _needed(plan: Plan) -> list[str]:
    """Jobs that a plan speaks of, in its order."""
    items: tuple[Binding | Eviction | Move | Unplaced, ...] = (
        *plan.assignments,
        *plan.evictions,
        *plan.moves,
        *plan.unplaced,
    )
    return list(dict.fromkeys(item.job for item in items))


def _missing(plan: Plan) -> Iterator[Standing]:
    embedded = {f"{job.namespace}/{job.name}" for job in plan.jobs}
    for name in _needed(plan):
        if name not in embedded:
            yield _claim(f"jobs {name}", "not embedded", "a job acted on or unplaced")


def _given(tier: Row, above: tuple[str, ...]) -> Iterator[Standing]:
    """A proof by search looks at all tiers above, one by arithmetic at all or none."""
    allowed = {"arithmetic": ((), above), "none": ((),)}.get(tier.proved_by, (above,))
    if tier.given not in allowed:
        yield _claim(f"objective {tier.name} given", _list(tier.given), _list(allowed[-1]))


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"


def _statuses(plan: Plan) -> Iterator[Standing]:
    names = tuple(tier.name for tier in plan.objectives)
    for i, tier in enumerate(plan.objectives):
        subject = f"objective {tier.name}"
        yield from _given(tier, names[:i])
        if tier.bound is not None and tier.bound > tier.value:
            yield _claim(f"{subject} bound", tier.bound, f"at most the value {tier.value}")
        met = tier.bound == tier.value
        if tier.status == "OPTIMAL" and not met:
            bound = "no bound" if tier.bound is None else f"the bound {tier.bound}"
            yield _claim(subject, f"OPTIMAL at {tier.value}", bound)
        if (tier.bound is None) is not (tier.proved_by == "none"):
            bound = "no bound" if tier.bound is None else f"the bound {tier.bound}"
            yield _claim(f"{subject} provedBy", tier.proved_by, bound)
    open_tiers = [tier.name for tier in plan.objectives if tier.status != "OPTIMAL"]
    if plan.solver.status == "OPTIMAL" and open_tiers:
        yield _claim("solver.status", "OPTIMAL", f"open tiers ({', '.join(open_tiers)})")


def _tiers(instance: Instance, plan: Plan, final: Placement) -> Iterator[Standing]:
    tiers = tiers_of(instance)
    stated = [tier.name for tier in plan.objectives]
    names = [tier.name for tier in tiers]
    if stated != names:
        yield _claim("objectives", ", ".join(stated) or "none", ", ".join(names) or "none")
        return
    before = measure(instance, instance.current, tiers)
    values = measure(instance, final, tiers)
    least = bounds(instance, tiers, values)
    for i, row in enumerate(plan.objectives):
        was, value, bound = before[i], values[i], least[i]
        subject = f"objective {row.name}"
        if row.before != was:
            yield _claim(f"{subject} before", row.before, was)
        if row.value != value:
            yield _claim(f"{subject} value", row.value, value)
        if row.proved_by != "arithmetic" or row.bound is None:
            continue
        if row.bound > bound:
            yield _claim(f"{subject} bound by arithmetic", row.bound, bound)
        elif not row.given and row.bound > bound_of(tiers[i], instance, {}):
            yield _claim(f"{subject} given", "nothing", _list(names[:i]))


def _goals(instance: Instance, plan: Plan, final: Placement) -> Iterator[Standing]:
    stated = {goal.objective: goal for goal in plan.goals}
    facts = {goal.objective: goal for goal in goal_rows(instance, final)}
    for name in sorted(stated.keys() | facts.keys()):
        said, true = stated.get(name), facts.get(name)
        if said is None or true is None:
            yield _claim(
                f"goal {name}", *("nothing" if x is None else "a goal" for x in (said, true))
            )
            continue
        for field in type(true).model_fields:
            if getattr(said, field) != getattr(true, field):
                yield _claim(f"goal {name} {field}", getattr(said, field), getattr(true, field))


def _unplaced(instance: Instance, plan: Plan, final: Placement) -> Iterator[Standing]:
    facts = {}
    for job in instance.jobs:
        pending = [instance.podsets[s] for s in job.podsets if not instance.podsets[s].running]
        wanted = sum(podset.count for podset in pending)
        left = wanted - sum(final.placed(podset.index) for podset in pending)
        if left:
            facts[job.name] = f"{left} of {wanted} pods at priority {job.priority}"
    stated = {
        item.job: f"{item.pods} of {item.wanted} pods at priority {item.priority}"
        for item in plan.unplaced
    }
    for name in sorted(facts.keys() | stated.keys()):
        if stated.get(name) != facts.get(name):
            yield _claim(
                f"unplaced {name}", stated.get(name, "nothing"), facts.get(name, "nothing")
            )


def _victims(instance: Instance, plan: Plan, final: Placement) -> Iterator[Standing]:
    step = Step(instance, instance.current, final)
    reasons: dict[int, str | None] = {}
    items: tuple[Eviction | Move, ...] = (*plan.evictions, *plan.moves)
    for item in items:
        job = instance.jobs[instance.job_index[item.job]]
        role = next(role for role in job.roles if role.name == item.pod_set)
        podset = instance.podsets[role.podsets[0]]
        restarts = isinstance(item, Eviction) or item.mode == "restart"
        budgets = {instance.budgets[b].name for b in podset.budgets} if restarts else set()
        if set(item.budgets) != budgets:
            stated = ", ".join(item.budgets) or "none"
            yield _claim(f"{item.id} budgets", stated, ", ".join(sorted(budgets)) or "none")
        if isinstance(item, Move):
            if item.mode != job.move_mode:
                yield _claim(f"{item.id} mode", item.mode, job.move_mode)
            memory = item.count * memory_of(instance, podset) if job.move_mode == "live" else 0
            if plan.timing is not None and item.memory_bytes != memory:
                yield _claim(f"{item.id} memoryBytes", item.memory_bytes, memory)
            continue
        if item.priority != job.priority:
            yield _claim(f"{item.id} priority", item.priority, job.priority)
        if job.index not in reasons:
            other = preemptor(step, job)
            reasons[job.index] = None if other is None else other.name
        if item.for_job != reasons[job.index]:
            yield _claim(
                f"{item.id} for", item.for_job or "nothing", reasons[job.index] or "nothing"
            )


def _cascade(instance: Instance, plan: Plan) -> Iterator[Standing]:
    """Whoever is pushed out next gives way to a victim of the round before that may push it out."""
    if plan.cascade is None:
        return
    depth = sum(1 for each in plan.cascade.rounds if each.evicted)
    if plan.cascade.depth != depth:
        yield _claim("cascade depth", plan.cascade.depth, depth)
    before = {item.job for item in plan.evictions}
    for i, each in enumerate(plan.cascade.rounds, 1):
        for pushed in each.evicted:
            subject = f"cascade round {i} {pushed.job}"
            j = instance.job_index.get(pushed.job)
            other = instance.job_index.get(pushed.for_job or "")
            if j is None:
                yield _claim(subject, "evicted", "no such job")
            elif pushed.priority != instance.jobs[j].priority:
                yield _claim(f"{subject} priority", pushed.priority, instance.jobs[j].priority)
            elif instance.strict and (
                other is None
                or pushed.for_job not in before
                or not instance.may_evict_for(other, j)
            ):
                known = ", ".join(sorted(before)) or "nothing"
                yield _claim(f"{subject} for", pushed.for_job or "nothing", known)
        before = {pushed.job for pushed in each.evicted}


def _pods(question: Question, plan: Plan) -> Iterator[Standing]:
    """Pods named by actions are there: whoever follows the plan acts on these names."""
    known: dict[_Place, Counter[tuple[str, str]]] = {}
    for job in question.jobs:
        name = f"{job.namespace}/{job.name}"
        for podset in job.pod_sets:
            key: _Place = (name, podset.name, "", ())
            known.setdefault(key, Counter()).update((pod.name, pod.uid) for pod in podset.pods)
            for place in podset.assignments:
                key = (name, podset.name, place.node, tuple(sorted(place.devices)))
                known.setdefault(key, Counter()).update((pod.name, pod.uid) for pod in place.pods)
    for move in plan.moves:
        if move.stopover and move.mode == "live":
            key = (move.job, move.pod_set, move.to_node, tuple(sorted(move.to_devices)))
            known.setdefault(key, Counter()).update((pod.name, pod.uid) for pod in move.pods)
    items: tuple[Binding | Eviction | Move, ...] = (
        *plan.assignments,
        *plan.evictions,
        *plan.moves,
    )
    for item in items:
        if len(item.pods) > item.count:
            yield _claim(
                f"{item.id} pods",
                f"{len(item.pods)} names",
                f"{item.count} pod" + "s" * (item.count != 1),
            )
        where: tuple[str, tuple[int, ...]] = ("", ())
        if isinstance(item, Eviction):
            where = (item.node, tuple(sorted(item.devices)))
        elif isinstance(item, Move):
            where = (item.from_node, tuple(sorted(item.from_devices)))
        there = known.get((item.job, item.pod_set, *where), Counter())
        for pod in item.pods:
            there[pod.name, pod.uid] -= 1
            if there[pod.name, pod.uid] < 0:
                at = "the pending pods" if isinstance(item, Binding) else f"the pods on {where[0]}"
                uid = f" (uid {pod.uid})" if pod.uid else ""
                yield _claim(f"{item.id} pod", f"{pod.name}{uid}", f"{at} of {item.job}")


def _nodes(question: Question, plan: Plan) -> Iterator[Standing]:
    """Nodes that a plan names are the ones that it means."""
    uids = {node.name: node.uid for node in question.snapshot.nodes}
    for node in plan.nodes:
        there = uids.get(node.name)
        if there is None:
            yield _claim(f"nodes {node.name}", "a node", "no such node")
        elif node.uid != there:
            yield _claim(f"nodes {node.name}", f"uid {node.uid}", f"uid {there or 'unknown'}")
