"""Jobs whole or not at all, in their domains, within every rule."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kantopt.clock import Deadline
from kantopt.search.construct import How, construct
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance
from tests.search.helpers import FOREVER, built, where
from tests.verify.world import HOST, job, node, placed, pods, question

RACKS = [node(f"n{i}", cpu=2, rack=f"b/{i // 2}") for i in range(6)]


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("seeds", [range(k, k + 20) for k in some(range(0, 200, 20))], ids=str)
def test_whatever_is_asked_the_placement_is_legal(strategy: Strategy, seeds: range) -> None:
    for seed in seeds:
        built(random_instance(seed), strategy)


def test_the_same_question_gets_the_same_answer() -> None:
    for seed in range(20):
        instance = random_instance(seed)
        once, twice = (built(instance, Strategy.E_BINPACK, seed=3) for _ in range(2))
        assert once == twice


def test_a_gang_that_does_not_fit_leaves_no_pod_behind() -> None:
    instance = question([node("a", cpu=4)], [job("g", pods(count=5)), job("j", pods(count=4))])
    placement = built(instance)
    assert where(instance, placement, "g") == {}
    assert where(instance, placement, "j") == {"a": 4}


def test_a_gang_gets_its_minimum_and_then_what_is_left_over() -> None:
    """Both minima first: 2 + 1 of 4 cores, then one member more of the important gang."""
    jobs = [
        job("high", pods(count=4, minCount=2), priority=9),
        job("low", pods(count=1), priority=1),
    ]
    instance = question([node("a", cpu=4)], jobs)
    placement = built(instance)
    assert where(instance, placement, "low") == {"a": 1}
    assert where(instance, placement, "high") == {"a": 3}


def test_pods_of_a_job_that_is_no_gang_start_one_by_one() -> None:
    instance = question([node("a", cpu=3)], [job("j", pods(count=5, minCount=0))])
    assert where(instance, built(instance), "j") == {"a": 3}


def test_a_minimum_over_all_roles_is_met_from_any_of_them() -> None:
    """Three of the five pods must run; only two workers fit beside the leader."""
    roles = [pods("leader", count=1, minCount=1), pods("worker", count=4, minCount=0)]
    instance = question([node("a", cpu=3)], [job("j", *roles, minCount=3)])
    placement = built(instance)
    assert where(instance, placement, "j/leader") == {"a": 1}
    assert where(instance, placement, "j/worker") == {"a": 2}
    smaller = question([node("a", cpu=2)], [job("j", *roles, minCount=3)])
    assert built(smaller) == smaller.current


def test_the_more_important_and_then_the_larger_goes_first() -> None:
    jobs = [
        job("small", pods(cpu=1)),
        job("large", pods(cpu=4)),
        job("high", pods(cpu=4), priority=5),
    ]
    instance = question([node("a", cpu=4), node("b", cpu=4)], jobs)
    placement = built(instance)
    assert where(instance, placement, "high")
    assert where(instance, placement, "large")
    assert not where(instance, placement, "small")


@pytest.mark.parametrize("largest_first", [False, True])
def test_who_must_be_close_comes_before_larger_jobs_that_may_be_anywhere(
    largest_first: bool,
) -> None:
    """One rack has two nodes; the larger job would begin there."""
    nodes = [node(name, cpu=4, rack=f"t/{rack}") for name, rack in zip("abcd", "xxyz", strict=True)]
    close = job("close", pods(count=2, cpu=4, topologyRequest={"required": "rack"}))
    instance = question(nodes, [job("large", pods(count=3, cpu=4, minCount=1)), close])
    placement = built(instance, largest_first=largest_first)
    assert bool(where(instance, placement, "close")) is not largest_first
    assert len(where(instance, placement, "large")) == (3 if largest_first else 2)


def test_in_order_takes_jobs_as_they_arrive() -> None:
    jobs = [job("first", pods(cpu=1)), job("second", pods(cpu=4), priority=9)]
    instance = question([node("a", cpu=4)], jobs)
    assert where(instance, built(instance, in_order=True), "first") == {"a": 1}


def test_a_required_job_goes_first_if_it_would_be_missing() -> None:
    jobs = [job("high", pods(cpu=4), priority=9), job("must", pods(cpu=4))]
    instance = question([node("a", cpu=4)], jobs, required=["must"])
    assert where(instance, built(instance), "must") == {"a": 1}


def test_when_time_is_up_the_rest_waits_unless_the_clock_must_not_matter() -> None:
    instance = question([node("a", cpu=4)], [job("j")])
    late = construct(instance, Deadline(0.0), How(Strategy.BEST_FIT))
    assert late == instance.current
    regardless = construct(instance, Deadline(0.0, deterministic=True), How(Strategy.BEST_FIT))
    assert where(instance, regardless, "j") == {"a": 1}


def test_a_required_domain_is_the_tightest_that_suffices() -> None:
    """Rack 0 has one core left, rack 1 two, rack 2 four: two pods fit best in rack 1."""
    running = [
        job("r", pods(count=3, on=["n0", "n0", "n1"])),
        job("s", pods(count=2, on=["n2", "n3"])),
    ]
    ask = {"required": "rack"}
    instance = question(RACKS, [*running, job("j", pods(count=2, topologyRequest=ask))])
    assert where(instance, built(instance), "j") == {"n2": 1, "n3": 1}


def test_running_members_fix_the_required_domain() -> None:
    ask = {"required": "rack"}
    grows = job("j", pods(count=5, minCount=1, topologyRequest=ask, on=["n4"]))
    instance = question(RACKS, [grows])
    assert where(instance, built(instance), "j+") == {"n4": 1, "n5": 2}


def test_preferred_domains_are_as_few_as_possible_and_the_last_the_tightest() -> None:
    """Room 3, 3, 2, 1 and seven pods: the two full racks and the rack of one (Kueue BestFit)."""
    nodes = [node(f"n{i}", cpu=cores, rack=f"b/{i}") for i, cores in enumerate((3, 3, 2, 1))]
    ask = {"preferred": "rack"}
    instance = question(nodes, [job("j", pods(count=7, topologyRequest=ask))])
    for strategy in Strategy:
        found = where(instance, built(instance, strategy), "j")
        assert found == {"n0": 3, "n1": 3, "n3": 1}, strategy


def test_a_preferred_domain_of_several_racks_lies_in_one_block() -> None:
    """Two racks are needed; those of block y hold the job, though block x has the roomiest one."""
    nodes = [
        node("x1", cpu=3, rack="x/1"),
        node("x2", cpu=0, rack="x/2"),
        node("y1", cpu=2, rack="y/1"),
        node("y2", cpu=2, rack="y/2"),
    ]
    instance = question(nodes, [job("j", pods(count=4, topologyRequest={"preferred": "rack"}))])
    assert where(instance, built(instance), "j") == {"y1": 2, "y2": 2}


def test_slices_are_whole_in_each_domain() -> None:
    """Racks with room for 3, 2 and 4 pods take slices of two: 2, 2 and 4."""
    nodes = [node(f"n{i}", cpu=cores, rack=f"b/{i}") for i, cores in enumerate((3, 2, 4))]
    ask = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
    instance = question(nodes, [job("j", pods(count=8, topologyRequest=ask))])
    assert where(instance, built(instance), "j") == {"n0": 2, "n1": 2, "n2": 4}
    too_many = question(nodes, [job("j", pods(count=10, topologyRequest=ask))])
    assert built(too_many) == too_many.current


def test_roles_that_prefer_closeness_share_a_domain_that_holds_both() -> None:
    nodes = [node(f"n{i}", cpu=cores, rack=f"b/{i}") for i, cores in enumerate((2, 4, 4))]
    roles = [pods("a", count=2), pods("b", count=2)]
    instance = question(nodes, [job("j", *roles, topologyRequest={"preferred": "rack"})])
    placement = built(instance)
    assert where(instance, placement, "j/a") == where(instance, placement, "j/b") == {"n1": 2}


def test_devices_are_distinct_and_a_share_sits_on_one_of_them() -> None:
    """600 + 600 of two GPUs are taken: 400 fits on one, 500 on none, 2 x 300 on both."""
    devices = [{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}]

    def ask(milli: int, count: int = 1) -> list[dict[str, object]]:
        return [{"class": "gpu", "count": count, "requests": {"gpu": f"{milli}m"}}]

    running = job("r", pods(cpu=0, count=2, devices=ask(600), on=[("a", 0), ("a", 1)]))
    jobs = [
        job("too-big", pods(cpu=0, devices=ask(500)), priority=9),
        job("pair", pods(cpu=0, devices=ask(300, 2)), priority=8),
        job("rest", pods(cpu=0, devices=ask(100)), priority=7),
    ]
    instance = question([node("a", devices=devices)], [running, *jobs], rules={"priority": "off"})
    kept = [{**running, "preemptible": False}, *jobs]
    instance = question([node("a", devices=devices)], kept)
    placement = built(instance)
    assert where(instance, placement, "too-big") == {}
    assert where(instance, placement, "pair") == {"a": 1}
    assert where(instance, placement, "rest") == {"a": 1}


def test_a_cohort_lends_what_its_queues_do_not_use() -> None:
    queues = [
        {"name": "a", "cohort": "c", "resources": [{"name": "cpu", "nominalQuota": 2}]},
        {"name": "b", "cohort": "c", "resources": [{"name": "cpu", "nominalQuota": 2}]},
    ]
    jobs = [
        job("mine", pods(count=3), queueName="a", priority=9),
        job("theirs", pods(count=2), queueName="b"),
        job("little", pods(count=1), queueName="b"),
    ]
    instance = question([node("n", cpu=9)], jobs, queues=queues)
    placement = built(instance)
    assert where(instance, placement, "mine") == {"n": 3}
    assert where(instance, placement, "theirs") == {}
    assert where(instance, placement, "little") == {"n": 1}


def test_anti_affinity_is_kept_both_ways() -> None:
    """The shy pod avoids the crowd, and the crowd, placed later, avoids the shy pod."""
    apart = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "crowd"}}}]
    jobs = [
        job("shy", pods(podAntiAffinity=apart), priority=9),
        job("crowd", pods(count=3, minCount=0)),
    ]
    instance = question([node("a", cpu=3), node("b", cpu=2)], jobs)
    placement = built(instance)
    assert not set(where(instance, placement, "shy")) & set(where(instance, placement, "crowd"))
    assert sum(where(instance, placement, "crowd").values()) >= 2


def test_a_spread_keeps_domains_level() -> None:
    level = [{"maxSkew": 1, "topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "j"}}}]
    spec = pods(count=6, minCount=0, topologySpreadConstraints=level)
    instance = question([node("a", cpu=9), node("b", cpu=2)], [job("j", spec)])
    placement = built(instance)
    assert where(instance, placement, "j") == {"a": 3, "b": 2}
    assert check(instance, placement) == []


def test_a_job_that_turns_out_illegal_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge has the last word: with eligibility overlooked, only the culprit is missing."""
    everywhere = np.ones(1, dtype=np.bool_)
    monkeypatch.setattr(State, "allowed", lambda self, s: everywhere)
    jobs = [
        job("first", pods(cpu=1), priority=9),
        job("culprit", pods(cpu=1, nodeSelector={"pool": "none"}), priority=8),
        job("last", pods(cpu=1), priority=7),
    ]
    instance = question([node("a", cpu=4)], jobs)
    placement = built(instance)
    assert where(instance, placement, "first") == {"a": 1}
    assert where(instance, placement, "culprit") == {}
    assert where(instance, placement, "last") == {"a": 1}


