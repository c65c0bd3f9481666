"""What the import counts on nodes though neither they nor pods name it: volumes, room, disks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from kantopt.formats.kubernetes.nodes import bounded
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.view import Key
from kantopt.schema.snapshot import Node


@dataclass(frozen=True, slots=True)
class Stock:
    """Amounts of resources: what pods ask for, and what nodes offer.

    Attributes
    ----------
    asks
        Of each pod, by namespace and name.
    offers
        Of each node; of a resource that is not named there it has none.
    everywhere
        What every node offers.
    """

    asks: defaultdict[Key, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    offers: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    everywhere: dict[str, int] = field(default_factory=dict)

    def into(self, pod: Pod) -> Pod:
        """Return a pod that asks for what it uses of the stock."""
        more = self.asks.get(pod.key)
        if not more:
            return pod
        return pod.shaped(requests={**pod.shape["requests"], **dict(sorted(more.items()))})

    def onto(self, nodes: Iterable[Node]) -> list[Node]:
        """Return nodes with what they offer."""
        names = sorted({name for asks in self.asks.values() for name in asks})
        return [self._stocked(node, names) for node in nodes] if names else list(nodes)

    def _stocked(self, node: Node, names: Iterable[str]) -> Node:
        here = {**self.everywhere, **self.offers.get(node.name, {})}
        offers = {name: bounded(here.get(name, 0)) for name in names}
        return node.model_copy(update={"allocatable": {**node.allocatable, **offers}})
