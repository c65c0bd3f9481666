"""Bounds with domains apart: never above the optimum, and exact where domains decide."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.relaxed.domains import DomainRelaxation
from kantopt.cp.relaxed.hints import Aim
from kantopt.cp.relaxed.towards import IN_VAIN, Best, Towards
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance, without
from tests.oracle import Value, best
from tests.verify.world import job, node, placed, pods, question

SEEDS = 24
BLOCKS = 4


def proved(instance: Instance, placement: Placement, values: Value) -> Value:
    """The better of the bounds by arithmetic and with domains apart, for each tier."""
    tiers = tiers_of(instance)
    found = list(bounds(instance, tiers, values))

    def better(i: int, value: int) -> None:
        assert value > found[i], "no news"
        found[i] = value

    Towards(
        instance,
        tiers,
        Budget(Deadline(None), workers=2),
        known=lambda i: found[i],
        bound=better,
        aim=lambda _: True,
        best=lambda: Best(placement, values),
    ).run()
    return tuple(found)


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_no_bound_is_above_the_optimum(block: int) -> None:
    """At the optimum, and at what doing nothing leaves."""
    told = 0
    for seed in range(block, SEEDS, BLOCKS):
        rng = random.Random(seed)
        instance = random_instance(seed)
        rule = rng.choice((None, None, *Rule))
        if rule is not None:
            instance = without(instance, rule)
        value, placement = best(instance)
        if value is None or placement is None:
            continue
        given = [(placement, value)]
        if not check(instance, instance.current):
            given.append(
                (instance.current, measure(instance, instance.current, tiers_of(instance)))
            )
        for start, values in given:
            plain = bounds(instance, tiers_of(instance), values)
            found = proved(instance, start, values)
            told += found != plain
            for i, (low, v) in enumerate(zip(found, value, strict=True)):
                if all(a <= b for a, b in zip(value[:i], values[:i], strict=True)):
                    assert low <= v, (seed, rule, tiers_of(instance)[i].name, values)
    assert told > 1


BY_GPUS: list[Any] = [{"unplaced": {"by": "priority", "unit": "gpu"}}]
RACKS: list[Any] = [
    node(f"{rack}{n}", cpu=1, rack=f"z/{rack}", gpu=1) for rack in ("a", "b") for n in range(3)
]


LARGE: list[Any] = [node(each["name"], cpu=4, rack="z/a", gpu=4) for each in RACKS]


def first(jobs: list[Any]) -> int:
    """Bound of the first tier, GPUs unplaced, for plans no worse than doing nothing."""
    instance = question(RACKS, jobs, objectives=BY_GPUS)
    values = measure(instance, instance.current, tiers_of(instance))
    return proved(instance, instance.current, values)[0]


def test_a_rack_holds_one_gang_of_two_that_requires_it() -> None:
    """Six nodes, three gangs of two nodes: two racks of three have room for two of them."""
    wish = {"topologyRequest": {"required": "rack"}}
    jobs = [job(name, pods(count=2, gpu=1), **wish) for name in "xyz"]
    assert first(jobs) == 2000


def test_domains_that_nobody_asks_about_are_counted_together() -> None:
    """Two racks of three nodes: two classes if a gang must be in a rack, one if in their block."""
    for level, classes in (("rack", 2), ("block", 1)):
        jobs = [job("x", pods(count=2, gpu=1), topologyRequest={"required": level})]
        instance = question(RACKS, jobs, objectives=BY_GPUS)
        relaxation = DomainRelaxation(instance, tiers_of(instance))
        assert len(relaxation.classes.classes) == classes, level


def test_what_victims_keep_of_a_domain_is_counted_once() -> None:
    """However many amounts of a node the pods ask for: one number for each kind and class."""
    victims = [job(f"v{i}", pods(cpu=1 + i % 2, gpu=i % 3, on=[f"a{i}"])) for i in range(3)]
    gang = job("g", pods(count=2, cpu=1, gpu=1), priority=5, topologyRequest={"required": "rack"})
    lesser = [job("l", pods(cpu=1, gpu=1), preemptionPolicy="Never", priority=5)]
    instance = question(LARGE, [*victims, gang, *lesser], objectives=BY_GPUS)
    relaxation = DomainRelaxation(instance, tiers_of(instance))
    names = [each.name for each in relaxation.cp.proto.variables]
    assert len(names) == len(set(names))
    assert any(name.startswith("lost[") for name in names)
    assert not any(name.startswith("kept[") for name in names)


def aiming(instance: Instance, aim: Callable[[Aim], bool]) -> None:
    """Work through the tiers from where everything is now, with nothing known."""
    tiers = tiers_of(instance)
    values = measure(instance, instance.current, tiers)
    Towards(
        instance,
        tiers,
        Budget(Deadline(None), workers=2),
        known=lambda _: 0,
        bound=lambda *_: None,
        aim=aim,
        best=lambda: Best(instance.current, values),
    ).run()


def test_who_aims_in_vain_ends_early() -> None:
    """Three gangs wait as it stands; what is aimed at never comes true."""
    wish = {"topologyRequest": {"required": "rack"}}
    gangs = [
        job(f"{n}{p}", pods(count=2, gpu=1), priority=p, **wish) for p in range(3) for n in "xyz"
    ]
    instance = question(RACKS, gangs, objectives=BY_GPUS)
    aims = list[Aim]()

    def in_vain(aim: Aim) -> bool:
        aims.append(aim)
        return False

    aiming(instance, in_vain)
    assert len(aims) == IN_VAIN


def test_a_rack_holds_whole_slices() -> None:
    wish = {"topologyRequest": {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}}
    jobs = [job("x", pods(count=6, gpu=1, **wish))]
    assert first(jobs) == 6000


@pytest.mark.parametrize("sizes", [(4, 2), (2, 4)])
def test_jobs_of_slices_of_other_sizes_are_not_alike(sizes: tuple[int, int]) -> None:
    """Racks of three: four pods in slices of two have room, one slice in each rack."""
    jobs = [
        job(
            f"x{size}",
            pods(
                count=4,
                gpu=1,
                minCount=0,
                topologyRequest={"podSetSliceRequiredTopology": "rack", "podSetSliceSize": size},
            ),
        )
        for size in sizes
    ]
    assert first(jobs) == 4000


def test_gangs_of_two_cross_racks_of_three() -> None:
    wish = {"topologyRequest": {"preferred": "rack"}}
    gangs = [job(name, pods(count=2, gpu=1), **wish) for name in "xyz"]
    instance = question(RACKS, gangs, objectives=[*BY_GPUS, "domains_crossed"])
    value, placement = best(instance)
    assert value is not None
    assert placement is not None
    assert value[-1] == 1
    assert proved(instance, placement, value)[-1] == 1


def moved_in_vain() -> tuple[Instance, Placement]:
    """A gang has three of four nodes of a rack, the fourth is free: who was there has left it."""
    nodes = [node(f"{rack}{n}", gpu=1, rack=f"z/{rack}") for rack in "ab" for n in range(4)]
    running = [job(name, pods(gpu=1, on=[name])) for name in ("a0", "b0", "b1")]
    gang = job("gang", pods(count=3, gpu=1), minCount=3, topologyRequest={"required": "rack"})
    instance = question(nodes, [*running, gang], objectives=["unplaced", "evictions", "moves"])
    return instance, placed(instance, a0=["b2"], gang=["a0", "a1", "a2"])


def test_the_proof_of_moves_knows_what_stays_beside_gangs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(DomainRelaxation, "add_rounding", lambda *_: asked.append("moves"))
    instance, placement = moved_in_vain()
    assert proved(instance, placement, measure(instance, placement, tiers_of(instance)))[-1] == 0
    assert asked


def test_the_proof_of_where_things_are_aims_at_what_it_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Towards, "_towards", lambda *_, **__: None)
    instance, placement = moved_in_vain()
    tiers, aims = tiers_of(instance), list[Aim]()
    values = measure(instance, placement, tiers)
    assert values[-1] == 1
    Towards(
        instance,
        tiers,
        Budget(Deadline(None), workers=2),
        known=lambda i: bounds(instance, tiers, values)[i],
        bound=lambda *_: None,
        aim=lambda counts: aims.append(counts) is None,
        best=lambda: Best(placement, values),
    ).run()
    class_of = {n: c for c, nodes in enumerate(aims[-1].classes) for n in nodes}
    (stays,) = (where for podsets, _, where in aims[-1].kinds if 0 in podsets)
    assert stays[class_of[0]] == 1


def test_who_might_be_placed_is_aimed_at_before_domains_are_written_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = []
    build = DomainRelaxation.__init__

    def write(self: DomainRelaxation, *asked: Any) -> None:
        written.append("domains")
        build(self, *asked)

    monkeypatch.setattr(DomainRelaxation, "__init__", write)
    instance = question(RACKS, [job("g", pods(count=2, gpu=1), minCount=2)], objectives=BY_GPUS)

    def aim(_: Aim) -> bool:
        written.append("aim")
        return False

    aiming(instance, aim)
    assert written[0] == "aim"
    assert "domains" in written


def test_a_tier_that_others_have_closed_meanwhile_is_not_aimed_at() -> None:
    instance = question(RACKS, [job("g", pods(count=2, gpu=1), minCount=2)], objectives=BY_GPUS)
    tiers, better = tiers_of(instance), placed(instance, g=["a0", "a1"])
    best = [Best(instance.current, measure(instance, instance.current, tiers))]
    assert any(best[0].values)

    def aim(_: Aim) -> bool:
        raise AssertionError("there is nothing to aim at")

    Towards(
        instance,
        tiers,
        Budget(Deadline(None), workers=2),
        known=lambda i: best[0].values[i] if best[0].placement is better else 0,
        bound=lambda *_: None,
        aim=aim,
        best=lambda: best[0],
        hear=lambda: best.__setitem__(0, Best(better, measure(instance, better, tiers))),
    ).run()
