"""What of a plan a target sees to, and what it leaves to others, action by action."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kantopt.errors import UsageError
from kantopt.render.targets import Asked
from kantopt.schema.answers.actions import PlanAction, in_waves, namespace_of, source_of, target_of
from kantopt.schema.answers.plan import Binding, Eviction, Plan
from kantopt.schema.by_kueue import by_kueue, waits_for_kueue
from kantopt.schema.hints import first_of, plural
from kantopt.schema.jobs import Job, PodRef, PodSet
from kantopt.schema.snapshot import HOSTNAME

Kind = Literal["evictions", "bindings", "moves"]
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """Some pods of an action, as a target takes them.

    With ``documents`` it sees to all of these pods, which ``advice`` may say more about; without,
    it leaves all of them to the reader of the advice.
    """

    wave: int
    kind: Kind
    job: str
    pods: int
    documents: tuple[Document, ...] = ()
    advice: str = ""
    for_job: str | None = None
    """Of an eviction: who comes in the victim's place."""


class Actions:
    """The actions of a plan by wave, with the jobs that they are of."""

    def __init__(self, plan: Plan) -> None:
        self.jobs: dict[str, Job] = {job.full_name: job for job in plan.jobs}
        self.after = {wave.id: wave.after for wave in plan.waves}
        self._hostnames = {node.name: node.hostname for node in plan.nodes}
        self._plan = plan

    def __iter__(self) -> Iterator[tuple[int, PlanAction]]:
        """Wave and action, in the plan's order of waves."""
        return in_waves(self._plan)

    def hostname(self, node: str) -> str:
        """Return the hostname label of a node, by which pods are sent to it; empty: it has none.

        What the plan knows nothing of but the name is taken to have that as its label.
        """
        return self._hostnames.get(node, node)

    def pod_set(self, action: PlanAction) -> PodSet | None:
        """Find the pod set that an action is of."""
        job = self.jobs.get(action.job)
        sets = () if job is None else job.pod_sets
        return next((item for item in sets if item.name == action.pod_set), None)


def kind_of(action: PlanAction) -> Kind:
    """Tell what an action is."""
    if isinstance(action, Binding):
        return "bindings"
    return "evictions" if isinstance(action, Eviction) else "moves"


def not_to_evict(action: PlanAction, actions: Actions) -> str:
    """Say why pods that a plan has go are not to be evicted one by one; empty if they are.

    Who is nominated has no node yet. To one that waits for it Kueue gives nothing but what a
    Workload has given back, which has to be stopped.
    """
    heir = actions.jobs.get(beneficiary(action) or "")
    victim, role = actions.jobs.get(action.job), actions.pod_set(action)
    if isinstance(action, Eviction) and role is not None and role.nominated:
        return "it is nominated and has no node yet: who is more important takes its room"
    if heir is None or victim is None or not (by_kueue(victim) and waits_for_kueue(heir)):
        return ""
    return "its Workload keeps its quota, and its pods are made anew, until --to kueue stops it"


def nameless(action: PlanAction, wave: int) -> list[Step]:
    """Leave pods to others that the plan counts and does not name."""
    rest = action.count - len(action.pods)
    if rest <= 0:
        return []
    who = f"{plural(rest, 'pod')} of {action.job} ({action.pod_set})"
    return [_left(action, wave, rest, who, "the plan has no names")]


def towards(action: PlanAction) -> str:
    """Say in words where pods go, or what they leave."""
    if isinstance(action, Binding):
        return f"to start on {action.node}"
    if isinstance(action, Eviction):
        return f"to evict from {action.node}"
    if source_of(action) == target_of(action):
        return f"to restart on {action.to_node}"
    return f"to move from {action.from_node} to {action.to_node}"


def unlabelled(node: str) -> str:
    """Say why nobody can be sent to a node."""
    return f"node {node} has no label {HOSTNAME}"


def left(action: PlanAction, wave: int, why: str, pod: PodRef | None = None) -> Step:
    """Leave the pods of an action to others, or one that is named, and say why."""
    if pod is None:
        return _left(action, wave, action.count, f"{action.count} of {action.job}", why)
    return _left(action, wave, 1, f"{namespace_of(action.job)}/{pod.name}", why)


