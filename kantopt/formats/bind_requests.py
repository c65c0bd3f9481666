"""Pods that KAI is binding: a BindRequest names the node before the pod does."""

from __future__ import annotations

from dataclasses import replace

from kantopt.formats.objects import Objects
from kantopt.formats.pods import Pod

_PHASES = ("", "Pending", "Succeeded", "Failed")


class BindRequests:
    """Nodes that are decided on, by pod.

    Parameters
    ----------
    objects
        All objects of the input. Requests that have failed decide nothing: KAI makes new ones.
    """

    def __init__(self, objects: Objects) -> None:
        self._nodes = {}
        for view in objects.of("scheduling.run.ai", "BindRequest"):
            spec, namespace = view.at("spec"), view.at("metadata").text("namespace") or "default"
            pod, node = spec.name("podName"), spec.name("selectedNode")
            if view.at("status").choice("phase", _PHASES, "") != "Failed":
                self._nodes[namespace, pod] = node

    def into(self, pod: Pod) -> Pod:
        """Put a pod that waits on the node that it is being bound to, where it will start."""
        node = self._nodes.get((pod.namespace, pod.ref.name), "")
        if pod.node or not node or pod.terminating:
            return pod
        return replace(pod, node=node, shape={**pod.shape, "health": "starting"})