def test_if_repairs_do_not_suffice_the_longest_legal_part_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    everywhere = np.ones(1, dtype=np.bool_)
    monkeypatch.setattr(State, "allowed", lambda self, s: everywhere)
    nowhere = {"pool": "none"}
    jobs = [
        job("low", pods(count=9, cpu=1, on=["a"] * 9, minCount=0), priority=1),
        job("first", pods(cpu=9), priority=9),
        *(job(f"culprit{i}", pods(cpu=0, nodeSelector=nowhere), priority=8) for i in range(15)),
    ]
    instance = question([node("a", cpu=9)], jobs)
    placement = built(instance)
    assert where(instance, placement, "first") == {"a": 1}
    assert sum(len(spots) for spots in placement.podsets) == 1


@pytest.mark.parametrize("strategy", list(Strategy), ids=str)
def test_equal_jobs_are_placed_together_as_one_after_the_other(
    strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(7)
    shapes = [(1, 0), (2, 1), (3, 0), (5, 2)]
    jobs = [
        job(f"{cpu}-{gpu}-{i}", pods(cpu=cpu, gpu=gpu))
        for cpu, gpu in shapes
        for i in range(rng.randint(3, 9))
    ]
    nodes = [node(f"n{i}", cpu=rng.randint(4, 16), gpu=rng.choice((0, 2, 4))) for i in range(6)]
    instance = question(nodes, jobs)
    together = built(instance, strategy)
    monkeypatch.setattr("kantopt.search.insertion.placer.Placer.anywhere", lambda *_: False)
    assert built(instance, strategy).podsets == together.podsets


def test_room_of_those_who_are_gone_at_the_start_is_kept_from_others() -> None:
    """Best-fit would rather fill ``a``, where somebody was evicted for ``high`` alone."""
    victim = job("victim", pods(cpu=4, on=["a"]), priority=5, movable=False)
    high = job("high", pods(cpu=2), priority=9)
    never = job("never", pods(cpu=2), priority=9, preemptionPolicy="Never")
    instance = question([node("a"), node("b")], [victim, high, never])
    start = placed(instance, victim=[], high=["a"])
    found = construct(instance, FOREVER, How(Strategy.BEST_FIT, start=start))
    assert where(instance, found, "high") == {"a": 1}
    assert where(instance, found, "never") == {"b": 1}
