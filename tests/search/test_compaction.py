"""Nodes are emptied first, and then others are cleared into these: nobody need be evicted."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.difference import difference
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.explain.decide import decide
from kantopt.search.portfolio import run_portfolio
from kantopt.search.strategy import Strategy
from kantopt.search.tidy.vacate import compacted
from kantopt.verify.rules import is_legal
from tests.search.helpers import FOREVER, where
from tests.verify.world import Document, job, node, pods, question

RACKS = ("ab", "cd", "ef")
NEEDS = {"topologyRequest": {"required": "rack"}}
OBJECTIVES = [{"unplaced": {"by": "priority", "unit": "gpu"}}, "evictions", "moves"]


def pieces(count: int = 2, **more: Any) -> Instance:
    """Racks of two nodes of 8: of one node all is taken, of the other a part."""
    nodes = [node(n, cpu=8, rack=f"x/{rack}") for rack in RACKS for n in rack]
    jobs: list[Document] = [
        *(job(f"full-{n}", pods(cpu=8, on=[n]), priority=1) for n in "ace"),
        job("two", pods(cpu=2, on=["b"]), priority=1),
        job("three", pods(cpu=3, on=["d"]), priority=1),
        job("other", pods(cpu=3, on=["f"]), priority=1),
        job("gang", pods(count=count, cpu=8), priority=9, **NEEDS),
    ]
    return question(nodes, jobs, objectives=OBJECTIVES, **more)


def test_a_gang_takes_whole_nodes_that_moves_of_many_bring_together() -> None:
    instance = pieces()
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, (Strategy.BEST_FIT,))
    assert sum(where(instance, best.placement, "gang").values()) == 2
    done = difference(instance, best.placement)
    assert not done.evictions
    assert sum(change.pods for change in done.moves) == 3


def test_it_is_found_as_well_where_a_large_question_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = pieces(limits={"evictions": 0})
    monkeypatch.setattr("kantopt.search.explain.decide.SMALL", 0)
    monkeypatch.setattr("kantopt.search.explain.decide.LARGE", 0)
    monkeypatch.setattr("kantopt.search.explain.decide.displacements", lambda *_: ())
    found = decide(instance, instance.job_index["default/gang"], Deadline.within(60.0))
    assert found.placement is not None
    assert sum(change.pods for change in difference(instance, found.placement).moves) == 3


@pytest.mark.parametrize(("moves", "count", "empty"), [(None, 2, 2), (None, 1, 1), (2, 2, 1)])
def test_no_more_is_emptied_than_is_asked_for_and_half_of_the_moves_are_left(
    moves: int | None, count: int, empty: int
) -> None:
    instance = pieces(count, limits={} if moves is None else {"moves": moves})
    gang = instance.jobs[instance.job_index["default/gang"]]
    start = compacted(instance, [gang], lambda: False)
    assert start is not None
    assert is_legal(instance, start)
    used = {spot.node for spots in start.podsets for spot in spots}
    assert len(instance.nodes) - len(used) == empty


def test_where_nobody_may_move_nothing_is_emptied() -> None:
    instance = pieces(limits={"moves": 0})
    assert compacted(instance, instance.jobs, lambda: False) is None
