"""Room for slices is made where it costs least, slice by slice."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.search.relocation.slice_rooms import Rooms, nodes_for_slices
from tests.search.helpers import built, where
from tests.verify.world import job, node, pods, question

Domain = list[tuple[int, int]]
"""Room that a node has now, and what clearing it costs; cleared it has room for one pod more."""


def rooms_of(domains: list[Domain]) -> Rooms:
    now = [room for nodes in domains for room, _ in nodes]
    return Rooms(
        np.array(now, dtype=np.int64),
        np.array([room + 1 for room in now], dtype=np.int64),
        np.array([toll for nodes in domains for _, toll in nodes], dtype=np.int64),
        np.array([d for d, nodes in enumerate(domains) for _ in nodes], dtype=np.int64),
    )


def slices(domains: list[Domain], cleared: list[int], size: int) -> int:
    rooms = rooms_of(domains)
    room = rooms.now.copy()
    room[cleared] = rooms.could[cleared]
    return sum(int(room[rooms.domain == d].sum()) // size for d in range(len(domains)))


@pytest.mark.parametrize("busy", range(1, 6))
def test_each_rack_gets_a_whole_slice(busy: int) -> None:
    """Of each rack one node is free and one is busy; single nodes elsewhere are free, too."""
    racks = [node(f"{k}{i}", gpu=8, rack=f"b/{i}") for i in range(busy) for k in "fx"]
    alone = [node(f"a{i}", gpu=8, rack=f"c/{i}") for i in range(busy)]
    runs = [job(f"r{i}", pods(cpu=0, gpu=8, on=[f"x{i}"])) for i in range(busy)]
    ask = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
    wants = job("wants", pods(count=2 * busy, cpu=0, gpu=8, topologyRequest=ask))
    # The busy nodes of no rack but one's own help; without moves there is no slice at all.
    instance = question([*racks, *alone], [*runs, wants])
    found = where(instance, built(instance, relocate=True), "wants")
    assert sum(found.values()) == 2 * busy


DOMAINS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5)), min_size=1, max_size=3),
    min_size=1,
    max_size=3,
)


@given(domains=DOMAINS, size=st.integers(1, 3), count=st.integers(1, 4))
def test_choices_make_the_slices_asked_for(domains: list[Domain], size: int, count: int) -> None:
    flat = [one for nodes in domains for one in nodes]
    most = slices(domains, list(range(len(flat))), size)
    already = slices(domains, [], size)
    found = list(nodes_for_slices(rooms_of(domains), count * size, size, lambda n: True))
    assert all(slices(domains, nodes, size) >= count for nodes in found)
    if most >= count > already:
        assert found


@given(domains=DOMAINS, size=st.integers(1, 3))
def test_the_first_choice_for_one_slice_is_the_cheapest(domains: list[Domain], size: int) -> None:
    """Every cleared node gives room for one pod more, so the cheapest nodes are the best."""
    tolls = [toll for nodes in domains for _, toll in nodes]
    want = slices(domains, [], size) + 1
    costs = [
        sum(toll for toll, taken in zip(tolls, chosen, strict=True) if taken)
        for chosen in product((False, True), repeat=len(tolls))
        if slices(domains, [n for n, taken in enumerate(chosen) if taken], size) >= want
    ]
    found = next(nodes_for_slices(rooms_of(domains), want * size, size, lambda n: True), None)
    assert (found is None) == (not costs)
    if found is not None:
        assert sum(tolls[n] for n in found) == min(costs)


def test_nodes_that_cannot_be_cleared_are_left() -> None:
    rooms = rooms_of([[(0, 1), (0, 9), (1, 10)]])
    assert next(nodes_for_slices(rooms, 2, 2, lambda n: n != 0)) == [1]
