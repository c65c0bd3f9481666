"""Units: pods that go together though each is scheduled by itself."""

from __future__ import annotations

import re
from dataclasses import replace

from kantopt.formats.objects import Objects
from kantopt.formats.pods import Pod

_LWS = "leaderworkerset.sigs.k8s.io"
_TRAINING = re.compile(r"(PyTorch|MPI|TF|XGBoost|Paddle|JAX)Job")


class Units:
    """Tells which unit a pod belongs to.

    A LeaderWorkerSet makes all pods of a group anew when one of them goes, unless its restart
    policy is ``None``; a training job whose pods are never restarted ends with any of them.
    """

    def __init__(self, objects: Objects) -> None:
        self._apart = {
            name
            for name, view in objects.by_name(_LEADERS, "LeaderWorkerSet").items()
            if view.at("spec", "leaderWorkerTemplate").text("restartPolicy") == "None"
        }

    def into(self, pod: Pod) -> Pod:
        """Return a pod that knows its unit."""
        name = pod.labels.get(f"{_LWS}/name", "")
        if name and (pod.namespace, name) not in self._apart:
            return replace(pod, unit=f"{name}-{pod.labels.get(f'{_LWS}/group-index', '0')}")
        if _TRAINING.fullmatch(pod.owner_kind) and pod.restarts == "Never":
            return replace(pod, unit=pod.owner_name)
        return pod


_LEADERS = "leaderworkerset.x-k8s.io"
"""API group of what makes the pods; their labels have a prefix of their own."""
