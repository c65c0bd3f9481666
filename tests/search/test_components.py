"""Strong components, beside what a library finds."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from kantopt.search.order.components import strong_components


@pytest.mark.parametrize("seed", range(80))
def test_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    nodes = rng.randint(1, 25)
    onward = [rng.sample(range(nodes), rng.randint(0, min(nodes, 3))) for _ in range(nodes)]
    graph = nx.DiGraph([(i, head) for i, heads in enumerate(onward) for head in heads])
    graph.add_nodes_from(range(nodes))
    expected = sorted(sorted(part) for part in nx.strongly_connected_components(graph))
    assert sorted(strong_components(onward)) == expected


def test_a_circle_longer_than_python_calls_deep() -> None:
    nodes = 20_000
    onward = [[(i + 1) % nodes] for i in range(nodes)]
    assert strong_components(onward) == [list(range(nodes))]
    assert len(strong_components([*([i + 1] for i in range(nodes)), []])) == nodes + 1
