"""Fair shares of queues: entitlements, what is short of them, and bounds of that by arithmetic."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bounds, measure
from tests.oracle import best
from tests.solved import solved
from tests.verify.world import GPU, Document, job, node, pods, question, values

NODES = [node("a", cpu=20, gpu=8), node("b", cpu=20, gpu=8)]


def queues(**weights: Any) -> list[Document]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


def of(queue: str, name: str, gpu: int, count: int = 1, **more: Any) -> Document:
    """Pods of one GPU each that need not start together."""
    where = {"on": [more.pop("on")] * count} if "on" in more else {}
    return job(name, pods(count=count, minCount=0, gpu=gpu, **where), queueName=queue, **more)


def test_a_queue_is_entitled_to_its_part_by_weight_but_to_no_more_than_it_wants() -> None:
    jobs = [of("x", "x", 2, count=8), of("y", "y", 1, count=2), of("z", "z", 1, count=9)]

    def entitled(nodes: list[Any], **weights: Any) -> tuple[int, ...]:
        asked = question(nodes, jobs, objectives=["fair_share"], queues=queues(**weights))
        return asked.entitled

    assert entitled(NODES, x=1, y=1, z=1) == (5333, 2000, 5333)
    assert entitled(NODES, x=2, y=1, z="0.5") == (9142, 2000, 2285)
    assert entitled(NODES, x=2, y=1, z=1, idle=96) == (8000, 2000, 4000, 0)
    assert entitled(NODES, x=0, y=1, z=1) == (0, 2000, 8000)
    assert entitled(NODES, x=0, y=0, z=0) == (0, 0, 0)
    cordoned = [NODES[0], {**NODES[1], "unschedulable": True}]
    assert entitled(cordoned, x=1, y=1, z=2) == (2000, 2000, 4000)
    assert question(NODES, jobs, queues=queues(x=1, y=1, z=1)).entitled == ()


def test_what_queues_have_less_than_that_counts_and_what_they_have_more_does_not() -> None:
    jobs = [
        of("x", "x", 2, count=4, on="a"),
        of("y", "y", 2, count=4),
        job("free", pods(gpu=4)),
    ]
    asked = question(NODES, jobs, objectives=["fair_share"], queues=queues(x=1, y=3))
    assert asked.entitled == (4000, 8000)
    assert values(asked) == {"fair_share": 8000}
    assert values(asked, y=["b"] * 3, free=["b"]) == {"fair_share": 2000}
    assert values(asked, x=["a"], y=["b"] * 4) == {"fair_share": 2000}


def both(jobs: list[Document], *asked: Any, **more: Any) -> tuple[int, int]:
    """Bound and optimum of the last tier."""
    instance = question(NODES, jobs, objectives=[*asked, "fair_share"], **more)
    value, _ = best(instance)
    assert value is not None
    return bounds(instance, tiers_of(instance), value)[-1], value[-1]


def test_what_others_hold_for_good_is_nobodys_share() -> None:
    """Of 16 GPUs the pinned job has 12: the others are entitled to 5.333 each and get 4 in all."""
    held = [of("old", "o1", 8, on="a", movable=False), of("old", "o2", 4, on="b", movable=False)]
    jobs = [*held, of("x", "x", 2, count=3), of("y", "y", 2, count=3)]
    weights = queues(old=1, x=1, y=1)
    assert both(jobs, queues=weights) == (6666, 6666)
    for one in held:
        del one["queueName"]
    assert both(jobs, queues=queues(x=1, y=1)) == (8000, 8000)


def test_a_quota_and_pods_that_fit_nowhere_keep_a_queue_short() -> None:
    limited = [{**queues(x=1)[0], "resources": [{"name": GPU, "nominalQuota": 3}]}]
    jobs = [*(of("x", f"x{i}", 2) for i in range(3)), of("y", "y", 16, count=1)]
    assert both(jobs, queues=[*limited, *queues(y=1)]) == (3000 + 8000, 4000 + 8000)
    assert both(jobs, queues=[*limited, *queues(y=1)], rules={"quota": "off"}) == (8000, 8000)


@pytest.mark.parametrize("seed", range(12))
def test_weights_count_by_their_ratio_and_more_gpus_take_nothing_away(seed: int) -> None:
    rng = random.Random(seed)
    jobs = [of(rng.choice("xy"), f"j{i}", rng.randint(1, 4)) for i in range(7)]
    weights = {"x": rng.randint(1, 4), "y": rng.randint(1, 4)}

    def short(scale: int, nodes: list[Any]) -> int:
        given = queues(**{name: scale * weight for name, weight in weights.items()})
        instance = question(nodes, jobs, objectives=["fair_share"], queues=given)
        tiers = tiers_of(instance)
        placement = solved(instance, tiers).placement
        assert placement is not None
        return measure(instance, placement, tiers)[0]

    once = short(1, NODES[:1])
    assert short(3, NODES[:1]) == once
    wants = sum(p["requests"].get(GPU, 0) for j in jobs for p in j["podSets"])
    if wants <= 16:
        assert short(1, [node("all", cpu=99, gpu=16)]) == 0
