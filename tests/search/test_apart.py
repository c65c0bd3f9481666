"""Parts searched apart: what they prove adds up, and a fault costs one part."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import Any

import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.crew import Search
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.engine.known import Bound
from kantopt.search.parts.division import parts_of
from kantopt.search.schedule import search
from kantopt.search.techniques.cp_sat import whole
from kantopt.search.techniques.decomposition import apart
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.oracle import best
from tests.pools import pooled_instance
from tests.verify.world import job, node, placed, pods, question


@dataclass
class Planner:
    """What the planner is told, and what it has to tell."""

    found: list[Placement] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    news: list[Placement] = field(default_factory=list)

    def desk(
        self, instance: Instance, start: Placement | None = None, seconds: float = 60.0, **more: Any
    ) -> Desk:
        deadline = Deadline.within(seconds, deterministic="work" in more)
        line = Line(
            self.found.append,
            self.bounds.append,
            self.notes.append,
            lambda: self.news.pop() if self.news else None,
        )
        forbidden = more.pop("forbidden", ())
        budget = Budget(deadline, workers=more.pop("workers", 1), **more)
        start = start or instance.current
        return Desk(instance, tiers_of(instance), start, forbidden, budget, line)


def two_pools(**more: Any) -> Instance:
    """In each pool two nodes of 4, running pods of 2 and 1, and a pending one of 4.

    A pod must move to make room, and in pool b two pods are pending of which one has no room.
    """
    nodes, jobs = [], []
    for pool in "ab":
        nodes += [node(f"{pool}{i}", labels={"pool": pool}) for i in (1, 2)]
        where = {"nodeSelector": {"pool": pool}}
        jobs += [
            job(f"{pool}-large", pods(cpu=2, on=[f"{pool}1"], **where)),
            job(f"{pool}-small", pods(cpu=1, on=[f"{pool}2"], **where)),
            job(f"{pool}-new", pods(cpu=4, **where)),
        ]
    jobs.append(job("b-late", pods(cpu=4, nodeSelector={"pool": "b"})))
    objectives = more.pop("objectives", [{"unplaced": {"unit": "pod"}}, "evictions", "moves"])
    return question(nodes, jobs, objectives=objectives, **more)


BEST = (1, 0, 2)


def search_apart(desk: Desk, stages: Search | None = None) -> bool:
    parts = parts_of(desk.instance, desk.tiers)
    assert len(parts) == 2
    return apart(desk, parts, desk.tiers, desk.budget, stages or undivided)


def undivided(desk: Desk) -> bool:
    return whole(desk, desk.budget.deadline)


@pytest.mark.parametrize("more", [{}, {"workers": 3}, {"work": 5.0}])
def test_two_pools_are_proved_optimal(more: dict[str, Any]) -> None:
    instance, planner = two_pools(), Planner()
    desk = planner.desk(instance, instance.current, **more)
    assert best(instance)[0] == BEST
    assert not search_apart(desk)
    assert desk.incumbent.values == BEST
    assert desk.incumbent.optimal
    assert [check(instance, placement) for placement in planner.found] == [[]] * len(planner.found)
    assert planner.found[-1] == desk.incumbent.placement
    assert planner.notes == []


def test_searched_apart_a_question_has_the_optimum_that_it_has_as_a_whole() -> None:
    divided = 0
    for seed in range(12):
        instance = pooled_instance(seed)
        desk = Planner().desk(
            instance, None if check(instance, instance.current) else instance.current
        )
        infeasible = search(desk)
        whole_desk = Planner().desk(
            instance, None if check(instance, instance.current) else instance.current
        )
        assert infeasible == undivided(whole_desk), f"seed {seed}"
        if not infeasible:
            assert check(instance, desk.incumbent.placement) == [], f"seed {seed}"
            assert desk.incumbent.values == whole_desk.incumbent.values, f"seed {seed}"
            assert desk.incumbent.optimal, f"seed {seed}"
        divided += not infeasible
    assert divided >= 8


def test_a_repeatable_search_tells_the_same_each_time() -> None:
    instance = two_pools()
    told = []
    for _ in range(2):
        planner = Planner()
        search(planner.desk(instance, instance.current, work=5.0))
        told.append((planner.found, planner.bounds))
    assert told[0] == told[1]


def test_bounds_of_parts_that_stay_open_are_added() -> None:
    instance, planner = two_pools(), Planner()
    desk = planner.desk(instance, instance.current)

    def proves_a_little(desk: Desk) -> bool:
        desk.proved(0, 1, (), "column-generation")
        return False

    search_apart(desk, proves_a_little)
    found = desk.incumbent
    assert found.values == (3, 0, 0)
    assert found.known.bound(0, found.values) == Bound(0, 2, (), "column-generation")
    assert found.floors == (2, 0, 0)


def test_a_search_that_fails_costs_a_note_and_its_part_alone() -> None:
    instance, planner = two_pools(), Planner()
    desk = planner.desk(instance, instance.current)

    def fails_in_one(desk: Desk) -> bool:
        if len(desk.instance.jobs) == 3:
            raise ValueError("no such luck")
        return undivided(desk)

    assert not search_apart(desk, fails_in_one)
    assert desk.incumbent.values == (2, 0, 1)
    (note,) = planner.notes
    assert note.startswith("the search of a part of 2 nodes ended early: ValueError: no such luck")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_that_dies_costs_a_note_and_its_part_alone(workers: int) -> None:
    instance, planner = two_pools(), Planner()
    desk = planner.desk(instance, instance.current, workers=workers)

    def dies_in_one(desk: Desk) -> bool:
        if len(desk.instance.jobs) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return undivided(desk)

    assert not search_apart(desk, dies_in_one)
    assert desk.incumbent.values == (2, 0, 1)
    assert planner.notes == [
        "the search of a part of 2 nodes ended early: "
        "its process ended unexpectedly (signal SIGKILL)"
    ]


def test_what_is_left_after_a_fault_is_searched_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance, planner = two_pools(), Planner()
    parent = os.getpid()

    def fails_in_parts(desk: Desk, deadline: Deadline, **_: object) -> bool:
        if os.getpid() != parent:
            raise ValueError("no such luck")
        return whole(desk, deadline)

    monkeypatch.setattr("kantopt.search.techniques.cp_sat.whole", fails_in_parts)
    # Others try for a third of that what the parts have not done.
    desk = planner.desk(instance, instance.current, seconds=10.0)
    search(desk)
    assert desk.incumbent.values == BEST
    assert desk.incumbent.optimal


def test_news_from_the_planner_reach_the_parts() -> None:
    instance, planner = two_pools(), Planner()
    better = placed(instance, **{"a-large": ["a2"], "a-new": ["a1"]})
    planner.news.append(better)
    desk = planner.desk(instance, instance.current)

    def waits_for_news(desk: Desk) -> bool:
        while len(desk.instance.jobs) == 3 and not desk.refresh():
            pass
        return False

    search_apart(desk, waits_for_news)
    assert desk.incumbent.placement == better


def test_a_part_without_a_legal_placement_leaves_none_to_the_whole() -> None:
    instance = two_pools(required=["b-new", "b-late"])
    planner = Planner()
    assert search(planner.desk(instance))
    assert planner.found == []


def test_a_required_job_is_placed_in_its_part() -> None:
    instance = two_pools(required=["b-late"])
    desk = Planner().desk(instance)
    assert not search(desk)
    assert desk.incumbent.values == best(instance)[0]
    assert desk.incumbent.optimal


def test_tiers_that_are_no_sums_are_searched_after_the_parts() -> None:
    slots: Any = {"fragment_rate": {"size": 3}}
    objectives = [{"unplaced": {"unit": "pod"}}, slots, "moves"]
    instance = two_pools(objectives=objectives)
    desk = Planner().desk(instance, instance.current)
    search(desk)
    assert desk.incumbent.values == best(instance)[0]
    assert desk.incumbent.optimal


def test_with_forbidden_placements_the_question_stays_whole() -> None:
    instance, planner = two_pools(), Planner()
    target = best(instance)[1]
    assert target is not None
    search(planner.desk(instance, instance.current, forbidden=(target,)))
    assert planner.bounds == []
    assert target not in planner.found
    assert measure(instance, planner.found[-1], tiers_of(instance)) >= BEST
