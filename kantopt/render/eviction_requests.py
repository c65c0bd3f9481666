"""Evictions of a plan as EvictionRequests (KEP-4563), which can be shared and taken back."""

from __future__ import annotations

from typing import Any

from kantopt.render.manifests import made, manifests, unique_name
from kantopt.render.steps import Actions, pod_by_pod
from kantopt.render.targets import Asked, Rendered
from kantopt.schema.answers.actions import PlanAction, namespace_of
from kantopt.schema.answers.plan import Binding, Eviction, Plan
from kantopt.schema.jobs import PodRef

_REQUESTER = "kantopt/plan"
"""Who asks: the same for all plans, so that two of them ask once."""

_HEADER = (
    "Apply: kubectl apply --server-side --field-manager=kantopt -f FILE. The API server must serve "
    "lifecycle.k8s.io/v1alpha1 (Kubernetes 1.37, feature gate EvictionRequestAPI, off by default).",
    "Evictions: a request for each pod, by uid. Whoever answers for the pod, last of all the "
    "imperative Eviction, which asks disruption budgets, takes it away; that may take long, and "
    "nothing tells the version of the pod that was looked at. What replaces it may take the room "
    "again.",
    "To take one back: delete it, or set spec.intent to Withdrawn. If somebody else asks for the "
    "same pod it goes all the same.",
    "Pods of a PodGroup (spec.schedulingGroup) are no targets: the API server refuses them.",
    "Bindings are left to you. So are moves, unless with --evict-anyway: then their pods are "
    "evicted and start again where their scheduler likes.",
)


def render(plan: Plan, asked: Asked) -> Rendered:
    """Render a plan as requests to evict.

    Raises
    ------
    UsageError
        As :func:`manifests` says.
    """
    steps = pod_by_pod(
        Actions(plan),
        lambda action, pod, gone: _why_not(action, pod, asked, gone),
        lambda wave, action, pod: (_request(plan, action, pod, wave),),
    )
    return manifests(plan, steps, asked, "eviction-requests", _HEADER)


def _why_not(action: PlanAction, pod: PodRef, asked: Asked, gone: bool) -> str:
    """Say why a pod is left to others; empty if it is not."""
    if isinstance(action, Binding):
        return "a request to evict binds nobody"
    if not isinstance(action, Eviction):
        if action.mode == "live":
            return "it moves live"
        if not asked.evict_anyway:
            return "it would start again where its scheduler likes (--evict-anyway)"
    if gone:
        return "its name and uid are another's after the move before"
    return "" if pod.uid else "the plan does not have its uid"


def _request(plan: Plan, action: PlanAction, pod: PodRef, wave: int) -> dict[str, Any]:
    namespace = namespace_of(action.job)
    name = unique_name(plan, action.id, namespace, pod.name, pod.uid)
    return {
        "apiVersion": "lifecycle.k8s.io/v1alpha1",
        "kind": "EvictionRequest",
        "metadata": made(plan, name, wave, namespace),
        "spec": {
            "target": {"pod": {"name": pod.name, "uid": pod.uid}},
            "requester": _REQUESTER,
            "intent": "Eviction",
        },
    }
