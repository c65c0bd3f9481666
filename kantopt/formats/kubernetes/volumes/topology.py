"""Where a volume can be used once it is made: its driver ties it to a part of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.volumes.attachments import driver_of
from kantopt.formats.kubernetes.volumes.waiting_claims import Terms
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.snapshot import Node


class VolumeTopology:
    """Tells whether it matters to others on which node a volume is made.

    CSINodes tell the labels by which a driver knows where volumes are (``topologyKeys``).
    """

    def __init__(self, objects: Objects, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._keys: dict[str, set[str]] = {}
        told = objects.of("storage.k8s.io", "CSINode")
        self._told = bool(told)
        for view in told:
            for driver in view.at("spec").list("drivers"):
                keys = self._keys.setdefault(driver.text("name"), set())
                keys.update(driver.strings("topologyKeys"))

    def everywhere(self, provisioner: str, lists: Sequence[Terms]) -> bool:
        """Whether a volume can be used on all nodes on which it may be made, whichever it is.

        Parameters
        ----------
        provisioner
            Who makes it.
        lists
            Terms of which a node must match one of each, for a volume to be made there.
        """
        found = [n for n in self._nodes if all(affinity_matches(terms, n) for terms in lists)]
        if len(found) < 2:
            return True
        if not self._told:
            return False
        keys = {e.key for terms in lists for term in terms for e in term.match_expressions}
        keys |= self._keys.get(driver_of(provisioner), set())
        places = {tuple(node.labels.get(key) for key in sorted(keys)) for node in found}
        return len(places) == 1
