"""What several strategies are asked for, under models that order objectives otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search import offer, portfolio
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.technique import Tally
from kantopt.search.portfolio import by_strategies, new_pods_make_way, run_portfolio
from kantopt.search.strategy import DEFAULT_PORTFOLIO, Strategy
from tests.search.helpers import FOREVER, where
from tests.verify.world import job, node, pods, question


@pytest.mark.parametrize("required", [(), ("big",)])
@pytest.mark.parametrize("harm", ["evictions", "disruption_cost", "moves"])
def test_where_harm_comes_first_others_are_placed_though_one_would_disturb_somebody(
    harm: str, required: tuple[str, ...]
) -> None:
    """A placement with needless victims is worse than none, and all of it would be refused."""
    nodes = [node("full", cpu=8), node("free", cpu=4)]
    jobs = [
        job("r", pods(cpu=8, on=["full"]), priority=1),
        job("big", pods(cpu=8), priority=9),
        job("small", pods(cpu=2), priority=5),
        job("other", pods(count=2, cpu=2, minCount=1), priority=5),
    ]
    objectives = list(dict.fromkeys([harm, "evictions", "unplaced", "moves"]))
    instance = question(nodes, jobs, objectives=objectives, required=required)
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, ())
    assert where(instance, best.placement, "small") == {"free": 1}
    assert where(instance, best.placement, "other") == {"free": 1}
    assert where(instance, best.placement, "big") == ({"full": 1} if required else {})


@pytest.mark.parametrize("required", [(), ("big",)])
def test_a_pod_that_must_be_placed_is_placed_by_a_move_of_another_and_nobody_else_moves(
    required: tuple[str, ...],
) -> None:
    """Chains know better which to move, where a job need not be placed."""
    nodes = [node(name, cpu=8) for name in "abcd"]
    jobs = [
        *(job(f"r{name}", pods(cpu=5, on=[name])) for name in "abc"),
        job("little", pods(cpu=2, on=["d"])),
        job("big", pods(cpu=8)),
    ]
    instance = question(
        nodes, jobs, objectives=["evictions", "moves", "unplaced"], required=required
    )
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, ())
    assert bool(where(instance, best.placement, "big")) is bool(required)
    assert best.values[:2] == ((0, 1) if required else (0, 0))


def no_strategy_is_enough() -> Incumbent:
    """A job that fits nowhere: no strategy meets the bounds, which would end it."""
    apart = job("apart", pods(count=2, cpu=3), pods(name="v", count=2, cpu=5), minCount=4)
    instance = question([node("a", cpu=8), node("b", cpu=7)], [apart, job("one", pods(cpu=1))])
    tally = Tally(("squeaky-wheel", "relocation"))
    return Incumbent(instance, tiers_of(instance), instance.current, tally=tally)


def gang_left_out() -> Instance:
    """One rack of three nodes, which a gang needs, and a more important job that fits anywhere."""
    nodes = [node(name, cpu=8, rack=f"x/{name[0]}") for name in ("b0", "b1", "b2", "a0", "a1")]
    jobs = [
        job("anywhere", pods(cpu=8), priority=9),
        job("gang", pods(count=3, cpu=8), priority=5, topologyRequest={"required": "rack"}),
    ]
    return question(nodes, jobs)


def test_a_gang_that_was_left_out_comes_before_more_important_jobs_that_fit_elsewhere() -> None:
    instance = gang_left_out()
    for without, placed in ((("squeaky-wheel", "relocation"), 0), (("relocation",), 3)):
        best = Incumbent(instance, tiers_of(instance), instance.current, tally=Tally(without))
        run_portfolio(best, FOREVER, [Strategy.LEAST_ALLOCATED])
        assert sum(where(instance, best.placement, "anywhere").values()) == 1
        assert sum(where(instance, best.placement, "gang").values()) == placed


@pytest.mark.parametrize(("without", "placed"), [(("relocation",), 0), ((), 3)])
def test_a_more_important_job_that_fits_elsewhere_makes_way_for_a_gang(
    without: tuple[str, ...], placed: int
) -> None:
    """Where there is no time to place all of them in another order."""
    instance = gang_left_out()
    tally = Tally(("squeaky-wheel", *without))
    best = Incumbent(instance, tiers_of(instance), instance.current, tally=tally)
    run_portfolio(best, FOREVER, [Strategy.LEAST_ALLOCATED])
    assert where(instance, best.placement, "gang") == {}
    new_pods_make_way(best, FOREVER, Strategy.LEAST_ALLOCATED, seed=0)
    assert sum(where(instance, best.placement, "anywhere").values()) == 1
    assert sum(where(instance, best.placement, "gang").values()) == placed


def test_exchange_is_asked_before_those_left_out_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It places some of them, and moves nobody for that."""
    asked: list[str] = []
    made = portfolio.offer_constructed

    def constructs(best: Incumbent, end: Deadline, how: How, **more: Any) -> bool:
        asked.extend(["left out"] * bool(how.first))
        return made(best, end, how, **more)

    def exchanges(_: Any, placement: Placement, *__: Any) -> Placement:
        asked.append("exchange")
        return placement

    monkeypatch.setattr(portfolio, "offer_constructed", constructs)
    monkeypatch.setattr(portfolio, "exchange", exchanges)
    instance = gang_left_out()
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, [Strategy.LEAST_ALLOCATED])
    assert asked[0] == "exchange"
    assert "left out" in asked


