"""The largest flow, beside what a library finds."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from kantopt.verify.waves.cut import Arc, largest_flow


def by_library(nodes: int, arcs: list[Arc], source: int, sink: int) -> int:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    for tail, head, most in arcs:
        known = graph.get_edge_data(tail, head, {"capacity": 0})["capacity"]
        graph.add_edge(tail, head, capacity=known + most)
    return int(nx.maximum_flow_value(graph, source, sink))


@pytest.mark.parametrize("seed", range(60))
def test_random_networks(seed: int) -> None:
    rng = random.Random(seed)
    nodes = rng.randint(2, 14)
    arcs = []
    for _ in range(rng.randint(0, 60)):
        tail, head = rng.sample(range(nodes), 2)
        arcs.append((tail, head, rng.choice([0, 1, 3, rng.randint(0, 10**12)])))
    assert largest_flow(nodes, arcs, 0, 1) == by_library(nodes, arcs, 0, 1)


def test_what_was_sent_one_way_is_taken_back_where_another_brings_more() -> None:
    arcs = [(0, 2, 1), (0, 3, 1), (2, 3, 1), (2, 1, 1), (3, 1, 1)]
    assert largest_flow(4, arcs, 0, 1) == 2


def test_nothing_flows_where_no_way_leads() -> None:
    assert largest_flow(3, [(0, 2, 5), (1, 2, 5)], 0, 1) == 0
