"""A bound from the cheapest contents of all nodes: Lagrangian relaxation of what links the nodes.

Nodes are linked by the pods that there are of each kind and by the rows that are limited. With any
multipliers, of kinds ``x`` of either sign, of rows ``u`` and of arrivals ``e`` from 0 on,

    D * row 0 >= sum over nodes of the cost of their cheapest content at these prices + D * constant
                 - sum over kinds of max(x * least, x * most)
                 - sum over rows of u * limit - e * pods,

``D`` being the multiplier of row 0 (Dantzig and Wolfe 1960, Geoffrion 1974). The last term is for
the row that no pod arrives twice. Integers throughout: it holds wherever the multipliers come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.verify.slots.pricing import Ints, Prices, Pricing

LARGEST = 2**50
"""Most that the content of a node may cost: tables are of 64 bits."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Multipliers: of kinds, of rows with that of row 0 first, and of arrivals."""

    kinds: Sequence[int]
    rows: Sequence[int]
    arrivals: int

    @property
    def unit(self) -> int:
        """What all multipliers are divided by."""
        return self.rows[0]


class Links:
    """What links the nodes of a program: pods of each kind, and rows that are limited.

    Attributes
    ----------
    nodes
        Nodes of each class.
    least, most
        Fewest and most pods of each kind, more or fewer than there are now.
    arrival, missing
        What a pod of each kind adds to each row; (R, K).
    limits
        Of all rows but the first, as changes from what there is now.
    constant
        What row 0 is if nothing changes.
    pods
        All pods.
    """

    def __init__(self, pricing: Pricing) -> None:
        self._pricing = pricing
        program, rooms = pricing.program, pricing.rooms
        kinds = program.kinds
        nodes = np.array([len(node.nodes) for node in rooms.nodes], dtype=np.int64)
        home = nodes @ pricing.home
        most = np.array([kind.count for kind in kinds], dtype=np.int64) - home
        self.arrival: Ints = np.array([kind.arrival for kind in kinds], dtype=np.int64).T
        self.missing: Ints = np.array([kind.missing for kind in kinds], dtype=np.int64).T
        missing = (self.missing @ most).tolist()
        self.nodes: list[int] = nodes.tolist()
        self.least: list[int] = (np.array([kind.least for kind in kinds]) - home).tolist()
        self.most: list[int] = most.tolist()
        self.constant: int = missing[0]
        self.limits: list[int] = [
            a - b for a, b in zip(program.limits[1:], missing[1:], strict=True)
        ]
        self.pods = max(1, sum(kind.count for kind in kinds))

    def dearest(self) -> tuple[int, int]:
        """Most that a content may cost: per unit of the highest multiplier, and of what it lacks.

        The latter is in units of the weights of what pieces lack.
        """
        pricing = self._pricing
        pieces = 1 + max(pricing.several, default=1)
        of_pod = np.abs(self.missing).sum(axis=0) + np.abs(self.arrival).sum(axis=0)
        lacking = max((int(np.abs(left).max()) for left in pricing.left.values()), default=0)
        # A pod that has a kind takes a unit of room at least.
        pods = (2 + int(of_pod.max(initial=0))) * sum(pricing.shape) * pieces
        return pods, lacking * pieces

    def prices(self, weights: Weights) -> Prices:
        """Return the prices of pods and of what pieces lack.

        Raises
        ------
        ValueError
            If they are so high that tables of 64 bits might not hold the costs.
        """
        program = self._pricing.program
        pods, lacking = self.dearest()
        highest = max(*map(abs, weights.kinds), *weights.rows, weights.arrivals, 0)
        lack = sum(k * w for k, w in zip(weights.rows, program.weights, strict=True))
        if highest * pods + lack * lacking > LARGEST:
            raise ValueError("multipliers are too large to be worked out")
        rows = np.array(weights.rows, dtype=np.int64)
        return Prices(
            placed=np.array(weights.kinds, dtype=np.int64) - rows @ self.missing,
            arrival=rows @ self.arrival + weights.arrivals,
            lacking=lack,
        )

    def total(self, costs: Sequence[int], weights: Weights) -> int:
        """Return the bound on row 0, in parts of the unit, from the cheapest contents."""
        total: int = weights.unit * self.constant - weights.arrivals * self.pods
        total += sum(n * cost for n, cost in zip(self.nodes, costs, strict=True))
        total -= sum(
            max(x * low, x * high)
            for x, low, high in zip(weights.kinds, self.least, self.most, strict=True)
        )
        rows = zip(weights.rows[1:], self.limits, strict=True)
        return total - sum(u * limit for u, limit in rows)