def test_a_more_important_job_without_any_place_keeps_no_gang_from_coming_first() -> None:
    nodes = [node(name, cpu=9, rack=f"x/{name[0]}") for name in ("b0", "b1", "b2", "a0", "a1")]
    nowhere = pods(count=5, cpu=5), pods(name="v", count=6, cpu=3)  # of the sums there is enough
    jobs = [
        job("nowhere", *nowhere, minCount=11, priority=20),
        job("anywhere", pods(cpu=9), priority=9),
        job("gang", pods(count=3, cpu=9), priority=5, topologyRequest={"required": "rack"}),
    ]
    instance = question(nodes, jobs)
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, [Strategy.LEAST_ALLOCATED])
    assert sum(where(instance, best.placement, "gang").values()) == 3


def test_nobody_comes_first_who_came_first_before(tried: list[tuple[Strategy, bool]]) -> None:
    jobs = [job("large", pods(cpu=16), priority=9), job("one", pods(cpu=1), priority=1)]
    instance = question([node("a", cpu=8), node("b", cpu=8)], jobs)
    best = Incumbent(instance, tiers_of(instance), instance.current)
    run_portfolio(best, FOREVER, [Strategy.BEST_FIT])
    assert len(tried) == 1


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Strategy, bool]]:
    """Strategies that were tried, and whether the largest came first."""
    found: list[tuple[Strategy, bool]] = []

    def counted(asked: Instance, deadline: Deadline, how: How) -> Placement:
        found.append((how.strategy, how.largest_first))
        return construct(asked, deadline, how)

    monkeypatch.setattr(offer, "construct", counted)
    return found


@pytest.mark.parametrize(
    ("share", "deterministic", "alone"),
    [(0.0, False, True), (1.0, False, False), (0.0, True, False)],
)
def test_it_is_told_if_there_was_time_for_one_strategy_only(
    tried: list[tuple[Strategy, bool]], share: float, deterministic: bool, alone: bool
) -> None:
    deadline = Deadline.within(100.0, deterministic=deterministic)
    asked = no_strategy_is_enough(), deadline, DEFAULT_PORTFOLIO
    first, *_ = by_strategies(*asked, share=share)
    assert first.late is alone
    assert [each for each, _ in tried] == list(DEFAULT_PORTFOLIO[: 1 if alone else None])


def test_the_largest_come_first_by_every_other_strategy(tried: list[tuple[Strategy, bool]]) -> None:
    run_portfolio(no_strategy_is_enough(), FOREVER, [Strategy.BEST_FIT] * 3)
    assert [largest for _, largest in tried] == [False, True, False]


def test_two_orders_were_tried_if_the_time_is_up_after_the_second_strategy(
    monkeypatch: pytest.MonkeyPatch, tried: list[tuple[Strategy, bool]]
) -> None:
    seconds = iter((0, 1, 1, 9))  # before and after each strategy
    monkeypatch.setattr(portfolio, "elapsed", lambda: next(seconds))
    asked = no_strategy_is_enough(), Deadline.within(100.0), [Strategy.BEST_FIT] * 3
    assert [made.late for made in by_strategies(*asked, share=0.1)] == [False, True]
    assert len(tried) == 2


def test_strategies_go_on_after_those_that_were_tried_before(
    tried: list[tuple[Strategy, bool]],
) -> None:
    """As many plans, in the same order, whether or not something else begins between them."""
    at_once, later = no_strategy_is_enough(), no_strategy_is_enough()
    made = list(by_strategies(at_once, FOREVER, ()))
    whole, tried[:] = list(tried), []
    turns = by_strategies(later, FOREVER, ())
    first = next(turns)
    assert tried == whole[:1]
    again = [first.strategy, *(each.strategy for each in turns)]
    assert tried == whole
    assert (again, later.values) == ([each.strategy for each in made], at_once.values)


@pytest.mark.parametrize(("waiting", "looks"), [(2, True), (20, False)])
def test_a_place_is_looked_for_by_itself_where_a_goal_asks_for_few_jobs(
    waiting: int, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each it takes a look at all nodes, and finds room for that one alone."""
    asked: list[int] = []
    monkeypatch.setattr(
        "kantopt.search.explain.displace.displacements", lambda _, j: asked.append(j) or ()
    )
    jobs = [job("r", pods(gpu=6, on=["a"])), *(job(f"w{i}", pods(gpu=4)) for i in range(waiting))]
    placed: dict[str, Any] = {"unplaced": {"by": "priority", "unit": "job", "target": 0}}
    nodes = [node(name, gpu=8) for name in "ab"]
    instance = question(nodes, jobs, objectives=[placed, "moves"], limits={"evictions": 0})
    run_portfolio(Incumbent(instance, tiers_of(instance), instance.current), FOREVER, ())
    assert bool(asked) is looks
