"""A plan for Koordinator: its migration jobs reserve the new place before they evict."""

from __future__ import annotations

import json
from typing import Any

from kantopt.render.manifests import PLAN, made, manifests, unique_name
from kantopt.render.resources import requests_of
from kantopt.render.steps import Actions, Document, pod_by_pod
from kantopt.render.targets import Asked, Rendered
from kantopt.schema.answers.actions import PlanAction, namespace_of
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan
from kantopt.schema.dump import dump_data
from kantopt.schema.jobs import PodRef, PodSet

_API = "scheduling.koordinator.sh/v1alpha1"
_TTL = "10m"
"""After which a migration that is not done fails, and a reservation nobody took is given back."""
_AFFINITY = "scheduling.koordinator.sh/reservation-affinity"
_RESERVATION = "kantopt/reservation"
"""Label by which a pod names its reservation."""

_HEADER = (
    "Apply: kubectl apply --server-side --field-manager=kantopt -f FILE. koord-manager, "
    "koord-scheduler and koord-descheduler must run, and pods name koord-scheduler as theirs.",
    "Moves: the place on the planned node is reserved, then the pod is evicted; its controller "
    "makes a new one, whose the reservation is. A pod without controller is not moved.",
    "Evictions: by migration jobs, within the descheduler's limits and disruption budgets; what "
    "replaces the victim may take the room again, unless a reservation holds it.",
    "Bindings: a Reservation holds the place and the pod is told to take no other. A pod that is "
    "scheduled before both are there goes where it likes; apply them while a gate holds it, and "
    f"remove the gate within {_TTL}, which nothing here does.",
    "Migration jobs beside those of waves that they wait for are paused: when these are done, "
    'kubectl patch podmigrationjob NAME --type=merge -p \'{"spec":{"paused":false}}\'. They have '
    f"no ttl, which would run while they are paused; the others fail after {_TTL}. Reservations "
    "cannot be paused. Held are cpu, memory, ephemeral-storage, hugepages and extended resources, "
    "and no volumes, claims, devices or closeness to other pods.",
)


def render(plan: Plan, asked: Asked) -> Rendered:
    """Render a plan as migration jobs and reservations.

    Raises
    ------
    UsageError
        As :func:`manifests` says.
    """
    actions = Actions(plan)

    def why_not(action: PlanAction, pod: PodRef, gone: bool) -> str:
        return _why_not(action, actions.pod_set(action), gone)

    def documents(wave: int, action: PlanAction, pod: PodRef) -> tuple[Document, ...]:
        pod_set = actions.pod_set(action)
        if isinstance(action, Binding):
            return _reserved(plan, action, pod, pod_set, wave)
        paused = asked.wave is None and bool(actions.after[wave])
        return (_migration(plan, action, pod, pod_set, wave, paused),)

    steps = pod_by_pod(actions, why_not, documents)
    return manifests(plan, steps, asked, "koordinator", _HEADER)


def _why_not(action: PlanAction, pod_set: PodSet | None, gone: bool) -> str:
    """Say why a pod is left to others; empty if it is not."""
    if isinstance(action, Eviction):
        return ""
    if isinstance(action, Move) and action.mode == "live":
        return "Koordinator moves no pod live"
    if isinstance(action, Move) and action.from_node == action.to_node:
        return "it comes back to its node, where a reservation would need its room twice"
    if gone:
        return "its name and uid are another's after the move before"
    if pod_set is None:
        return "the plan does not have its pod set"
    if pod_set.devices:
        return "a reservation does not hold devices one by one"
    return ""


def _migration(
    plan: Plan,
    action: Eviction | Move,
    pod: PodRef,
    pod_set: PodSet | None,
    wave: int,
    paused: bool,
) -> dict[str, Any]:
    namespace = namespace_of(action.job)
    reference = {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": pod.name}
    if pod.uid:
        reference["uid"] = pod.uid
    # A migration's time runs from its creation on, also while it is paused.
    spec: dict[str, Any] = {"paused": paused} if paused else {"paused": paused, "ttl": _TTL}
    if isinstance(action, Move) and pod_set is not None:
        # Owners are left to the controller, which knows who will make the new pod.
        template = {"ttl": _TTL, "allocateOnce": True}
        template["template"] = _template(namespace, action.to_node, pod_set)
        spec |= {
            "mode": "ReservationFirst",
            "podRef": reference,
            "reservationOptions": {"template": {"spec": template}},
        }
    else:
        spec |= {"mode": "EvictDirectly", "podRef": reference}
    options: dict[str, Any] = {}
    if pod.grace_period_seconds is not None:
        options["gracePeriodSeconds"] = pod.grace_period_seconds
    if pod.uid:
        options["preconditions"] = {"uid": pod.uid}
    if options:
        spec["deleteOptions"] = options
    metadata = made(plan, unique_name(plan, action.id, namespace, pod.name, pod.uid), wave)
    return {"apiVersion": _API, "kind": "PodMigrationJob", "metadata": metadata, "spec": spec}


def _reserved(
    plan: Plan, action: Binding, pod: PodRef, pod_set: PodSet | None, wave: int
) -> tuple[dict[str, Any], ...]:
    """Hold the place of a pod and tell the pod to take it."""
    assert pod_set is not None
    namespace = namespace_of(action.job)
    name = unique_name(plan, action.id, namespace, pod.name, pod.uid)
    metadata = made(plan, name, wave)
    metadata["labels"][_RESERVATION] = name
    owner = {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": pod.name}
    told = {"name": pod.name, "namespace": namespace}
    if pod.uid:
        owner["uid"] = told["uid"] = pod.uid
    reservation = {
        "apiVersion": _API,
        "kind": "Reservation",
        "metadata": metadata,
        "spec": {
            "template": _template(namespace, action.node, pod_set),
            "owners": [{"object": owner}],
            "ttl": _TTL,
            "allocateOnce": True,
        },
    }
    affinity = json.dumps({"reservationSelector": {_RESERVATION: name}})
    annotations = {_AFFINITY: affinity, PLAN: plan.metadata.plan_id}
    return (
        reservation,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {**told, "annotations": annotations}},
    )


def _template(namespace: str, node: str, pod_set: PodSet) -> dict[str, Any]:
    """Make the pod that a reservation stands for; its nodeName would be taken out again."""
    at = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [at]}]}
    spec: dict[str, Any] = {
        "schedulerName": "koord-scheduler",
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
        "containers": [{"name": "main", "resources": {"requests": requests_of(pod_set)}}],
    }
    if pod_set.tolerations:
        spec["tolerations"] = [dump_data(item) for item in pod_set.tolerations]
    return {"metadata": {"namespace": namespace}, "spec": spec}
