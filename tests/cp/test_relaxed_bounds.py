"""Bounds of the relaxation: never above the optimum, and the optimum in cases made for them."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from kantopt.clock import Deadline, elapsed
from kantopt.cp.relaxed import bounds as relaxed
from kantopt.cp.relaxed import receiving
from kantopt.cp.relaxed.bounds import relaxed_bounds
from kantopt.cp.relaxed.model import Relaxation
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Metric, Rule
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance, without
from tests.oracle import Value, best
from tests.verify.world import Document, job, node, pods, question

SEEDS = 480
BLOCKS = 8
SERVED = (
    Metric.UNPLACED,
    Metric.EVICTIONS,
    Metric.MOVES,
    Metric.DISRUPTION_COST,
    Metric.DOMAINS_CROSSED,
    Metric.EXCESS_NODES,
    Metric.EXCESS_GROUPS,
    Metric.NODES_IN_USE,
    Metric.ALLOCATION,
    Metric.WAITING,
)


def proved(instance: Instance, values: Value) -> Value:
    """The better of the bounds by arithmetic and by relaxation, for each tier."""
    tiers = tiers_of(instance)
    found = list(bounds(instance, tiers, values))

    def better(i: int, value: int) -> None:
        assert value > found[i], "no news"
        found[i] = value

    relaxed_bounds(instance, tiers, values, Deadline(None), bound=better)
    return tuple(found)


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_no_bound_is_above_the_optimum(block: int) -> None:
    """At the optimum, at what doing nothing leaves, and at values worse by a little."""
    for seed in range(block, SEEDS, BLOCKS):
        rng = random.Random(seed)
        instance = random_instance(seed)
        rule = rng.choice((None, *Rule))
        if rule is not None:
            instance = without(instance, rule)
        value, _ = best(instance)
        if value is None:
            continue
        given = [value, tuple(v + rng.randint(0, 2) for v in value)]
        if not check(instance, instance.current):
            given.append(measure(instance, instance.current, tiers_of(instance)))
        for values in given:
            for i, (low, v) in enumerate(zip(proved(instance, values), value, strict=True)):
                if all(a <= b for a, b in zip(value[:i], values[:i], strict=True)):
                    assert low <= v, (seed, rule, tiers_of(instance)[i].name, values)


def test_most_tiers_that_arithmetic_leaves_open_are_closed() -> None:
    open_before: Counter[Metric] = Counter()
    closed: Counter[Metric] = Counter()
    for seed in range(160):
        instance = random_instance(seed)
        value, _ = best(instance)
        if value is None:
            continue
        tiers = tiers_of(instance)
        rows = zip(
            tiers, bounds(instance, tiers, value), proved(instance, value), value, strict=True
        )
        for tier, before, after, v in rows:
            open_before[tier.metric] += before < v
            closed[tier.metric] += before < v == after
    for metric in SERVED:
        assert closed[metric] >= 0.3 * open_before[metric] > 0, (metric, closed, open_before)


def at_best(instance: Instance) -> dict[str, tuple[int, int]]:
    """Bound and optimum of each tier, by name."""
    value, _ = best(instance)
    assert value is not None
    rows = zip(tiers_of(instance), proved(instance, value), value, strict=True)
    return {tier.name: (low, v) for tier, low, v in rows}


def last(nodes: list[Any], jobs: list[Any], **more: Any) -> tuple[int, int]:
    """Bound and optimum of the last tier."""
    return list(at_best(question(nodes, jobs, **more)).values())[-1]


BY_PODS: list[Any] = [{"unplaced": {"unit": "pod"}}]


def test_a_node_of_eight_holds_one_pod_of_five() -> None:
    jobs = [job(name, pods(cpu=0, gpu=5)) for name in "abc"]
    assert last([node("a", gpu=8), node("b", gpu=8)], jobs) == (5000, 5000)


def test_a_gpu_holds_one_pod_that_takes_more_than_half_of_it() -> None:
    shares = [{"class": "gpu", "requests": {"gpu": "600m"}}]
    devices = [{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}]
    jobs = [job(name, pods(cpu=0, devices=shares)) for name in "abc"]
    assert last([node("n", devices=devices)], jobs) == (600, 600)


def test_whole_gpus_of_a_pod_are_on_one_node() -> None:
    """Two nodes of three GPUs: pods of two GPUs leave one GPU over on each."""
    need = [{"class": "gpu", "count": 2, "requests": {"gpu": 1}}]
    devices = [{"class": "gpu", "count": 3, "capacity": {"gpu": 1}}]
    nodes = [node("a", devices=devices), node("b", devices=devices)]
    jobs = [job(name, pods(cpu=0, devices=need)) for name in "abc"]
    assert last(nodes, jobs) == (2000, 2000)


def test_pods_go_where_they_are_admitted_only() -> None:
    nodes = [node("a", cpu=2, labels={"kind": "x"}), node("b", cpu=9)]
    only = {"nodeSelector": {"kind": "x"}}
    jobs = [job(name, pods(**only)) for name in "abc"]
    assert last(nodes, jobs, objectives=BY_PODS) == (1, 1)


def test_gangs_start_whole() -> None:
    """Five cores for two gangs of three pods: one of them does not start, not a part of it."""
    jobs = [job(name, pods(count=3)) for name in "ab"]
    assert last([node("a", cpu=5)], jobs, objectives=BY_PODS) == (3, 3)


def test_what_a_queue_may_use_is_shared() -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 3}]}]
    jobs = [job(name, pods(cpu=2), queueName="q") for name in "ab"]
    assert last([node("a", cpu=9)], jobs, objectives=BY_PODS, queues=queues) == (1, 1)


def test_room_for_the_more_important_is_made_by_evictions() -> None:
    running = [job(name, pods(on=["a"]), priority=1) for name in "wxyz"]
    wants = job("high", pods(cpu=2), priority=5)
    objectives = [*BY_PODS, "evictions"]
    found = at_best(question([node("a")], [*running, wants], objectives=objectives))
    assert found["unplaced[priority=1, pods]"] == (2, 2)
    assert found["evictions[priority=1]"] == (2, 2)


def test_nobody_is_evicted_for_jobs_of_its_own_priority() -> None:
    running = job("r", pods(cpu=2, on=["a"]))
    small = [job(name, pods(cpu=1)) for name in "st"]
    assert last([node("a", cpu=2)], [running, *small], objectives=BY_PODS) == (2, 2)


SPREAD_OUT = [node(name) for name in "abc"]


def half_full(cpu: int) -> list[Document]:
    """One running pod on each node."""
    return [job(f"r{n['name']}", pods(cpu=cpu, on=[n["name"]])) for n in SPREAD_OUT]


def test_a_pod_that_fits_nowhere_needs_a_departure() -> None:
    jobs = [*half_full(2), job("j", pods(cpu=3))]
    assert last(SPREAD_OUT, jobs, objectives=[*BY_PODS, "moves"]) == (1, 1)


def test_two_pods_that_cannot_share_a_node_need_two_departures() -> None:
    """Six cores are free: both pods of three find room once two of one core have left."""
    jobs = [*half_full(1), job("more", pods(cpu=1, on=["c"]))]
    jobs += [job("j", pods(cpu=4)), job("k", pods(cpu=4))]
    nodes = [node("a"), node("b"), node("c", cpu=4)]
    assert last(nodes, jobs, objectives=[*BY_PODS, "moves"]) == (2, 2)


def test_two_pods_may_share_one_large_departure() -> None:
    nodes = [node("a", cpu=4), node("b", cpu=4)]
    large = job("large", pods(cpu=3, on=["a"]))
    other = job("other", pods(cpu=1, on=["b"]))
    pinned = {"movable": False, "preemptible": False}
    jobs = [large, {**other, **pinned}, job("j", pods(cpu=2)), job("k", pods(cpu=2))]
    assert last(nodes, jobs, objectives=[*BY_PODS, "moves"]) == (1, 1)


def test_three_pods_may_share_one_departure_too() -> None:
    nodes = [node("a", cpu=7, gpu=3), node("b", cpu=1, gpu=3)]
    large = job("large", pods(cpu=1, gpu=3, on=["a"]))
    small = [job(name, pods(cpu=2, gpu=1)) for name in "jkl"]
    assert last(nodes, [large, *small], objectives=[*BY_PODS, "moves"]) == (1, 1)


def test_room_in_a_rack_may_come_from_an_eviction() -> None:
    nodes = [node(f"{r}{i}", cpu=4, rack=f"b/{r}") for r in "xy" for i in range(2)]
    stuck = [job(f"s{r}", pods(cpu=4, on=[f"{r}0"]), movable=False) for r in "xy"]
    wish = {"topologyRequest": {"preferred": "rack"}}
    gang = job("g", pods(count=2, cpu=4), priority=5, **wish)
    instance = question(
        nodes, [*stuck, gang], objectives=["domains_crossed"], required=["default/g"]
    )
    assert best(instance)[0] == (0,)
    assert proved(instance, (1,)) == (0,)


def test_a_gang_that_prefers_a_rack_crosses_where_none_has_the_room() -> None:
    nodes = [node(f"{r}{i}", cpu=4, rack=f"b/{r}") for r in "xy" for i in range(2)]
    stuck = [
        job(f"s{r}", pods(cpu=4, on=[f"{r}0"]), movable=False, preemptible=False) for r in "xy"
    ]
    wish = {"topologyRequest": {"preferred": "rack"}}
    gang = job("g", pods(count=2, cpu=4), **wish)
    found = last(nodes, [*stuck, gang], objectives=[*BY_PODS, "domains_crossed"])
    assert found == (1, 1)


def test_gangs_that_do_not_pack_into_racks_cross() -> None:
    """Two racks of three nodes, three gangs of two: the third has one node in each rack."""
    nodes = [node(f"{r}{i}", cpu=4, rack=f"b/{r}") for r in "xy" for i in range(3)]
    wish = {"topologyRequest": {"preferred": "rack"}}
    gangs = [job(name, pods(count=2, cpu=4), **wish) for name in "abc"]
    assert last(nodes, gangs, objectives=[*BY_PODS, "domains_crossed"]) == (1, 1)


def test_gangs_that_cannot_move_stay_as_spread_as_they_are() -> None:
    nodes = [node(name, cpu=4) for name in "abc"]
    spread = job("g", pods(count=3, on=["a", "b", "c"]), movable=False)
    assert last(nodes, [spread], objectives=["excess_nodes"]) == (2, 2)


def test_what_runs_needs_its_number_of_nodes() -> None:
    nodes = [node(name, cpu=4) for name in "abc"]
    jobs = [job(name, pods(cpu=3, on=[name])) for name in "ab"]
    jobs.append(job("c", pods(cpu=1, on=["c"])))
    assert last(nodes, jobs, objectives=["nodes_in_use"]) == (2, 2)


def test_values_that_no_plan_reaches_are_refused() -> None:
    jobs = [job(name, pods(cpu=0, gpu=5)) for name in "abc"]
    objectives = ["unplaced", "allocation"]
    instance = question([node("a", gpu=8), node("b", gpu=8)], jobs, objectives=objectives)
    with pytest.raises(ValueError, match="no plan is as good"):
        relaxed_bounds(
            instance, tiers_of(instance), (0, 9000), Deadline(None), bound=lambda i, value: None
        )


def test_nothing_is_said_when_the_time_is_up() -> None:
    jobs = [job(name, pods(cpu=0, gpu=5)) for name in "abc"]
    instance = question([node("a", gpu=8), node("b", gpu=8)], jobs)
    said: list[tuple[int, int]] = []
    over = Deadline(elapsed())
    relaxed_bounds(
        instance, tiers_of(instance), (5000,), over, bound=lambda i, value: said.append((i, value))
    )
    assert said == []


def many(scale: int) -> Instance:
    """A cluster of some nodes of two kinds, with jobs of four kinds, so many times."""
    nodes, jobs = [], []
    for i in range(scale):
        nodes += [node(f"a{i}", gpu=8), node(f"b{i}", cpu=9, labels={"kind": "x"})]
        jobs += [
            job(f"r{i}", pods(cpu=1, gpu=3, on=[f"a{i}"]), priority=1),
            job(f"s{i}", pods(cpu=2, on=[f"b{i}"]), movable=False),
            job(f"g{i}", pods(count=3, gpu=4), priority=2),
            job(f"p{i}", pods(nodeSelector={"kind": "x"})),
        ]
    return question(nodes, jobs, objectives=["unplaced", "evictions", "moves"])


def test_the_size_is_that_of_what_differs_not_of_what_there_is() -> None:
    sizes = set()
    for scale in (2, 40):
        instance = many(scale)
        proto = Relaxation(instance, tiers_of(instance)).cp.proto
        sizes.add((len(proto.variables), len(proto.constraints)))
    assert len(sizes) == 1


@pytest.mark.parametrize("movable", [True, False])
def test_room_of_a_victim_is_kept_from_those_who_may_not_evict_it(movable: bool) -> None:
    """Four of its eight GPUs are left over: no place for a job as important as the victim."""
    jobs = [
        job("victim", pods(cpu=0, gpu=8, on=["n"]), priority=5, movable=movable),
        job("equal", pods(cpu=0, gpu=4), priority=5),
        job("high", pods(cpu=0, gpu=4), priority=9),
    ]
    assert last([node("n", gpu=8)], jobs) == (12000, 12000)


def test_jobs_that_never_preempt_are_no_kind_with_jobs_that_do() -> None:
    """Room of a victim is kept from one of them and not from the other."""
    victim = job("victim", pods(gpu=8, cpu=0, on=["n"]), priority=5, movable=False)
    never = job("never", pods(gpu=4, cpu=0), priority=9, preemptionPolicy="Never")
    high = job("high", pods(gpu=4, cpu=0), priority=9)
    found = at_best(question([node("n", gpu=8)], [victim, never, high]))
    for name, (low, value) in found.items():
        assert low <= value, name


def test_what_is_proved_is_not_proved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches ask again with each better plan: for lower tiers, as those above are proved."""
    instance, values = many(2), (24000, 3000, 3, 3, 3, 5, 9)
    tiers, found = tiers_of(instance), dict[int, int]()
    asked, least = list[str](), relaxed._least

    def counted(model: Relaxation, tier: Tier, *more: Any) -> tuple[int, float]:
        asked.append(tier.name)
        return least(model, tier, *more)

    monkeypatch.setattr(relaxed, "_least", counted)
    about = instance, tiers, values, Deadline(None)
    relaxed_bounds(*about, bound=found.__setitem__)
    assert asked == [tier.name for tier in tiers]
    asked.clear()
    floors = (*values[:3], *bounds(instance, tiers, values)[3:])
    relaxed_bounds(*about, bound=found.__setitem__, floors=floors)
    assert asked == [tier.name for tier in tiers[3:]]
    weighed, weights = [0], receiving.Rooms

    def rooms(*given: Any) -> receiving.Rooms:
        weighed[0] += 1
        return weights(*given)

    monkeypatch.setattr(receiving, "Rooms", rooms)
    relaxed_bounds(*about, bound=found.__setitem__)
    assert not weighed[0], "what pending pods displace is the question's, whatever plan is known"


