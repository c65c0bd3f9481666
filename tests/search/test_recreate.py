"""Pods that are loose make room for each other as neighbours bear it; what runs stays."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.construct import How, construct
from kantopt.search.recreate import recreate_loose_pods
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance
from tests.search.helpers import FOREVER, built, where
from tests.verify.world import HOST, Document, job, node, pods, question


def card(share: str, cpu: int = 1, **more: Any) -> Document:
    """A pod that takes a share of one GPU."""
    return pods(cpu=cpu, devices=[{"class": "gpu", "requests": {"gpu": share}}], **more)


def host(name: str, cpu: int = 8, cards: int = 1) -> Document:
    return node(name, cpu, devices=[{"class": "gpu", "count": cards, "capacity": {"gpu": 1}}])


def again(instance: Instance, placement: Placement, **more: Any) -> Placement:
    """Recreate, and insist on a legal placement."""
    found = recreate_loose_pods(instance, placement, tiers_of(instance), FOREVER, **more)
    assert check(instance, found) == []
    return found


def test_a_large_pod_gives_way_to_two_that_fill_the_gpu() -> None:
    """Largest first takes 0.8 of a GPU of which 0.5 and 0.5 take all."""
    jobs = [job("large", card("0.8")), job("one", card("0.5")), job("two", card("0.5"))]
    instance = question([host("a")], jobs)
    first = built(instance)
    assert where(instance, first, "large") == {"a": 1}
    found = again(instance, first)
    assert where(instance, found, "large") == {}
    assert where(instance, found, "one") == where(instance, found, "two") == {"a": 1}


def test_pods_change_nodes_so_that_one_more_fits() -> None:
    """6 + 3 + 3 and 4 + 4 + 4 cores fill both nodes; the largest first go together with a 4."""
    jobs = [job(f"j{i}", pods(cpu=cpu)) for i, cpu in enumerate((6, 4, 4, 4, 3, 3))]
    instance = question([node("a", cpu=12), node("b", cpu=12)], jobs)
    first = built(instance)
    assert [] in [list(spots) for spots in first.podsets]
    assert all(again(instance, first).podsets)


@pytest.mark.parametrize("kept", ["priority", "required"])
def test_the_more_important_pod_keeps_its_place(kept: str) -> None:
    large = job("large", card("0.8"), priority=9 if kept == "priority" else 0)
    jobs = [large, job("one", card("0.5"), priority=0), job("two", card("0.5"), priority=0)]
    required = ["large"] if kept == "required" else []
    instance = question([host("a")], jobs, required=required)
    first = built(instance)
    assert again(instance, first) is first


def test_what_runs_stays_and_so_does_a_gang() -> None:
    jobs = [
        job("runs", card("0.8", on=[("a", 0)])),
        job("gang", card("0.8", count=2)),
        *(job(f"j{i}", card("0.5")) for i in range(6)),
    ]
    instance = question([host("a"), host("b"), host("c")], jobs)
    first = built(instance)
    assert where(instance, first, "gang") == {"b": 1, "c": 1}
    assert again(instance, first) is first


def test_room_that_was_made_by_eviction_is_not_given_to_others() -> None:
    jobs = [
        job("victim", card("1", on=[("a", 0)]), priority=0),
        job("urgent", card("0.8"), priority=9),
        job("one", card("0.5"), priority=9),
        job("two", card("0.5"), priority=9),
    ]
    instance = question([host("a")], jobs)
    first = built(instance)
    assert where(instance, first, "urgent") == {"a": 1}
    assert again(instance, first) is first


@pytest.mark.parametrize("apart", [False, True])
def test_pods_that_keep_apart_do_so_on_the_way(apart: bool) -> None:
    """On a and b one large pod each gives way to two that fill its GPU, unless these keep apart."""
    jobs = [job(f"large{i}", card("0.8")) for i in (1, 2)]
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"small": "yes"}}}
    rules = {"labels": {"small": "yes"}} | ({"podAntiAffinity": [term]} if apart else {})
    jobs += [job(f"small{i}", card("0.5", **deepcopy(rules))) for i in range(4)]
    instance = question([host("a"), host("b")], jobs)
    first = built(instance)
    assert [bool(where(instance, first, f"large{i}")) for i in (1, 2)] == [True, True]
    found = again(instance, first)
    small = sum(bool(where(instance, found, f"small{i}")) for i in range(4))
    assert small == (0 if apart else 4)


def test_pods_that_are_spread_or_keep_apart_are_placed_anew_as_well() -> None:
    """Nearly all are looked at by others; where they were left alone nothing got better."""
    better = 0
    for seed in range(20):
        rng = random.Random(seed)
        nodes = [
            node(name, cpu=12, rack=f"x/{rack}") for name, rack in zip("abc", "rrs", strict=True)
        ]
        jobs = []
        for i in range(9):
            mine, other = rng.sample(["s", "t"], 2)
            spread = {"topologyKey": "rack", "maxSkew": 2, **like(mine)}
            rules: list[dict[str, Any]] = [
                {"topologySpreadConstraints": [spread]},
                {"podAntiAffinity": [{"topologyKey": HOST, **like(other)}]},
            ]
            said = {"labels": {"service": mine}, **rng.choice(rules)}
            jobs.append(job(f"j{i}", pods(cpu=rng.randint(3, 7), **said)))
        instance = question(nodes, jobs, objectives=[{"unplaced": {"unit": "pod"}}])
        tiers, first = tiers_of(instance), built(instance)
        found = again(instance, first)
        better += measure(instance, found, tiers) < measure(instance, first, tiers)
    assert better >= 6


def like(service: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"service": service}}}


def test_no_time_changes_nothing() -> None:
    jobs = [job("large", card("0.8")), job("one", card("0.5")), job("two", card("0.5"))]
    instance = question([host("a")], jobs)
    first = built(instance)
    assert recreate_loose_pods(instance, first, tiers_of(instance), Deadline(0.0)) is first


@pytest.mark.parametrize("seeds", [range(k, k + 20) for k in some(range(0, 100, 20))], ids=str)
def test_what_comes_out_is_legal_never_worse_and_the_same_each_time(seeds: range) -> None:
    for seed in seeds:
        instance = random_instance(seed)
        tiers = tiers_of(instance)
        start = construct(instance, FOREVER, How(Strategy.LEAST_ALLOCATED))
        found = recreate_loose_pods(instance, start, tiers, FOREVER, seed=seed)
        missing = check(instance, start, (Rule.REQUIRED,))
        assert check(instance, found) == missing
        assert measure(instance, found, tiers) <= measure(instance, start, tiers) or found is start
        assert (
            recreate_loose_pods(instance, start, tiers, FOREVER, seed=seed).podsets == found.podsets
        )


def test_it_ends_when_nobody_waits_for_it_any_more() -> None:
    jobs = [job("large", card("0.8")), job("one", card("0.5")), job("two", card("0.5"))]
    instance = question([host("a")], jobs)
    first = built(instance)
    tiers = tiers_of(instance)
    assert recreate_loose_pods(instance, first, tiers, FOREVER, ended=lambda: True) is first
    assert recreate_loose_pods(instance, first, tiers, FOREVER) is not first
