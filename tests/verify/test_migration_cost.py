"""Memory that moves copy: rounds of pre-copy, and what they add up to."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.memory import MIB, ROUNDS, migration_mib, pre_copied
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bounds
from tests.oracle import best
from tests.questions import model, question
from tests.verify.world import Document

GIB = 2**30


@pytest.mark.parametrize(
    ("dirty_rate", "bandwidth", "copied"),
    [
        (0, 100, 1000),
        (50, None, 1000),
        (50, 100, 1000 + 500 + 250 + 125 + 62 + 31 + 15 + 7 + 3 + 1),
        (1, 100, 1000 + 10),
        (99, 100, 9560),
        (100, 100, 2000),
        (10**15, 1, 2000),
    ],
    ids=["no writes", "no bandwidth", "half", "little", "ten rounds", "as fast", "far faster"],
)
def test_each_round_copies_what_was_written_during_the_one_before(
    dirty_rate: int, bandwidth: int | None, copied: int
) -> None:
    if copied == 9560:
        rounds = [1000]
        for _ in range(ROUNDS):
            rounds.append(rounds[-1] * 99 // 100)
        copied = sum(rounds)
        assert len(rounds) == 11
    assert pre_copied(1000, dirty_rate, bandwidth) == copied


def test_more_writes_and_less_bandwidth_never_copy_less_until_it_is_hopeless() -> None:
    by_rate = [pre_copied(10**9, rate, 1000) for rate in range(0, 1000, 50)]
    assert by_rate == sorted(by_rate)
    by_speed = [pre_copied(10**9, 100, speed) for speed in range(101, 2000, 100)]
    assert by_speed == sorted(by_speed, reverse=True)


def test_a_restart_copies_its_memory_once_and_mebibytes_are_rounded_up() -> None:
    assert migration_mib(GIB + 1, 10**12, 1, live=False) == 1025
    assert migration_mib(GIB, GIB // 2, GIB, live=True) == 1024 + 512 + 256 + 128 + 64 + 32 + 31
    assert migration_mib(0, 5, 5, live=True) == 0
    assert MIB == 1024**2


def running(name: str, node: str, memory: str, count: int = 1, **more: Any) -> Document:
    podset = {
        "count": count,
        "minCount": 0,
        "requests": {"cpu": 1, "memory": memory},
        "dirtyRate": more.pop("dirty_rate", 0),
        "assignments": [{"node": node, "count": count}],
    }
    return {"name": name, "podSets": [podset], **more}


def optimum(jobs: list[Document], *asked: Any, **more: Any) -> list[tuple[str, int, int]]:
    """Name, bound and optimum of each tier."""
    nodes = [{"name": n, "allocatable": {"cpu": 9, "memory": "1Ti"}} for n in "abc"]
    given = question(nodes, jobs, []).instance(model(*asked, limits={"evictions": 0}, **more))
    value, _ = best(given)
    assert value is not None
    tiers = tiers_of(given)
    found = bounds(given, tiers, value)
    return [(t.name, low, v) for t, low, v in zip(tiers, found, value, strict=True)]


TWO: dict[str, Any] = {"nodes_in_use": {"target": 2}}


def test_the_node_is_emptied_whose_pods_are_copied_with_least() -> None:
    """One pod of 9 GiB, two of 2 and one of 1: the fewest moves are not the cheapest."""
    jobs = [
        running("large", "a", "9Gi"),
        running("small", "b", "2Gi", count=2),
        running("held", "c", "1Gi", movable=False),
    ]
    assert optimum(jobs, TWO, "migration_cost", "moves") == [
        ("nodes_in_use[above goal 2]", 0, 0),
        ("migration_cost", 4096, 4096),
        ("moves", 1, 2),
    ]
    assert optimum(jobs[:1] + jobs[2:], {"nodes_in_use": {"target": 1}}, "migration_cost") == [
        ("nodes_in_use[above goal 1]", 0, 0),
        ("migration_cost", 9216, 9216),
    ]


def test_writes_count_only_of_live_moves_and_only_where_there_is_a_bandwidth() -> None:
    def cost(mode: str, **more: Any) -> int:
        jobs = [
            running("r", "a", "4Gi", dirty_rate="512Mi", moveMode=mode),
            running("held", "c", "1Gi", movable=False),
        ]
        return optimum(jobs, {"nodes_in_use": {"target": 1}}, "migration_cost", **more)[1][2]

    fast = {"schedule": {"bandwidth": "1Gi"}}
    assert cost("restart", **fast) == cost("live") == 4096
    assert cost("live", **fast) == 4096 + 2048 + 1024 + 512 + 256 + 128 + 64 + 32 + 16 + 8 + 4
    assert cost("live", schedule={"bandwidth": "4Gi"}) == 4096 + 512 + 64 + 8 + 1 + 1


def test_by_priority_those_first_whose_priority_is_higher_and_without_memory_there_is_no_tier() -> (
    None
):
    jobs = [running("r", "a", "1Gi", priority=2), running("s", "b", "2Gi", priority=1)]
    asked = {"migration_cost": {"by": "priority"}}
    assert optimum(jobs, {"nodes_in_use": {"target": 1}}, asked)[1:] == [
        ("migration_cost[priority=2]", 0, 0),
        ("migration_cost[priority=1]", 0, 2048),
    ]
    bare = [running("r", "a", "0")]
    assert [name for name, _, _ in optimum(bare, "migration_cost", "moves")] == ["moves"]
