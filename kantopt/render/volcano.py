"""A plan for Volcano, which takes no placements: jobs are aborted, gated pods given selectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kantopt.render.manifests import made, manifests, unique_name
from kantopt.render.steps import (
    Actions,
    Step,
    gates_kept,
    left,
    nameless,
    stopped,
    unlabelled,
)
from kantopt.render.targets import Asked, Rendered
from kantopt.schema.answers.actions import namespace_of
from kantopt.schema.answers.plan import Binding, Eviction, Plan
from kantopt.schema.jobs import Job
from kantopt.schema.snapshot import HOSTNAME

_JOB_NAME = "volcano.sh/job-name"

_HEADER = (
    "Apply: kubectl apply --server-side --field-manager=kantopt -f FILE.",
    "Victims: a Command AbortJob stops all pods of a Volcano job, without asking disruption "
    "budgets; the job waits aborted until somebody sends ResumeJob (vcctl job resume). Single pods "
    "are left to you: what a job does when one is evicted is in its policies, often a restart.",
    "Bindings: only pods that a scheduling gate holds back can be given a node selector; the gate "
    "stays, for you to remove when the wave is complete. Other pods start where Volcano likes, "
    "within the networkTopology of their PodGroup; that stays as it is, since the plan knows no "
    "HyperNodes.",
    "Moves are left to you.",
)


def render(plan: Plan, asked: Asked) -> Rendered:
    """Render a plan as commands for jobs and selectors of gated pods.

    Raises
    ------
    UsageError
        As :func:`manifests` says.
    """
    actions = Actions(plan)
    evictions: dict[str, list[tuple[int, Eviction]]] = {}
    steps: list[Step] = []
    for wave, action in actions:
        if isinstance(action, Eviction):
            evictions.setdefault(action.job, []).append((wave, action))
        elif isinstance(action, Binding):
            steps += _bound(action, wave, actions.hostname(action.node))
        else:
            steps.append(left(action, wave, "Volcano has no word for it"))
    for name, victims in evictions.items():
        steps += _aborted(plan, actions.jobs.get(name), victims)
    return manifests(plan, steps, asked, "volcano", _HEADER)


def _bound(action: Binding, wave: int, hostname: str) -> list[Step]:
    namespace = namespace_of(action.job)
    steps: list[Step] = []
    for pod in action.pods:
        if not pod.scheduling_gates:
            why = "no gate holds it back; put a node selector into its task's template"
            steps.append(left(action, wave, why, pod))
            continue
        if not hostname:
            steps.append(left(action, wave, unlabelled(action.node), pod))
            continue
        metadata = {"name": pod.name, "namespace": namespace}
        if pod.uid:
            metadata["uid"] = pod.uid
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"nodeSelector": {HOSTNAME: hostname}},
        }
        told = gates_kept(action, pod)
        steps.append(Step(wave, "bindings", action.job, 1, (document,), told))
    return steps + nameless(action, wave)


def _aborted(plan: Plan, job: Job | None, victims: Sequence[tuple[int, Eviction]]) -> list[Step]:
    names = set() if job is None else {item.labels.get(_JOB_NAME, "") for item in job.pod_sets}
    name = names.pop() if len(names) == 1 else ""
    uid = "" if job is None else job.uid
    why = "" if name and uid else f"the plan does not tell of which Volcano job ({_JOB_NAME}, uid)"
    of = victims[0][1].job
    target = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }

    def document(wave: int) -> dict[str, Any]:
        metadata = made(plan, unique_name(plan, of), wave, namespace_of(of))
        return {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "metadata": {**metadata, "ownerReferences": [target]},
            "action": "AbortJob",
            "target": target,
        }

    return stopped(job, victims, f"Volcano job {name}", why, document)
