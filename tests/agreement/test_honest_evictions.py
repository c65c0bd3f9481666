"""Evictions are honest: the golden questions of R10, and random ones by brute force."""

from __future__ import annotations

from typing import Any

from kantopt.clock import Deadline
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.honest_trials import OBJECTIVES, changed_evictions, evictions, with_a_harmless_job
from tests.oracle import best
from tests.questions import model, question
from tests.solved import solved

SEEDS = some(range(220))
DIVIDED = some(range(150))


def pod(name: str, priority: int, on: str = "", **requests: Any) -> dict[str, Any]:
    podset: dict[str, Any] = {"name": "w", "count": 1, "requests": requests}
    if on:
        podset["assignments"] = [{"node": on, "count": 1}]
    return {"name": name, "priority": priority, "podSets": [podset]}


def node(name: str, **offers: Any) -> dict[str, Any]:
    return {"name": name, "allocatable": offers}


def optimum(asked: Any) -> tuple[dict[int, int], set[str]]:
    """Evictions by priority and the jobs placed, in the best plan by brute force."""
    instance = asked.instance(model().model_copy(update={"objectives": OBJECTIVES}))
    value, placement = best(instance)
    assert value is not None
    assert placement is not None
    there = {
        instance.job_of(podset.index).name
        for podset in instance.podsets
        if not podset.running and placement.placed(podset.index)
    }
    return dict(evictions(instance, placement)), there


def gang_and_pretext(gpus: int) -> Any:
    """A gang on two nodes, two GPUs free on a third; one that may evict it, one that may not."""
    gpu = "nvidia.com/gpu"
    nodes = [node("a", **{gpu: 8}), node("b", **{gpu: 8}), node("c", **{gpu: 2})]
    places = [{"node": name, "count": 1} for name in "ab"]
    workers = {"name": "w", "count": 2, "requests": {gpu: 8}, "assignments": places}
    waiting = [
        pod("small-important", 100, **{gpu: 2}),
        {**pod("never", 50, **{gpu: gpus}), "preemptionPolicy": "Never"},
    ]
    return question(nodes, [{"name": "victim", "priority": 10, "podSets": [workers]}], waiting)


def test_a_gang_is_not_evicted_for_a_job_that_has_a_place_to_seat_one_that_may_not_evict() -> None:
    assert optimum(gang_and_pretext(8)) == ({}, {"default/small-important"})


def test_one_that_never_evicts_does_not_drive_another_into_evicting() -> None:
    assert optimum(gang_and_pretext(2)) == ({}, {"default/small-important"})


def never_and_its_equal(*more: dict[str, Any]) -> Any:
    """Two GPUs free beside a victim; two jobs of one priority want them, one may evict nobody."""
    gpu = "nvidia.com/gpu"
    waiting = [
        {**pod("never", 100, **{gpu: 2}), "preemptionPolicy": "Never"},
        pod("able", 100, **{gpu: 2}),
        *more,
    ]
    nodes = [node("a", **{gpu: 2}), node("b", **{gpu: 2})]
    return question(nodes, [pod("victim", 10, "a", **{gpu: 2})], waiting)


def test_one_that_never_evicts_does_not_drive_its_equal_into_evicting() -> None:
    assert optimum(never_and_its_equal()) == ({}, {"default/able"})


def test_nor_does_it_where_a_lesser_one_could_evict_as_well() -> None:
    lesser = pod("lesser", 50, **{"nvidia.com/gpu": 8})
    assert optimum(never_and_its_equal(lesser)) == ({}, {"default/able"})


def test_one_that_never_evicts_keeps_its_place_before_a_lesser_one_that_may() -> None:
    gpu = "nvidia.com/gpu"
    waiting = [
        {**pod("never", 100, **{gpu: 2}), "preemptionPolicy": "Never"},
        pod("able", 50, **{gpu: 2}),
    ]
    nodes = [node("a", **{gpu: 2}), node("b", **{gpu: 2})]
    asked = question(nodes, [pod("victim", 10, "a", **{gpu: 2})], waiting)
    assert optimum(asked) == ({10: 1}, {"default/never", "default/able"})


