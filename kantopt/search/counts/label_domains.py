"""Domains that the values of one node label make."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.search.shapes import Ints, Mask, mask_of


class LabelDomains:
    """Domains that the values of one node label make; a node without the label is in none."""

    def __init__(self, instance: Instance, key: str) -> None:
        values = [instance.label_domain(n, key) for n in range(len(instance.nodes))]
        index = {name: d for d, name in enumerate(sorted({v for v in values if v is not None}))}
        self.size = len(index)
        self.of: Ints = np.array([-1 if v is None else index[v] for v in values], dtype=np.int64)

    def nodes_in(self, domains: Collection[int]) -> Mask:
        """Nodes of some domains."""
        return np.asarray(mask_of(self.size + 1, domains)[self.of], dtype=np.bool_)
