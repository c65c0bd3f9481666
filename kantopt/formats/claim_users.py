"""Claims that one node may use at a time (ReadWriteOnce) and that several pods use."""

from __future__ import annotations

from collections import Counter

from kantopt.formats.objects import Objects
from kantopt.formats.view import Key, View
from kantopt.formats.waiting_claims import Terms, claims_used
from kantopt.schema.base import Expression
from kantopt.schema.jobs import NodeSelectorTerm


class ClaimUsers:
    """Tells on which nodes the claims of a dump are in use.

    Pods that are being deleted do not count: they give their claims back.
    """

    def __init__(self, objects: Objects) -> None:
        self._nodes: dict[Key, Counter[str]] = {}
        """Users of each claim by node; without one those that wait."""
        for pod in objects.pods():
            if "deletionTimestamp" not in pod.at("metadata"):
                for name in set(claims_used(pod)):
                    used = self._nodes.setdefault((pod.key[0], name), Counter())
                    used[pod.at("spec").text("nodeName")] += 1

    def beside(self, pod: View, claim: View) -> list[Terms]:
        """Return the nodes that a pod is tied to since others use its claim, if it is.

        kube-scheduler does not look at it, but elsewhere the pod would wait for the volume for as
        long as they are there: so it is to be where they are, and where it is if it runs. Of pods
        that all wait it is not known where the first will be.
        """
        if set(claim.at("spec").strings("accessModes")) != {"ReadWriteOnce"}:
            return []
        used = Counter(self._nodes.get(claim.key, ()))
        own = pod.at("spec").text("nodeName")
        if "deletionTimestamp" not in pod.at("metadata"):
            used[own] -= 1
        nodes = sorted(name for name, users in used.items() if name and users > 0)
        if own and (used[""] > 0 or own in nodes):
            nodes = [own]
        if not nodes:
            return []
        field = Expression(key="metadata.name", operator="In", values=tuple(nodes))
        return [(NodeSelectorTerm(match_fields=(field,)),)]