def of_two_resources() -> Instance:
    """Nodes with room for one pod each, for want of different things, and three pods that wait."""
    nodes = [node("a", cpu=6, offers={"memory": 2}), node("b", cpu=2, offers={"memory": 6})]
    asked = [{"cpu": f"{milli}m", "memory": 2} for milli in (1500, 1600, 1700)]
    jobs = [job(f"j{i}", pods(requests=each)) for i, each in enumerate(asked)]
    return question(nodes, jobs, objectives=BY_PODS)


@pytest.mark.parametrize(
    ("instance", "missing", "finest", "classes", "more"),
    [
        (of_two_resources(), 1, True, [1, 2], False),
        (of_two_resources(), 1, False, [1], True),
        (question([node(f"n{c}", cpu=c) for c in range(4, 9)], []), 0, True, [], False),
        (
            question(
                [node(f"n{c}", cpu=c) for c in range(4, 8)],
                [job("j", pods(count=5, cpu=4), minCount=0)],
                objectives=BY_PODS,
            ),
            1,
            True,
            [1],
            False,
        ),
    ],
    ids=["fine classes tell", "not asked", "nothing open", "coarse ones tell"],
)
def test_nodes_that_differ_are_one_class_until_a_tier_stays_open(
    monkeypatch: pytest.MonkeyPatch,
    instance: Instance,
    missing: int,
    finest: bool,
    classes: list[int],
    more: bool,
) -> None:
    asked, found, least = list[int](), dict[int, int](), relaxed._least

    def counted(model: Relaxation, *about: Any) -> tuple[int, float]:
        asked.append(len(model.classes.classes))
        return least(model, *about)

    monkeypatch.setattr(relaxed, "_least", counted)
    tiers, values = tiers_of(instance), (missing,)
    left = relaxed_bounds(
        instance,
        tiers,
        values,
        Deadline(None),
        bound=found.__setitem__,
        floors=(0,),
        finest=finest,
    )
    assert (asked, left) == (classes, more)
    assert found == ({} if missing == 0 or more else {0: 1})
