"""A plan for gangs that Kueue manages: victims are deactivated, nodes told by an admission check.

With ``--admission`` the admission itself is written, with the nodes of each pod, past the quotas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kantopt.clock import rfc3339
from kantopt.errors import UsageError
from kantopt.render.manifests import manifests, unique_name
from kantopt.render.resources import is_requested
from kantopt.render.steps import (
    Actions,
    Step,
    left,
    stopped,
    unlabelled,
)
from kantopt.render.targets import Asked, Rendered
from kantopt.render.topology_assignment import topology_assignment
from kantopt.schema.answers.actions import namespace_of
from kantopt.schema.answers.plan import Binding, Eviction, Plan
from kantopt.schema.by_kueue import GROUP, by_kueue
from kantopt.schema.jobs import Job, PodSet
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import HOSTNAME

CHECK = "kantopt"
"""Name of the admission check that the plan answers."""
_NO_MOMENT = "1970-01-01T00:00:00Z"
"""Where a moment must stand and the snapshot tells none."""

_VICTIMS = (
    "Victims: spec.active: false stops all pods of a Workload at once, without asking disruption "
    "budgets; it is not queued again until somebody sets true. Pods of jobs are not deleted. No "
    "uid guards against a Workload of the same name that was made since."
)
_APPLY = (
    "Apply: kubectl apply --server-side --field-manager=kantopt -f FILE, then the same with "
    "--subresource=status --force-conflicts, since the state of a check was Kueue's; each takes "
    "the part that is its own."
)
_BY_CHECK = (
    f"Bindings: answers to an AdmissionCheck {CHECK}, which the ClusterQueue must name. Quota "
    "stays Kueue's: the answer counts once it has reserved quota for the Workload. Enforced is the "
    "set of nodes of each pod set, where there are several by a label that these nodes are given; "
    "how many pods go to which of them is up to the scheduler. If Kueue itself has chosen other "
    "nodes (topology-aware scheduling) no pod starts; there see --admission. Nor does any "
    "if its queue has several flavors and Kueue has given it another than that of its nodes: a "
    "plan knows their sum only."
)
_BY_ADMISSION = (
    "Bindings: status.admission is written past Kueue's scheduler: quotas are NOT asked, and "
    "both may write at once. Hold the ClusterQueue first (spec.stopPolicy: Hold). Enforced is how "
    "many pods go to which node, if the flavor has a Topology whose last level is the hostname. "
    "resourceUsage is what the plan knows of the requests."
)


def render(plan: Plan, asked: Asked) -> Rendered:
    """Render a plan as documents for Kueue.

    Raises
    ------
    UsageError
        If an admission is asked for without a flavor, or as :func:`manifests` says.
    """
    if asked.admission and not asked.flavor:
        raise UsageError(
            "--admission: found no --flavor, expected the one that pods are admitted to"
        )
    actions = Actions(plan)
    bindings: dict[str, list[tuple[int, Binding]]] = {}
    evictions: dict[str, list[tuple[int, Eviction]]] = {}
    steps: list[Step] = []
    for wave, action in actions:
        if isinstance(action, Binding):
            bindings.setdefault(action.job, []).append((wave, action))
        elif isinstance(action, Eviction):
            evictions.setdefault(action.job, []).append((wave, action))
        else:
            job = actions.jobs.get(action.job)
            why = _UNMANAGED if job is not None and not _managed(job) else _SENT_BACK
            steps.append(left(action, wave, why))
    for name, victims in evictions.items():
        steps += _deactivated(actions.jobs.get(name), victims, asked)
    for name, bound in bindings.items():
        steps += _admitted(plan, actions, actions.jobs.get(name), bound, asked)
    how = _BY_ADMISSION if asked.admission else _BY_CHECK
    return manifests(plan, steps, asked, "kueue", (_APPLY, _VICTIMS, how))


_UNMANAGED = f"no label of {GROUP} and no queue, so Kueue does not manage it"
_SENT_BACK = (
    "Kueue sends a new pod back to where it came from; the Workload must be stopped and admitted "
    "anew"
)


def _managed(job: Job) -> bool:
    """Whether Kueue may manage a job: a queue has it, or its pods bear a label."""
    return bool(job.queue_name or job.workload) or by_kueue(job)


def workload_of(job: Job | None) -> tuple[str | None, str]:
    """Return the name of a job's Workload, or ``None`` and why the plan does not tell it."""
    if job is None:
        return None, "the plan does not have the job"
    labels = {key: value for item in job.pod_sets for key, value in item.labels.items()}
    group = labels.get(f"{GROUP}/pod-group-name")
    if group:
        return group, ""
    if job.workload:
        return job.workload, ""
    named = any(item.refs for item in job.pod_sets)
    if not _managed(job):
        return None, _UNMANAGED
    if named and f"{GROUP}/podset" not in labels:
        uid = f" (label {GROUP}/job-uid={job.uid})" if job.uid else ""
        return None, f"the plan does not tell the name of its Workload{uid}"
    return job.name, ""


