"""A plan as requests to the Kubernetes API, wave by wave, and as a script of ``kubectl`` calls.

Nothing here talks to a cluster: what is written is for a person or a program to review and send.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypedDict
from urllib.parse import quote as url_quote

from kantopt.render.shell import comment, word
from kantopt.render.targets import Asked
from kantopt.schema.jobs import PodRef, PodSet
from kantopt.schema.plan import Binding, Eviction, Move, Plan

HOSTNAME = "kubernetes.io/hostname"
_WAIT_SECONDS = 300
"""How long a script waits for the pods of a wave before it stops."""


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


def render(plan: Plan, asked: Asked) -> str:
    """Render a plan as JSON, one request a line, or as a shell script."""
    return (render_shell if asked.shell else render_json_lines)(plan, gate=asked.gate)


def render_kubectl(plan: Plan, *, gate: str | None = None) -> list[Request]:
    """Render a plan as requests in the plan's order of waves.

    Evicted pods, and pods that restart elsewhere, become an ``Eviction`` with the pod's uid and
    resourceVersion as preconditions. A bound pod that a scheduling gate holds back is pinned to
    its node and its gate removed, behind tests that fail if the plan is stale. What cannot be
    done this way becomes a note. A node's hostname label is taken to be its name.

    Parameters
    ----------
    plan
        The plan.
    gate
        Name of the gate to remove. Default: a pod's only gate; of several none is removed, since
        the others may wait for something else.
    """
    evictions = {item.id: item for item in plan.evictions}
    moves = {item.id: item for item in plan.moves}
    bindings = {item.id: item for item in plan.assignments}
    podsets = {
        (f"{job.namespace}/{job.name}", podset.name): podset
        for job in plan.jobs
        for podset in job.pod_sets
    }
    requests: list[Request] = []
    for wave in plan.waves:
        for identity in wave.actions:
            if identity in evictions:
                requests += _evict(evictions[identity], wave.id)
            elif identity in moves:
                requests += _move(moves[identity], wave.id)
            else:
                binding = bindings[identity]
                podset = podsets.get((binding.job, binding.pod_set))
                requests += _bind(binding, podset, wave.id, gate)
    return requests


def render_json_lines(plan: Plan, *, gate: str | None = None) -> str:
    """Render a plan as JSON, one request a line."""
    lines = [json.dumps(item, sort_keys=False) for item in render_kubectl(plan, gate=gate)]
    return "".join(f"{line}\n" for line in lines)


def render_shell(plan: Plan, *, gate: str | None = None) -> str:
    """Render a plan as a shell script of ``kubectl`` calls.

    Parameters
    ----------
    plan, gate
        As for :func:`render_kubectl`.
    """
    requests = render_kubectl(plan, gate=gate)
    lines = [
        "#!/bin/sh",
        comment(f"Plan {plan.metadata.plan_id}"),
        "# Read before you run it; it stops at the first call that fails.",
        "set -eu",
    ]
    of_wave: dict[int, list[Request]] = {wave.id: [] for wave in plan.waves}
    for item in requests:
        of_wave[item["wave"]].append(item)
    awaited: set[int] = set()
    for wave in plan.waves:
        after = ", ".join(str(before) for before in wave.after)
        lines += ["", f"# Wave {wave.id}" + (f", after {after}" if after else "")]
        # Waited for only where somebody must: until then other waves go on meanwhile.
        for before in wave.after:
            if before not in awaited:
                awaited.add(before)
                waiting = (item for item in of_wave[before] if item["verb"] != "note")
                lines += [_wait(item) for item in waiting]
        for item in of_wave[wave.id]:
            lines += _call(item)
    return "\n".join(lines) + "\n"


def _evict(action: Eviction | Move, wave: int) -> list[Request]:
    namespace = action.job.partition("/")[0]
    requests = [_eviction(pod, action.id, namespace, wave) for pod in action.pods]
    node = action.node if isinstance(action, Eviction) else action.from_node
    return requests + _nameless(action, len(action.pods), wave, f"evict from {node}")


def _eviction(pod: PodRef, identity: str, namespace: str, wave: int) -> Request:
    options: dict[str, Any] = {}
    if pod.grace_period_seconds is not None:
        options["gracePeriodSeconds"] = pod.grace_period_seconds
    preconditions = {"uid": pod.uid, "resourceVersion": pod.resource_version}
    preconditions = {key: value for key, value in preconditions.items() if value}
    if preconditions:
        options["preconditions"] = preconditions
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": namespace},
    }
    if options:
        body["deleteOptions"] = options
    return {
        "wave": wave,
        "action": identity,
        "verb": "create",
        "path": f"{_pod_path(namespace, pod.name)}/eviction",
        "namespace": namespace,
        "pod": pod.name,
        "body": body,
    }


def _move(move: Move, wave: int) -> list[Request]:
    if move.mode == "live":
        names = ", ".join(pod.name for pod in move.pods) or f"{move.count} of {move.job}"
        text = f"migrate {names} live from {move.from_node} to {move.to_node}"
        return [_note(move.id, wave, f"{text}: not a call of the Kubernetes API")]
    steer = json.dumps(_affinity(move.to_node))
    text = (
        f"the pods that replace those of {move.job} ({move.pod_set}) should start on "
        f"{move.to_node}: their controller makes new pods; steer them in its template with "
        f"{steer}"
    )
    return [*_evict(move, wave), _note(move.id, wave, text)]


def _bind(binding: Binding, podset: PodSet | None, wave: int, gate: str | None) -> list[Request]:
    namespace = binding.job.partition("/")[0]
    requests: list[Request] = []
    for pod in binding.pods:
        if pod.scheduling_gates:
            requests += _pin(pod, binding, podset, namespace, wave, gate)
        else:
            text = (
                f"{namespace}/{pod.name} should start on {binding.node}: without a scheduling "
                f"gate a pod cannot be pinned any more; put this into its template: "
                f"{json.dumps(_affinity(binding.node))}"
            )
            requests.append(_note(binding.id, wave, text))
    return requests + _nameless(binding, len(binding.pods), wave, f"start on {binding.node}")


def _pin(
    pod: PodRef,
    binding: Binding,
    podset: PodSet | None,
    namespace: str,
    wave: int,
    gate: str | None,
) -> list[Request]:
    """Pin a gated pod; of a gated pod only the node selector may still be added to."""
    patch: list[dict[str, Any]] = []
    if pod.uid:
        patch.append({"op": "test", "path": "/metadata/uid", "value": pod.uid})
    if podset is not None and podset.node_selector:
        path = f"/spec/nodeSelector/{HOSTNAME.replace('~', '~0').replace('/', '~1')}"
        patch.append({"op": "add", "path": path, "value": binding.node})
    else:
        value = {HOSTNAME: binding.node}
        patch.append({"op": "add", "path": "/spec/nodeSelector", "value": value})
    gates = pod.scheduling_gates
    requests: list[Request] = []
    index = None
    if gate is None and len(gates) == 1:
        index = 0
    elif gate in gates:
        index = gates.index(gate)
    if index is None:
        text = f"{namespace}/{pod.name} keeps its gates {', '.join(gates)}: name the one to remove"
        requests.append(_note(binding.id, wave, text))
    else:
        path = f"/spec/schedulingGates/{index}"
        patch.append({"op": "test", "path": f"{path}/name", "value": gates[index]})
        patch.append({"op": "remove", "path": path})
    request: Request = {
        "wave": wave,
        "action": binding.id,
        "verb": "patch",
        "path": _pod_path(namespace, pod.name),
        "namespace": namespace,
        "pod": pod.name,
        "body": patch,
    }
    return [request, *requests]


def _nameless(action: Binding | Eviction | Move, named: int, wave: int, what: str) -> list[Request]:
    """Note pods that the plan counts and does not name."""
    rest = action.count - named
    if rest <= 0:
        return []
    pods = "1 pod" if rest == 1 else f"{rest} pods"
    text = f"{pods} of {action.job} ({action.pod_set}) to {what}: the plan has no names"
    return [_note(action.id, wave, text)]


def _affinity(node: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"nodeAffinity": required}


def _note(identity: str, wave: int, message: str) -> Request:
    return {"wave": wave, "action": identity, "verb": "note", "message": message}


def _pod_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{url_quote(namespace, safe='')}/pods/{url_quote(name, safe='')}"


def _call(item: Request) -> list[str]:
    if item["verb"] == "note":
        return [comment(item["message"])]
    body = json.dumps(item["body"])
    if item["verb"] == "create":
        # JSON escapes line breaks, so the body is one line and cannot end the document early.
        path = word(item["path"])
        return [f"kubectl create --raw {path} -f - <<'EOF'", body, "EOF"]
    return [f"kubectl patch {_target(item)} --type=json -p {word(body)}"]


def _wait(item: Request) -> str:
    state = "delete" if item["verb"] == "create" else "condition=Ready"
    return f"kubectl wait --for={state} {_target(item)} --timeout={_WAIT_SECONDS}s"


def _target(item: Request) -> str:
    return f"--namespace={word(item['namespace'])} {word('pod/' + item['pod'])}"
