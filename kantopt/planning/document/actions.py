"""From a plan document back to actions, so that any plan can be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.errors import Problem
from kantopt.problem.actions import Action, Wave
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.answers.actions import Place, PlanAction, nodes_of, source_of, target_of
from kantopt.schema.answers.explanation import Steps
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan


def waves_of(
    instance: Instance, plan: Plan | Steps, file: str
) -> tuple[tuple[Wave, ...], list[Problem]]:
    """Return a plan's waves, and a problem for each job, pod set or node that is not known."""
    actions: dict[str, Action] = {}
    problems: list[Problem] = []
    kinds: tuple[tuple[str, Sequence[PlanAction]], ...] = (
        ("assignments", plan.assignments),
        ("evictions", plan.evictions),
        ("moves", plan.moves),
    )
    for kind, items in kinds:
        for i, item in enumerate(items):
            found = list(unknown_in(instance, item, file, f"{kind}[{i}]"))
            problems += found
            if not found:
                actions[item.id] = action_of(instance, item)
    waves = tuple(
        Wave(wave.id, wave.after, tuple(actions[a] for a in wave.actions if a in actions))
        for wave in plan.waves
    )
    return waves, problems


def unknown_in(instance: Instance, item: PlanAction, file: str, path: str) -> Iterator[Problem]:
    """Yield a problem for each node, job and pod set of an action that is not known."""
    fields = ("fromNode", "toNode") if isinstance(item, Move) else ("node",)
    for field, name in zip(fields, nodes_of(item), strict=True):
        if name not in instance.node_index:
            yield Problem(file, f"{path}.{field}", name, "a node of the snapshot")
    if item.job not in instance.job_index:
        yield Problem(file, f"{path}.job", item.job, "a job of the snapshot or the job lists")
        return
    job = instance.jobs[instance.job_index[item.job]]
    role = next((role for role in job.roles if role.name == item.pod_set), None)
    if role is None:
        names = ", ".join(role.name for role in job.roles)
        yield Problem(file, f"{path}.podSet", item.pod_set, f"a pod set of {item.job}: {names}")
    elif (role.pending if isinstance(item, Binding) else role.running) is None:
        state = "pending" if isinstance(item, Binding) else "running"
        yield Problem(file, f"{path}.podSet", item.pod_set, f"a pod set with {state} pods")


def action_of(instance: Instance, item: PlanAction) -> Action:
    """Return an action of which everything is known by numbers."""
    job = instance.jobs[instance.job_index[item.job]]
    role = next(role for role in job.roles if role.name == item.pod_set)
    source, target = _spot(instance, source_of(item)), _spot(instance, target_of(item))
    if isinstance(item, Binding):
        assert role.pending is not None
        return Action(
            item.id, "bind", role.pending, item.count, source, target, leftover=item.leftover
        )
    assert role.running is not None
    if isinstance(item, Eviction):
        return Action(item.id, "evict", role.running, item.count, source, target)
    return Action(item.id, "move", role.running, item.count, source, target, item.stopover)


def _spot(instance: Instance, place: Place | None) -> Spot | None:
    return None if place is None else Spot(instance.node_index[place[0]], place[1])
