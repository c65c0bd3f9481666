"""Heads of Ray clusters: all workers end with one, unless its state is kept elsewhere."""

from __future__ import annotations

from dataclasses import replace

from kantopt.formats.kubernetes.disruption import owner_of
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.view import View

_TYPE = "ray.io/node-type"
_TOLERANT = "ray.io/ft-enabled"


class RayClusters:
    """Tells which pods are heads with which their cluster ends.

    The head runs the global control service (GCS). Workers live on without it only where
    fault tolerance keeps what it knows in Redis.
    """

    def __init__(self, objects: Objects) -> None:
        self._clusters = objects.by_name("ray.io", "RayCluster")
        self._at_work = {
            owner.text("uid")
            for pod in objects.pods()
            if pod.node and not pod.terminating and pod.labels.get(_TYPE) == "worker"
            if (owner := owner_of(pod)) is not None
        }
        """Uids of the owners of workers that run."""

    def into(self, pod: Pod) -> Pod:
        """Return a pod that knows whether a cluster ends with it."""
        if not is_head(pod) or pod.terminating or _is_true(pod.annotations):
            return pod
        if not pod.node and pod.owner_uid in self._at_work:
            return pod  # its workers run without it, and lose nothing with each other
        name = pod.labels.get("ray.io/cluster", "") or pod.owner_name
        cluster = self._clusters.get((pod.namespace, name))
        return replace(pod, leads=cluster is None or not _bears_loss(cluster))


def is_head(pod: Pod) -> bool:
    """Whether a pod is the head of a Ray cluster."""
    return pod.labels.get(_TYPE) == "head"


def _bears_loss(cluster: View) -> bool:
    by_spec = "gcsFaultToleranceOptions" in cluster.at("spec")
    return by_spec or _is_true(cluster.annotations)


def _is_true(annotations: dict[str, str]) -> bool:
    return annotations.get(_TOLERANT, "").lower() == "true"