def _left(action: PlanAction, wave: int, pods: int, who: str, why: str) -> Step:
    text, heir = f"{who} {towards(action)}: {why}", beneficiary(action)
    return Step(wave, kind_of(action), action.job, pods, advice=text, for_job=heir)


def pod_by_pod(
    actions: Actions,
    why_not: Callable[[PlanAction, PodRef, bool], str],
    documents: Callable[[int, PlanAction, PodRef], tuple[Document, ...]],
) -> list[Step]:
    """See to the pods of a plan one by one.

    Parameters
    ----------
    actions
        Those of the plan.
    why_not
        Says why a pod is left to others, nothing if it is not; told whether an earlier step has
        taken the pod of its name away.
    documents
        What sees to a pod, in a wave.
    """
    steps: list[Step] = []
    gone: set[tuple[str, str]] = set()
    for wave, action in actions:
        for pod in action.pods:
            key = (namespace_of(action.job), pod.name)
            if why := not_to_evict(action, actions) or why_not(action, pod, key in gone):
                steps.append(left(action, wave, why, pod))
                continue
            if not isinstance(action, Binding):
                gone.add(key)
            made, heir = documents(wave, action, pod), beneficiary(action)
            told = gates_kept(action, pod) if isinstance(action, Binding) else ""
            steps.append(Step(wave, kind_of(action), action.job, 1, made, told, for_job=heir))
        steps += nameless(action, wave)
    return steps


def gates_kept(action: PlanAction, pod: PodRef) -> str:
    """Say which scheduling gates keep a pod from its place until somebody removes them."""
    if not pod.scheduling_gates:
        return ""
    gates = ", ".join(pod.scheduling_gates)
    return f"{namespace_of(action.job)}/{pod.name} keeps its gates: {gates}"


def beneficiary(action: PlanAction) -> str | None:
    """Return the job that pods are evicted for."""
    return action.for_job if isinstance(action, Eviction) else None


def check_not_in_vain(steps: list[Step], asked: Asked, target: str) -> None:
    """Refuse evictions for pods that a target cannot bind.

    Raises
    ------
    UsageError
        If there are any and nobody said that they are wanted all the same.
    """
    unbound = {step.job for step in steps if step.kind == "bindings" and not step.documents}
    in_vain = [
        step
        for step in steps
        if step.kind == "evictions"
        and step.documents
        and unbound
        and (step.for_job is None or step.for_job in unbound)
    ]
    if in_vain and not asked.evict_anyway:
        pods = sum(step.pods for step in in_vain)
        raise UsageError(
            f"--to {target}: found {plural(pods, 'pod')} to evict for jobs that it cannot "
            f"bind ({first_of(sorted(unbound))}), expected --evict-anyway, or another target"
        )


def stopped(
    job: Job | None,
    victims: Sequence[tuple[int, Eviction]],
    what: str,
    why_not: str,
    document: Callable[[int], Document],
) -> list[Step]:
    """Stop a job by one document, if the plan evicts all of its running pods.

    Parameters
    ----------
    job
        The job as it runs before the plan.
    victims
        What the plan evicts of it, with waves, in their order.
    what
        What the target calls the job.
    why_not
        Why it cannot be stopped; empty if it can.
    document
        Made for a wave: it stops the job.
    """
    pods = sum(item.count for _, item in victims)
    running = 0 if job is None else job.running
    if not why_not and pods < running:
        why_not = f"{what} can only be stopped as a whole, {running} pods"
    if why_not:
        return [left(item, wave, why_not) for wave, item in victims]
    waves = sorted({wave for wave, _ in victims})
    first = victims[0][1].job
    said = f"{what}: stops {first}, {pods} pods"
    if waves[1:]:
        said += f"; the plan lets some of them go in later waves ({', '.join(map(str, waves[1:]))})"
    # Who comes instead of a part of them may come instead of any.
    heirs = {item.for_job for _, item in victims}
    heir = heirs.pop() if len(heirs) == 1 else None
    return [Step(waves[0], "evictions", first, pods, (document(waves[0]),), said, heir)]
