"""What somebody else finds meanwhile is taken over by chains, or ends them."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.chains.improve import improve as chains
from kantopt.search.chains.packing import Packing
from tests.search.helpers import Witness
from tests.verify.world import HOST, job, node, placed, pods, question

BRIEF = Deadline(1.0, deterministic=True)


def test_bringing_pods_home_is_left_for_what_somebody_else_has_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Home is taken, and each look at it takes long; chains place no gangs."""
    nodes = [node(name, cpu=1, rack="x/y") for name in "abcd"]
    gang = pods(count=2, topologyRequest={"required": "rack"})
    jobs = [
        job("held", pods(on=["a"])),
        job("new", pods(nodeSelector={HOST: "a"})),
        job("gang", gang, minCount=2),
    ]
    instance = question(nodes, jobs, objectives=["unplaced", "evictions", "moves"])
    start = placed(instance, held=["c"], new=["a"])
    better = placed(instance, held=["c"], new=["a"], gang=["b", "d"])
    looked: list[bool] = []
    news: list[Placement] = []

    def looks(packing: Packing, *_: Any) -> bool:
        looked.append(bool(news))
        if len(looked) == 1:
            news.append(better)
        packing.looked += 1
        return True

    monkeypatch.setattr("kantopt.search.chains.improve.come_home", looks)
    best = Witness(instance, tiers_of(instance), start)
    chains(best, BRIEF, news=lambda: news.pop() if news else None)
    assert best.placement == better
    assert looked
    assert not any(looked)


def test_chains_end_where_somebody_else_has_placed_all_and_disturbed_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which nodes are in use could be better, but nobody is left whose place they may change."""
    nodes = [node("a", price=2), node("b", price=1)]
    instance = question(nodes, [job("j"), job("k")], objectives=["unplaced", "cost"])
    better = placed(instance, j=["a"], k=["a"])
    monkeypatch.setattr("kantopt.search.chains.improve.settle", lambda *_: False)
    best = Witness(instance, tiers_of(instance), instance.current)
    chains(best, BRIEF, news=lambda: better)
    assert best.placement == better
