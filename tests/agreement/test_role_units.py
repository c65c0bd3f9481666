"""Prefill and decode in a ratio: each unit is a gang, and a service grows by whole units."""

from __future__ import annotations

import pytest

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.strategy import Strategy
from tests.search.helpers import built, where
from tests.solved import solved
from tests.verify.world import Document, job, node, pods, question

RATIO = {"prefill": 1, "decode": 3}
BESIDE = [{"topologyKey": "region", "labelSelector": {"matchLabels": {"job": "chat"}}}]


def units(name: str, count: int, priority: int, **more: object) -> Document:
    """Some units of one prefill and three decode pods that start and go together."""
    roles = [pods(role, count=k * count, gpu=2, **more) for role, k in RATIO.items()]
    return job(name, *roles, priority=priority, disruptionMode="all", movable=False)


def service(gpus: int, *jobs: Document) -> Instance:
    """Two units at least and two more if there is room, on nodes with so many GPUs in all."""
    nodes = [node(f"n{i}", cpu=64, gpu=2, labels={"region": "r"}) for i in range(gpus // 2)]
    own = [
        units("chat", 2, 1000),
        *(units(f"chat-{i}", 1, 900, podAffinity=BESIDE) for i in (3, 4)),
    ]
    return question(nodes, [*own, *jobs], objectives=["unplaced", "evictions"])


def units_placed(instance: Instance, strategy: Strategy | None = None) -> int:
    """Units that run, of a plan or of what a strategy makes; no role has more than its share."""
    if strategy is None:
        placement = solved(instance, tiers_of(instance)).placement
        assert placement is not None
    else:
        placement = built(instance, strategy)
    found = {
        role: sum(
            sum(where(instance, placement, f"{name}/{role}").values())
            for name in ("chat", "chat-3", "chat-4")
        )
        for role in RATIO
    }
    assert found["decode"] == 3 * found["prefill"]
    return found["prefill"]


@pytest.mark.parametrize(("gpus", "placed"), [(14, 0), (16, 2), (22, 2), (24, 3), (40, 4)])
def test_a_service_grows_by_whole_units_above_its_minimum(gpus: int, placed: int) -> None:
    """With room for fourteen GPUs there is none for two units, and a third is nothing by itself."""
    instance = service(gpus)
    assert units_placed(instance) == placed
    assert units_placed(instance, Strategy.E_BINPACK) == placed


def test_other_work_of_less_importance_gets_what_is_no_whole_unit() -> None:
    instance = service(22, job("batch", pods(count=5, minCount=0, gpu=2), priority=1))
    placement = solved(instance, tiers_of(instance)).placement
    assert placement is not None
    assert units_placed(instance) == 2
    assert sum(where(instance, placement, "batch").values()) == 3