def _deactivated(
    job: Job | None, victims: Sequence[tuple[int, Eviction]], asked: Asked
) -> list[Step]:
    name, why = workload_of(job)

    def document(wave: int) -> dict[str, Any]:
        return _workload(victims[0][1].job, name or "", asked, "spec", {"active": False})

    return stopped(job, victims, f"Workload {name}", why, document)


def _admitted(
    plan: Plan,
    actions: Actions,
    job: Job | None,
    bound: Sequence[tuple[int, Binding]],
    asked: Asked,
) -> list[Step]:
    """Send a Workload to its nodes, if the plan binds all of it."""
    name, why = workload_of(job)
    places: dict[str, Counter[str]] = {}
    for _, item in bound:
        places.setdefault(item.pod_set, Counter())[item.node] += item.count
    sets = () if job is None else job.pod_sets
    missing = sum(item.count for item in sets) - sum(item.count for _, item in bound)
    if name is not None and any(f"{GROUP}/pod-group-name" in item.labels for item in sets):
        why = f"Kueue names the roles of the pod group {name} by itself"
    elif name is not None and missing:
        why = f"its Workload {name} is admitted as a whole, and {missing} pods of it are not bound"
    bare = sorted(item.node for _, item in bound if not actions.hostname(item.node))
    if name is not None and not why and asked.admission and bare:
        why = unlabelled(bare[0])
    if name is None or why:
        return [left(item, wave, why) for wave, item in bound]
    first = bound[0][1]
    pods = sum(item.count for _, item in bound)
    documents: list[dict[str, Any]] = []
    if asked.admission:
        status = _admission(plan, actions, job, sets, places, asked)
    else:
        updates = []
        for pod_set, nodes in sorted(places.items()):
            selector = {HOSTNAME: actions.hostname(next(iter(nodes)))}
            if len(nodes) > 1 or not selector[HOSTNAME]:
                selector = {unique_name(plan, first.job, pod_set): "true"}
                documents += [_node(node, selector) for node in sorted(nodes)]
            updates.append({"name": pod_set, "nodeSelector": selector})
        check = {
            "name": CHECK,
            "state": "Ready",
            "message": f"plan {plan.metadata.plan_id}",
            "lastTransitionTime": _moment(plan),
            "podSetUpdates": updates,
        }
        status = {"admissionChecks": [check]}
    documents.append(_workload(first.job, name, asked, "status", status))
    last = max(wave for wave, _ in bound)
    return [Step(last, "bindings", first.job, pods, tuple(documents), f"starts {first.job}")]


def _admission(
    plan: Plan,
    actions: Actions,
    job: Job | None,
    sets: Sequence[PodSet],
    places: dict[str, Counter[str]],
    asked: Asked,
) -> dict[str, Any]:
    assignments = []
    for item in sets:
        hosts: Counter[str] = Counter()
        for node, pods in places[item.name].items():
            hosts[actions.hostname(node)] += pods
        usage = {
            resource: str(from_base(resource, to_base(resource, amount) * item.count))
            for resource, amount in sorted(item.requests.items())
            if is_requested(resource)
        }
        assignments.append(
            {
                "name": item.name,
                "count": item.count,
                "flavors": dict.fromkeys(usage, asked.flavor),
                "resourceUsage": usage,
                "topologyAssignment": topology_assignment(HOSTNAME, hosts, asked.kueue_api),
            }
        )
    condition = {
        "status": "True",
        "reason": "Planned",
        "message": f"plan {plan.metadata.plan_id}",
        "lastTransitionTime": _moment(plan),
    }
    return {
        "conditions": [{"type": kind, **condition} for kind in ("QuotaReserved", "Admitted")],
        "admission": {
            "clusterQueue": "" if job is None else job.queue_name,
            "podSetAssignments": assignments,
        },
    }


def _workload(job: str, name: str, asked: Asked, part: str, fields: object) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{asked.kueue_api}",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace_of(job)},
        part: fields,
    }


def _node(name: str, labels: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _moment(plan: Plan) -> str:
    """Return the moment of the snapshot: a renderer has no clock."""
    text = plan.metadata.snapshot.captured_at
    try:
        return rfc3339(datetime.fromisoformat(text or _NO_MOMENT))
    except (ValueError, OverflowError):
        return _NO_MOMENT
