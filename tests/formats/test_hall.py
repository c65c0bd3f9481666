"""Sums per set of kinds say exactly whether devices suffice."""

from __future__ import annotations

from collections.abc import Sequence

import networkx
from hypothesis import given
from hypothesis import strategies as st

from kantopt.formats.kubernetes.hall import MOST_SETS, Kinds, _needed, binding_sets

GROUPS = st.lists(st.frozensets(st.integers(0, 4), min_size=1), min_size=1, max_size=12)


def _suffice(devices: Sequence[Kinds], demands: dict[int, int]) -> bool:
    """Whether each demand can have a device of its own: by matching."""
    graph = networkx.Graph()
    wanted = [(kind, i) for kind, count in demands.items() for i in range(count)]
    graph.add_nodes_from(wanted)
    for kind, i in wanted:
        graph.add_edges_from(((kind, i), d) for d, group in enumerate(devices) if kind in group)
    matching = networkx.bipartite.maximum_matching(graph, wanted)
    return all(item in matching for item in wanted)


@given(GROUPS, st.data())
def test_sums_are_kept_exactly_where_a_matching_exists(
    devices: list[Kinds], data: st.DataObject
) -> None:
    sets, excess = binding_sets(devices)
    there = sorted(frozenset().union(*devices) - excess)
    demands = {kind: data.draw(st.integers(0, 4), label=f"kind {kind}") for kind in there}
    node = data.draw(st.lists(st.sampled_from(devices), max_size=8), label="devices of a node")
    kept = all(
        sum(demands[kind] for kind in group) <= sum(bool(device & group) for device in node)
        for group in sets
    )
    assert kept == _suffice(node, demands)


def test_kinds_that_share_nothing_have_a_sum_each() -> None:
    one, two = frozenset([0]), frozenset([1])
    assert set(binding_sets([one, two])[0]) == {one, two}


def test_a_kind_within_another_needs_no_sum_of_both_beside_the_wider() -> None:
    sets, _ = binding_sets([frozenset([0]), frozenset([0, 1])])
    assert set(sets) == {frozenset([0, 1]), frozenset([1])}


def test_kinds_within_one_class_need_a_sum_each_however_many_they_are() -> None:
    devices = [frozenset([0, kind]) for kind in range(1, 100)]
    sets, excess = binding_sets([frozenset([0]), *devices])
    assert len(sets) == 100
    assert not excess


@given(st.lists(st.sampled_from([[0], [0, 1], [0, 1, 2], [0, 3], [4], [4, 5]]), max_size=9))
def test_kinds_within_each_other_need_what_looking_at_all_sets_finds(
    chosen: list[list[int]],
) -> None:
    groups = [frozenset(group) for group in chosen]
    sets, _ = binding_sets(groups)
    kinds = sorted(frozenset().union(*groups))
    assert set(sets) == set(_needed(kinds, list(set(groups))))


def test_too_many_kinds_that_share_devices_are_named() -> None:
    ring = [frozenset([kind, (kind + 1) % 12]) for kind in range(12)]
    alone = frozenset([12])
    assert binding_sets([*ring, alone]) == ((alone,), frozenset(range(12)))
    four = [frozenset(kind for kind in range(4) if bits >> kind & 1) for bits in range(1, 16)]
    assert len(binding_sets(four)[0]) == MOST_SETS
    five = [frozenset(kind for kind in range(5) if bits >> kind & 1) for bits in range(1, 32)]
    assert binding_sets(five) == ((), frozenset(range(5)))
