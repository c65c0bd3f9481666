"""Which disruption budgets the preemptions between two dumps went beyond."""

from __future__ import annotations

from kantopt.planning.question import Question
from kantopt.problem.cluster import Budget
from kantopt.schema.answers.history import History
from kantopt.schema.answers.plan import Standing
from kantopt.schema.model import Model, Rule
from kantopt.schema.snapshot import PodDisruptionBudget


def by_budget(first: Question, history: History, model: Model) -> tuple[tuple[Budget, int], ...]:
    """Return the budgets of the first dump, each with how many of its pods were preempted."""
    victims = {fate.uid or fate.pod for fate in history.gone if fate.became == "preempted"}
    if not victims or not first.snapshot.pod_disruption_budgets:
        return ()
    instance = first.instance(model)
    taken = [0] * len(instance.budgets)
    for job, document in zip(instance.jobs, first.documents(instance), strict=True):
        podsets = {podset.name: podset for podset in document.pod_sets}
        for role in job.roles:
            if role.running is None:
                continue
            pods = podsets[role.name].placed_refs
            count = sum((pod.uid or f"{job.namespace}/{pod.name}") in victims for pod in pods)
            for b in instance.podsets[role.running].budgets:
                taken[b] += count
    return tuple(zip(instance.budgets, taken, strict=True))


def broken(first: Question, history: History, model: Model) -> tuple[Standing, ...]:
    """Return the budgets that preemption went beyond: a scheduler may, an executor may not."""
    return tuple(
        Standing(
            rule=Rule.DISRUPTION.value,
            subject=f"budget {budget.name}",
            message=f"{taken} of {budget.allowed} pods preempted",
        )
        for budget, taken in by_budget(first, history, model)
        if taken > budget.allowed
    )


def raised(
    budgets: tuple[PodDisruptionBudget, ...], first: Question, history: History, model: Model
) -> tuple[PodDisruptionBudget, ...]:
    """Return the budgets as the first dump has them, but that they bear what was done.

    So what was done is open to better plans, too, and nothing beyond.
    """
    known = {(item.namespace, item.name): item for item in first.snapshot.pod_disruption_budgets}
    most = {budget.name: max(n, budget.allowed) for budget, n in by_budget(first, history, model)}
    changed = []
    for budget in budgets:
        was = known.get((budget.namespace, budget.name), budget)
        allowed = most.get(budget.full_name)
        if allowed is not None:
            limits = {"disruptions_allowed": allowed, "min_available": None}
            was = was.model_copy(update={**limits, "max_unavailable": None})
        changed.append(was)
    return tuple(changed)
