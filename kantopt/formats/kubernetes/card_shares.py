"""Parts of cards that pods ask for and no node offers."""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.formats.kubernetes.pods import Pod
from kantopt.schema.card_shares import is_card_share
from kantopt.schema.snapshot import Node


class CardShares:
    """Takes from pods what a scheduler extender counts on cards and nodes do not offer.

    Such pods are not modelled; those that run are no fault of their nodes for it, and those that
    are planned all the same (``--assume gpu-shares``) have room where the rest of them fits.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._offered = frozenset[str]().union(*(node.allocatable for node in nodes))

    def into(self, pod: Pod) -> Pod:
        """Return a pod that asks for no part of a card which no node offers."""
        requests = pod.shape["requests"]
        kept = {
            name: n
            for name, n in requests.items()
            if name in self._offered or not is_card_share(name)
        }
        return pod if len(kept) == len(requests) else pod.shaped(requests=kept)
