"""How many pods an empty node holds, and how much is looked at to know it."""

from __future__ import annotations

import random

import pytest

from kantopt.problem import node_room as module
from kantopt.problem.freedom import freedom_of
from kantopt.problem.node_room import device_offers, distinct_groups, node_room
from kantopt.verify.bounds.room import most_pods
from tests.verify.world import job, node, pods, question


def by_hand(slots: list[int], k: int) -> int:
    """Take the devices with most slots left, again and again: no other order makes more groups."""
    groups, left = 0, sorted(slots, reverse=True)
    while len(left) >= k and left[k - 1] > 0:
        left = sorted((slot - (i < k) for i, slot in enumerate(left)), reverse=True)
        groups += 1
    return groups


@pytest.mark.parametrize("seed", range(200))
def test_groups_of_devices_that_are_alike_are_counted(seed: int) -> None:
    rng = random.Random(seed)
    slots = [rng.randint(0, 4) for _ in range(rng.randint(0, 7))]
    k = rng.randint(1, 4)
    assert distinct_groups({slot: slots.count(slot) for slot in slots}, k) == by_hand(slots, k)


def test_devices_that_are_alike_are_counted_together() -> None:
    device = {"class": "gpu", "count": 500, "capacity": {"gpu": 1}}
    ask = {"class": "gpu", "count": 2, "requests": {"gpu": "500m"}}
    asking = pods(count=900, devices=[ask])
    instance = question([node("a", cpu=1000, devices=[device])], [job("j", asking)])
    (found,) = device_offers(instance.nodes[0]).values()
    assert list(found.values()) == [500]
    needs = instance.podsets[0].devices
    assert node_room(instance.nodes[0], instance.podsets[0].requests, needs, 900) == 500


def test_of_nodes_and_pods_of_many_kinds_few_pairs_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []
    room = module.node_room

    def counting(*given: object, **more: object) -> int:
        looked.append(given)
        return room(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "node_room", counting)
    nodes = [node(f"n{i}", cpu=100 + i) for i in range(40)]
    jobs = [job(f"j{i}", pods(cpu=i + 1)) for i in range(60)]
    instance = question(nodes, jobs)
    assert all(freedom_of(instance).binds)
    assert all(most_pods(instance, j, 0) == 1 for j in range(60))
    assert len(looked) < 4 * 60
