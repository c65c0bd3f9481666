"""Claims that one node may use at a time (ReadWriteOnce) and that several pods use."""

from __future__ import annotations

from collections import Counter

from kantopt.formats.kubernetes.disruption import owner_of
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.volumes.waiting_claims import Terms, claims_used, only
from kantopt.formats.view import Key, View


class ClaimUsers:
    """Tells on which nodes the claims of a dump are in use.

    Pods that are being deleted do not count: they give their claims back. Claims for one node with
    which several pods wait are noted: a job keeps its own together, nothing keeps those of several
    jobs so.
    """

    def __init__(self, objects: Objects) -> None:
        self._nodes: dict[Key, Counter[str]] = {}
        """Users of each claim by node; without one those that wait."""
        owners: dict[Key, set[str]] = {}
        for pod in objects.pods():
            if not pod.terminating:
                owner = owner_of(pod)
                for name in set(claims_used(pod)):
                    key = pod.key[0], name
                    used = self._nodes.setdefault(key, Counter())
                    used[pod.node] += 1
                    who = pod.key[1] if owner is None else owner.text("uid")
                    owners.setdefault(key, set()).add(who)
        for key, claim in objects.by_name("", "PersistentVolumeClaim").items():
            if self.wait_together(claim):
                text = "claims for one node with which several pods wait: they are kept on one"
                if len(owners[key]) > 1:
                    text = "claims for one node with which pods of several owners wait"
                    text += ": where they are bound to several nodes, one of them starts"
                objects.notes.add(text, "/".join(key))

    def wait_together(self, claim: View) -> bool:
        """Whether several pods wait with a claim for one node, and none runs: one node has all."""
        if set(claim.at("spec").strings("accessModes")) != {"ReadWriteOnce"}:
            return False
        used = self._nodes.get(claim.key, Counter())
        return used[""] > 1 and used[""] == used.total()

    def beside(self, pod: View, claim: View) -> list[Terms]:
        """Return the nodes that a pod is tied to since others use its claim, if it is.

        kube-scheduler does not look at it, but elsewhere the pod would wait for the volume for as
        long as they are there: so it is to be where they are, and where it is if it runs.
        """
        if set(claim.at("spec").strings("accessModes")) != {"ReadWriteOnce"}:
            return []
        used = Counter(self._nodes.get(claim.key, ()))
        own = pod.node
        if not pod.terminating:
            used[own] -= 1
        nodes = sorted(name for name, users in used.items() if name and users > 0)
        if own and (used[""] > 0 or own in nodes):
            nodes = [own]
        return [only(*nodes)] if nodes else []
