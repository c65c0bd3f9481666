"""Whom Kueue does not start here for now: stopped, in queues that take nobody in, sent away."""

from __future__ import annotations

from kantopt.formats.kubernetes.kueue.workloads import (
    BETWEEN,
    GROUP,
    owners_of,
    waits_to_be_queued,
)
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.view import View

_DRAINS = "HoldAndDrain"
_MULTIKUEUE = f"{GROUP}/multikueue"
"""Who answers admission checks by starting a job in another cluster, and manages it there."""


class StoppedQueues:
    """Queues that take nobody in, or nobody of some namespaces.

    Those have a ``stopPolicy``, or are ClusterQueues that Kueue says are not active.
    """

    def __init__(self, objects: Objects) -> None:
        self._namespaces, self._notes = objects.namespaces, objects.notes
        self._local = objects.by_name(GROUP, "LocalQueue")
        self._cluster = objects.named(GROUP, "ClusterQueue")
        self._checks = {
            view.at("metadata").name()
            for view in objects.of(GROUP, "AdmissionCheck")
            if view.at("spec").text("controllerName") == _MULTIKUEUE
        }
        self._managed = {
            view.uid
            for kind in BETWEEN
            for view in objects.of(*kind)
            if view.at("spec").text("managedBy") == _MULTIKUEUE
        }
        named = {"/".join(key): view for key, view in self._local.items()} | self._cluster
        for name, view in named.items():
            if _policy(view) == _DRAINS:
                text = "queues whose jobs Kueue stops (HoldAndDrain): those that run stay here"
                self._notes.add(text, name)

    def hold_back(self, workload: View, *, admitted: bool) -> str:
        """Say what holds a Workload without pods back; empty if nothing does.

        Parameters
        ----------
        workload
            One that has not ended.
        admitted
            Whether it has its quota: then only what takes that away again holds it back.
        """
        if workload.at("spec").raw.get("active") is False:
            return "by active: false"
        if not admitted and waits_to_be_queued(workload):
            return "by Kueue after a failed start"
        queue = workload.at("spec").text("queueName")
        local = self._local.get((workload.key[0], queue))
        if self._goes_elsewhere(workload, local):
            return "to be started in another cluster (MultiKueue)"
        if self._cluster and queue and local is None and not admitted:
            add = "" if self._local else " (add localqueues to kubectl get)"
            return f"by a LocalQueue that is not in the input{add}"
        name = "" if local is None else local.at("spec").text("clusterQueue")
        for view in (local, self._cluster.get(name)):
            if view is not None and (_policy(view) == _DRAINS if admitted else _takes_nobody(view)):
                return "by queues that are stopped"
        whole = self._cluster.get(name)
        if whole is not None and not admitted and self._shut_out(whole, workload.key[0]):
            return "by queues that take nobody of their namespace (namespaceSelector)"
        return ""

    def _goes_elsewhere(self, workload: View, local: View | None) -> bool:
        """Whether a Workload has no pods here: by its owner, its checks, or those of its queue."""
        status = workload.at("status")
        if status.strings("nominatedClusterNames") or not self._managed.isdisjoint(
            owners_of(workload)
        ):
            return True
        checks = [check.text("name") for check in status.list("admissionChecks")]
        whole = self._cluster.get("" if local is None else local.at("spec").text("clusterQueue"))
        if whole is not None:
            checks += whole.at("spec").strings("admissionChecks")
            told = whole.at("spec", "admissionChecksStrategy").list("admissionChecks")
            checks += [check.text("name") for check in told if not check.raw.get("onFlavors")]
        return not self._checks.isdisjoint(checks)

    def _shut_out(self, queue: View, namespace: str) -> bool:
        """Whether a ClusterQueue does not select a namespace; without selector it does none."""
        spec = queue.at("spec")
        if spec.raw.get("namespaceSelector") is None:
            return True
        selected = self._namespaces.selects(spec.at("namespaceSelector"), namespace)
        if selected is None:
            text = (
                "namespaces that are not in the input: whether queues take jobs of theirs "
                "(namespaceSelector) is not known, and they are planned for"
            )
            self._notes.add(text, namespace)
        return selected is False


def _policy(queue: View) -> str:
    return queue.at("spec").text("stopPolicy", "None")


def _takes_nobody(queue: View) -> bool:
    """Whether a queue is stopped, or lacks what it needs, as a flavor or a check."""
    return _policy(queue) != "None" or queue.condition("Active", "False") is not None
