"""How many more fit of a gang that needs so many pods over several pod sets, whichever they are."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kantopt.planning.capacity.copies import MOST_PODS, Copies, most_copies
from kantopt.report.capacity import capacity_blocks
from kantopt.schema.answers.capacity import Capacity
from kantopt.schema.extends import load_model
from tests.planning.test_whole_copies import count
from tests.questions import question

GPU = "nvidia.com/gpu"
Asks = tuple[int, int]


def node(name: str, free: Asks) -> dict[str, Any]:
    return {"name": name, "labels": {}, "allocatable": {"cpu": free[0], GPU: free[1]}}


def pods(name: str, asks: Asks, number: int, least: int = 0, **more: Any) -> dict[str, Any]:
    requests = {"cpu": asks[0], GPU: asks[1]}
    return {"name": name, "count": number, "minCount": least, "requests": requests, **more}


def gang(least: int, *podsets: dict[str, Any]) -> dict[str, Any]:
    return {"name": "j", "minCount": least, "podSets": list(podsets)}


def needs(found: Capacity) -> tuple[list[tuple[str, int]], int | None]:
    return [(each.name, each.pods) for each in found.pod_sets], found.min_count


def test_what_any_pod_asks_for_bounds_copies_of_any_pods() -> None:
    nodes = [node("a", (64, 8)), node("b", (64, 6))]
    wanted = gang(1, pods("small", (1, 1), 1), pods("large", (1, 4), 2))
    found = count(question(nodes, [], [wanted]))
    assert [(room.jobs, room.bound) for room in found.rooms] == [(14, 14)] * 3
    assert needs(found) == ([], 1)
    text = " ".join(str(block) for block in capacity_blocks(found))
    assert "each: 1 pod in all." in text
    assert "POD SET" in text


def test_pods_that_others_are_too_few_for_are_needed() -> None:
    """Of nine pods one may be the launcher: eight workers at least, and no others then."""
    nodes = [node(name, (64, 8)) for name in "abcd"]
    wanted = gang(9, pods("launcher", (4, 0), 1), pods("worker", (1, 1), 8))
    found = count(question(nodes, [], [wanted]))
    assert [(room.jobs, room.bound) for room in found.rooms] == [(4, 4)] * 3
    assert needs(found) == ([("launcher", 1), ("worker", 8)], None)
    wanted = gang(9, pods("launcher", (4, 0), 1), pods("worker", (1, 1), 12))
    assert needs(count(question(nodes, [], [wanted]))) == ([("worker", 8)], 9)


@pytest.mark.parametrize("pool", ["", "x"])
def test_pods_that_go_to_other_nodes_bound_nothing_together(pool: str) -> None:
    """A quota of one kind of nodes counts who may go there: all, if nobody said where to go."""
    selector = {"pool": pool} if pool else {}
    wanted = gang(1, pods("p", (1, 1), 2), pods("q", (1, 1), 2, nodeSelector=selector))
    asked = question([node("a", (64, 8))], [], [wanted])
    copies = Copies(asked, load_model("mixed"), asked.pending[0])
    assert most_copies(copies) == (MOST_PODS if pool else 8)


def reachable(nodes: Sequence[Asks], asks: Sequence[Asks]) -> set[Asks]:
    """Pods of both sets that fit together."""

    def on(free: Asks) -> Iterator[Asks]:
        for i in range(13):
            for k in range(13):
                taken = [i * one + k * other for one, other in zip(*asks, strict=True)]
                if all(t <= f for t, f in zip(taken, free, strict=True)):
                    yield i, k

    found = {(0, 0)}
    for free in nodes:
        found = {(a + i, b + k) for a, b in found for i, k in on(free)}
    return found


def test_values_are_those_of_brute_force() -> None:
    for seed in range(12):
        rng = random.Random(seed)
        nodes = [(rng.randint(3, 6), rng.choice((2, 4))) for _ in range(rng.randint(1, 2))]
        asks = [(rng.randint(1, 2), rng.choice((0, 1, 2))) for _ in range(2)]
        counts = [rng.randint(1, 2) for _ in range(2)]
        least = [rng.choice((0, 0, k)) for k in counts]
        over_all = max(1, rng.randint(sum(least), sum(counts)))
        wanted = gang(
            over_all,
            *(pods(n, *item) for n, *item in zip("pq", asks, counts, least, strict=True)),
        )
        lowest = max(least[0], over_all - counts[1])
        highest = min(counts[0], over_all - least[1])
        most = max(
            (a + b) // over_all
            for a, b in reachable(nodes, asks)
            if (a + b) % over_all == 0 and lowest * (a + b) <= a * over_all <= highest * (a + b)
        )
        asked = question([node(f"n{i}", free) for i, free in enumerate(nodes)], [], [wanted])
        copies = Copies(asked, load_model("mixed"), asked.pending[0])
        assert most <= most_copies(copies), seed
        found = count(asked)
        assert [(room.jobs, room.bound) for room in found.rooms] == [(most, most)] * 3, seed
