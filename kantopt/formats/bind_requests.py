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
            pod, node = view.at("spec").name("podName"), view.at("spec").name("selectedNode")
            if view.at("status").choice("phase", _PHASES, "") != "Failed":
                self._nodes[view.key[0], pod] = node

    def into(self, pod: Pod) -> Pod:
        """Put a pod that waits on the node that it is being bound to, where it will start."""
        node = self._nodes.get(pod.key, "")
        if pod.node or not node or pod.terminating:
            return pod
        return replace(pod.shaped(health="starting"), node=node)
