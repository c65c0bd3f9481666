"""Amounts of devices say of any pods beside each other what matching them with devices says."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from kantopt.formats.imported import Imported
from tests.formats.cluster_objects import job, node, read
from tests.formats.device_objects import (
    PREFIX,
    claim,
    device,
    device_class,
    exactly,
    resource_slice,
    user,
)
from tests.formats.device_objects import given as allocated

NAMES = ("a", "b")
MODELS = st.sampled_from("xyz")
OFFERS = st.tuples(st.lists(MODELS, max_size=5), st.lists(MODELS, max_size=4))
CLASSES = st.lists(st.frozensets(MODELS), min_size=1, max_size=3)
HELD = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 4), st.sampled_from(["own", "other"])),
    max_size=4,
    unique_by=lambda item: item[:2],
)
WAITING = st.lists(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 2), st.none() | st.integers(0, 2)),
        min_size=1,
        max_size=2,
    ),
    min_size=1,
    max_size=4,
)
"""Of each pod the requests: class, devices, and another class of which one device does as well."""


@settings(max_examples=150)
@given(OFFERS, CLASSES, HELD, WAITING)
def test_pods_have_room_exactly_where_each_request_can_have_devices_of_its_own(
    offers: tuple[list[str], list[str]],
    classes: list[frozenset[str]],
    held: list[tuple[str, int, str]],
    waiting: list[list[tuple[int, int, int | None]]],
) -> None:
    objects = [node(name) for name in NAMES]
    for name, models in zip(NAMES, offers, strict=True):
        made = [device(f"g{i}", model=model) for i, model in enumerate(models)]
        objects.append(resource_slice(name, *made))
    for i, models in enumerate(classes):
        words = " || ".join(
            ["false", *(f"device.attributes['gpu.x'].model == '{m}'" for m in sorted(models))]
        )
        objects.append(device_class(f"c{i}", words))
    for name, i, whose in held:
        holder = f"held-{name}-{i}"
        taken = allocated(claim(holder), name, f"g{i}", by=(f"uid-{holder}",))
        objects += [taken, *([user(holder, on=name)] if whose == "own" else [])]
    many = len(classes)
    asks = [
        [(i % many, 1 if j is not None else k, j and j % many) for i, k, j in requests]
        for requests in waiting
    ]
    for number, requests in enumerate(asks):
        wanted = [
            exactly(count, name=f"c{i}")
            if other is None
            else {"firstAvailable": [exactly(1, name=f"c{each}") for each in (i, other)]}
            for i, count, other in requests
        ]
        objects += [user(f"w{number}"), claim(f"w{number}", *wanted)]
    imported = read(*objects)
    taken_ids = {(name, i) for name, i, _ in held}
    every = range(len(asks))
    for pods in chain.from_iterable(combinations(every, n) for n in range(1, len(asks) + 1)):
        requests = [request for pod in pods for request in asks[pod]]
        for name, models in zip(NAMES, offers, strict=True):
            free = [m for i, m in enumerate(models) if (name, i) not in taken_ids]
            sets = [
                classes[i] | (classes[other] if other is not None else frozenset())
                for i, count, other in requests
                for _ in range(count)
            ]
            assert _fit(imported, name, pods) == _match(free, sets)


def _fit(imported: Imported, name: str, pods: tuple[int, ...]) -> bool:
    asked: Counter[str] = Counter()
    (found,) = (item for item in imported.snapshot.nodes if item.name == name)
    for running in imported.snapshot.jobs:
        (podset,) = running.pod_sets
        if podset.assignments[0].node == name:
            asked.update({key: int(n) for key, n in podset.requests.items()})
    for pod in pods:
        (podset,) = job(imported.pending.jobs, f"w{pod}").pod_sets
        assert not podset.not_modelled
        asked.update({key: int(n) for key, n in podset.requests.items()})
    return all(
        amount <= int(found.allocatable.get(key, 0))
        for key, amount in asked.items()
        if key.startswith(PREFIX)
    )


def _match(free: list[str], sets: list[frozenset[str]]) -> bool:
    graph: networkx.Graph = networkx.Graph()
    top = [("ask", i) for i in range(len(sets))]
    graph.add_nodes_from(top)
    for i, models in enumerate(sets):
        graph.add_edges_from((("ask", i), ("free", k)) for k, m in enumerate(free) if m in models)
    found = networkx.bipartite.maximum_matching(graph, top)
    return all(item in found for item in top)