def test_nobody_is_evicted_for_a_more_important_one_to_leave_free_room_to_it() -> None:
    """A lesser one may evict as well, but not the victim whom the first one could evict."""
    small = {"nodeSelector": {"pool": "small"}}
    big = {"nodeSelector": {"pool": "big"}}
    nodes = [{**node(name, cpu=1), "labels": {"pool": "big"}} for name in "ab"]
    nodes.append({**node("c", cpu=1), "labels": {"pool": "small"}})
    running = [pod("victim", 100, "b", cpu=1), pod("low", 10, "c", cpu=1)]
    waiting = [
        pod("first", 1000, cpu=1),
        {**pod("never", 500, cpu=1), "preemptionPolicy": "Never"},
        pod("last", 50, cpu=1),
    ]
    for job, where in zip([*running, *waiting], (big, small, big, big, small), strict=True):
        job["podSets"][0] |= where
    there = {"default/first", "default/last"}
    assert optimum(question(nodes, running, waiting)) == ({10: 1}, there)


def test_an_equal_that_waits_is_no_reason_to_evict() -> None:
    nodes = [node("a", cpu=1), node("c", cpu=2)]
    waiting = [pod("important", 100, cpu=1), pod("equal", 10, cpu=2)]
    asked = question(nodes, [pod("victim", 10, "a", cpu=1)], waiting)
    assert optimum(asked) == ({}, {"default/important"})


def test_a_pod_that_moves_does_not_take_the_room_of_a_victim() -> None:
    nodes = [node("n1", cpu=4), node("n2", cpu=5), node("n3", cpu=1)]
    running = [pod("r", 0, "n1", cpu=4), pod("m", 0, "n2", cpu=4)]
    for job in running:
        job["movable"] = True
    waiting = [pod("hi", 1000, cpu=1), pod("q1", 0, cpu="2500m"), pod("q2", 0, cpu="2500m")]
    evicted, there = optimum(question(nodes, running, waiting))
    assert not evicted
    assert "default/hi" in there


def test_a_lesser_job_has_what_is_free_beside_the_victim_that_left_and_no_more() -> None:
    nodes = [node("a", cpu=4)]
    waiting = [pod("high", 100, cpu=2), pod("low", 5, cpu=1), pod("more", 5, cpu=1)]
    asked = question(nodes, [pod("victim", 10, "a", cpu=3)], waiting)
    instance = asked.instance(model())
    s = {instance.job_of(p.index).name.split("/")[1]: p.index for p in instance.podsets}
    spot = next(iter(instance.podsets[s["victim"]].current))
    one = instance.current.replace({s["victim"]: {}, s["high"]: {spot: 1}, s["low"]: {spot: 1}})
    assert check(instance, one, [Rule.PRIORITY]) == []
    both = one.replace({s["more"]: {spot: 1}})
    assert [str(v) for v in check(instance, both, [Rule.PRIORITY])] == [
        "priority: node a: 5 of 4 cpu with the victims of priority 10 and higher put back, "
        "beside arrivals that may not evict them"
    ]


def test_one_more_job_that_may_evict_nobody_changes_no_eviction() -> None:
    asked = [found for seed in SEEDS if (found := changed_evictions(seed)) is not None]
    assert len(asked) >= len(SEEDS) / 2.2
    assert sum(evicts for evicts, _ in asked) >= len(SEEDS) / 7.5
    assert [change for _, change in asked if change] == []


def test_search_and_arithmetic_agree_with_brute_force_where_a_priority_is_divided() -> None:
    asked = 0
    for seed in DIVIDED:
        pair = with_a_harmless_job(seed)
        if pair is None or not any(t.preempts is False for t in tiers_of(pair[1])):
            continue
        asked += 1
        instance, tiers = pair[1], tiers_of(pair[1])
        expected, _ = best(instance)
        outcome = solved(instance, tiers)
        assert expected is not None
        assert outcome.placement is not None, f"seed {seed}"
        assert measure(instance, outcome.placement, tiers) == expected, f"seed {seed}"
        assert outcome.bounds == expected, f"seed {seed}"
        fast = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
        for placement in (instance.current, fast, outcome.placement):
            values = measure(instance, placement, tiers)
            assert values >= expected
            same = (
                True  # a bound is for plans no worse above: the optimum is one while all is equal
            )
            for i, least in enumerate(bounds(instance, tiers, values)):
                if same:
                    assert least <= expected[i], f"seed {seed}: {tiers[i].name}"
                same = same and values[i] == expected[i]
    assert asked >= len(DIVIDED) / 10
