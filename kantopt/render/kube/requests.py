"""A plan as requests to the Kubernetes API, wave by wave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, TypedDict
from urllib.parse import quote as url_quote

from kantopt.render.kube.fates import Fates
from kantopt.render.steps import Actions, towards
from kantopt.schema.answers.actions import PlanAction, namespace_of
from kantopt.schema.answers.plan import Binding, Move, Plan
from kantopt.schema.hints import first_of, plural
from kantopt.schema.jobs import PodRef
from kantopt.schema.snapshot import HOSTNAME


class Request(TypedDict, total=False):
    """One request, or a note on what cannot be one.

    ``verb`` is create (POST), patch (JSON patch) or note; ``path`` and ``body`` are those of the
    request; ``message`` is a note's text.
    """

    wave: int
    action: str
    verb: Literal["create", "patch", "note"]
    path: str
    namespace: str
    pod: str
    body: Any
    message: str


def patch_of(actions: Actions, binding: Binding, pod: PodRef) -> list[dict[str, Any]]:
    """Pin a gated pod and let it go, behind tests that fail if it is not the one meant.

    Of a gated pod only the node selector may still be added to.
    """
    podset = actions.pod_set(binding)
    patch: list[dict[str, Any]] = [{"op": "test", "path": "/metadata/uid", "value": pod.uid}]
    host = actions.hostname(binding.node)
    if podset is not None and podset.node_selector:
        path = f"/spec/nodeSelector/{HOSTNAME.replace('/', '~1')}"
        patch.append({"op": "add", "path": path, "value": host})
    else:
        patch.append({"op": "add", "path": "/spec/nodeSelector", "value": {HOSTNAME: host}})
    # From the last, so that those before keep their places.
    for index, gate in reversed(list(enumerate(pod.scheduling_gates))):
        path = f"/spec/schedulingGates/{index}"
        patch.append({"op": "test", "path": f"{path}/name", "value": gate})
        patch.append({"op": "remove", "path": path})
    return patch


def requests_of(plan: Plan, fates: Fates) -> list[Request]:
    """Return the requests of a plan in its order of waves, and notes on what is none.

    Evicted pods, and pods that restart elsewhere, become an ``Eviction`` with the pod's uid and
    resourceVersion as preconditions. A bound pod that scheduling gates hold back is pinned to its
    node and its gates removed, behind tests that fail if the plan is stale.

    Parameters
    ----------
    plan
        The plan.
    fates
        What becomes of its actions.
    """
    actions = Actions(plan)
    found: list[Request] = []
    for wave, item in actions:
        fate = fates[item.id]
        if fate.does != "do":
            text = f"{_pods(item)} {towards(item)}: left to you, {fate.why}"
            found.append(_note(item.id, wave, text))
        else:
            found += _requests(item, wave, actions)
    return found


def _requests(item: PlanAction, wave: int, actions: Actions) -> Iterator[Request]:
    namespace = namespace_of(item.job)
    for pod in item.pods:
        path = f"/api/v1/namespaces/{_part(namespace)}/pods/{_part(pod.name)}"
        request: Request = {"wave": wave, "action": item.id, "verb": "create", "path": path}
        request |= {"namespace": namespace, "pod": pod.name}
        if isinstance(item, Binding):
            yield {**request, "verb": "patch", "body": patch_of(actions, item, pod)}
        else:
            yield {**request, "path": f"{path}/eviction", "body": eviction(namespace, pod)}
    if isinstance(item, Move):
        text = f"{_pods(item)} {towards(item)}: who makes them anew says where they start"
        yield _note(item.id, wave, text)


def eviction(namespace: str, pod: PodRef) -> dict[str, Any]:
    """Return the ``Eviction`` of a pod, which holds for nothing else of its name."""
    options: dict[str, Any] = {}
    if pod.grace_period_seconds is not None:
        options["gracePeriodSeconds"] = pod.grace_period_seconds
    conditions = {"uid": pod.uid, "resourceVersion": pod.resource_version}
    options["preconditions"] = {key: value for key, value in conditions.items() if value}
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": namespace},
        "deleteOptions": options,
    }


def _pods(item: PlanAction) -> str:
    names = first_of([pod.name for pod in item.pods])
    return (
        f"{plural(item.count, 'pod')} of {item.job} ({item.pod_set}{': ' if names else ''}{names})"
    )


def _note(identity: str, wave: int, message: str) -> Request:
    return {"wave": wave, "action": identity, "verb": "note", "message": message}


def _part(text: str) -> str:
    return url_quote(text, safe="")


def as_json(patch: list[dict[str, Any]]) -> str:
    """Write a patch on one line."""
    return json.dumps(patch, separators=(",", ":"))
