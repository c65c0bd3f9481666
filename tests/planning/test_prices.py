"""What room for a job costs in each rack: every price a plan, the cheapest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kantopt.clock import Deadline, Stop
from kantopt.errors import UsageError
from kantopt.planning.plan import make_plan
from kantopt.planning.prices import price_list
from kantopt.planning.question import Question
from kantopt.planning.solving.messages import WORK_PER_SECOND, SearchTask
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.planning.wanted import model_for, wanted_job
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.report.blocks import Screen, render
from kantopt.report.prices import price_blocks, price_lines
from kantopt.schema.answers.prices import PriceList
from kantopt.schema.extends import load_model
from kantopt.search.construct import construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.verify.metrics import bound_of
from tests.oracle import best
from tests.questions import question

GPU = "nvidia.com/gpu"
JOB = "default/wanted"


def job(name: str, gpus: int, at: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    podset: dict[str, Any] = {"count": len(at) or 1, "requests": {GPU: gpus}}
    podset["assignments"] = [{"node": node} for node in at]
    return {"name": name, "movable": False, **more, "podSets": [podset]}


def racks(selector: dict[str, str] | None = None) -> Question:
    """Five racks of one node with four GPUs each; ``wanted`` needs four."""
    nodes = [
        {"name": f"n{i}", "labels": {"rack": f"r{i}"}, "allocatable": {GPU: 4}} for i in range(5)
    ]
    running = [
        job("important", 4, ["n0"], priority=100, movable=True),
        job("a", 2, ["n1"], priority=10),
        job("b", 2, ["n1"], priority=10),
        job("dear", 4, ["n2"], priority=10, disruptionCost=5),
        job("mover", 1, ["n3"], priority=100, movable=True),
        job("part", 3, ["n3"], priority=10),
        job("fixed", 4, ["n4"], priority=10, preemptible=False),
    ]
    wanted = job("wanted", 4, priority=1000)
    wanted["podSets"][0]["nodeSelector"] = selector or {}
    levels = [{"name": "rack", "nodeLabel": "rack"}]
    other = job("other", 4, priority=2000)
    return question(nodes, running, [wanted, other], topology={"levels": levels})


def priced(place: str = "rack", **options: Any) -> PriceList:
    deadline = Deadline.within(30.0)
    return price_list(racks(), load_model("preemption"), JOB, place, Options(**options), deadline)


def test_every_rack_has_its_price_the_cheapest_first_and_proved() -> None:
    """Victims are few in r1; r0 and r3 take as many and a move, wherever the victims are."""
    prices = priced()
    assert (prices.job, prices.level, prices.model) == (JOB, "rack", "preemption")
    assert [
        (
            price.domain,
            price.status,
            [(each.priority, each.pods, each.cost, each.gpu_milli) for each in price.victims],
            price.moved_pods,
        )
        for price in prices.prices
    ] == [
        ("r1", "OPTIMAL", [(10, 2, 2, 4000)], 0),
        ("r0", "OPTIMAL", [(10, 2, 2, 4000)], 1),
        ("r3", "OPTIMAL", [(10, 2, 2, 5000)], 1),
        ("r2", "OPTIMAL", [(10, 1, 5, 4000)], 0),
        ("r4", "IMPOSSIBLE", [], 0),
    ]
    assert prices.warnings == ()


def test_each_price_is_what_brute_force_finds_for_that_rack() -> None:
    for price in priced().prices:
        model = model_for(load_model("preemption"), JOB)
        value, _ = best(racks({"rack": price.domain}).instance(model))
        if price.status == "IMPOSSIBLE":
            assert value is None
            continue
        assert value is not None
        assert tuple(tier.value for tier in price.objectives) == value[: len(price.objectives)]
        assert price.steps is not None
        (bound,) = price.steps.assignments
        assert (bound.job, bound.node) == (JOB, f"n{price.domain[1]}")


def test_where_the_cheapest_plan_has_no_order_another_one_is_looked_for() -> None:
    """Two pods that must share a rack cannot leave it one by one; those of n2 can leave that."""
    rack = {"n0": "x", "n1": "x", "n2": "y", "n3": "y"}
    nodes = [{"name": n, "labels": {"rack": r}, "allocatable": {GPU: 4}} for n, r in rack.items()]
    pair = job("pair", 1, ["n3", "n3"], movable=True, maxMovesAtOnce=1)
    pair["podSets"][0]["topologyRequest"] = {"required": "rack"}
    places = {"a": (2, ["n2"]), "b": (1, ["n2", "n2"]), "d": (4, ["n1"]), "e": (1, ["n3"])}
    others = [job(name, gpus, at, movable=True) for name, (gpus, at) in places.items()]
    wanted = job("wanted", 3, priority=50)
    wanted["podSets"][0]["minCount"] = 0
    levels = [{"name": "rack", "nodeLabel": "rack"}]
    asked = question(nodes, [*others[:2], pair, *others[2:]], [wanted], topology={"levels": levels})
    model, deadline = load_model("preemption"), Deadline.within(30.0)
    [price] = price_list(asked, model, JOB, "rack=y", Options(), deadline).prices
    assert (price.victims, price.moved_pods, price.status) == ((), 2, "OPTIMAL")


def test_the_cheapest_price_is_what_a_plan_for_the_job_takes() -> None:
    model = model_for(load_model("preemption"), JOB)
    plan = make_plan(racks(), model, Options(), Deadline.within(30.0)).plan
    cheapest = priced().prices[0]
    values = tuple(tier.value for tier in plan.objectives)
    assert tuple(tier.value for tier in cheapest.objectives) == values[: len(cheapest.objectives)]
    assert [item.job for item in plan.assignments] == [JOB]


def test_one_domain_can_be_asked_for_and_the_fast_engine_proves_by_arithmetic_alone() -> None:
    (price,) = priced("rack=r3", engine="fast").prices
    assert (price.domain, price.status) == ("r3", "FEASIBLE")
    assert sum(each.pods for each in price.victims) == 2
    (price,) = priced("rack=r2", engine="fast").prices
    assert (price.domain, price.status) == ("r2", "OPTIMAL")
    assert [each.pods for each in price.victims] == [1]


def test_the_proofs_of_a_deterministic_run_share_its_work_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that none of them is ended by the clock."""
    begin, work = SolverProcess.begin, []

    def noted(process: SolverProcess, task: SearchTask, incumbent: Incumbent) -> None:
        work.append(task.budget.work)
        begin(process, task, incumbent)

    monkeypatch.setattr(SolverProcess, "begin", noted)
    deadline = Deadline.within(30.0, deterministic=True)
    found = price_list(racks(), load_model("preemption"), JOB, "rack", Options(), deadline)
    assert work == [pytest.approx(30.0 * WORK_PER_SECOND / len(work))] * len(work) != []
    assert [price.status for price in found.prices] == [each.status for each in priced().prices]


@pytest.mark.parametrize("place", ["racks", "rack=r9", "host"])
def test_unknown_places_are_refused(place: str) -> None:
    with pytest.raises(UsageError, match="--clear: found"):
        priced(place)


def test_every_domain_has_a_price_though_each_has_less_than_its_share_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of many domains each had none where all of them together had enough."""
    with_time = {price.domain: price.status for price in priced(engine="fast").prices}
    monkeypatch.setattr("kantopt.planning.prices.PRICES_FIRST", 0.0)
    found = {price.domain: price.status for price in priced(engine="fast").prices}
    assert found == with_time
    assert "FEASIBLE" in found.values()


def test_once_the_time_is_up_no_bound_is_worked_out_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bounds of many racks took longer than the limit; what is not known by then stays open."""
    asked = list[str]()

    def bound(tier: Tier, *more: Any) -> int:
        asked.append(tier.name)
        return bound_of(tier, *more)

    monkeypatch.setattr("kantopt.search.engine.known.bound_of", bound)
    stop = Stop()
    deadline = Deadline(None, stop=stop)

    def construct_late(*given: Any, **more: Any) -> Placement:
        placement = construct(*given, **more)
        stop.signal = 2
        return placement

    monkeypatch.setattr("kantopt.planning.prices.construct", construct_late)
    prices = price_list(racks(), load_model("preemption"), JOB, "rack", Options(), deadline)
    assert asked == []
    assert {price.status for price in prices.prices} <= {"FEASIBLE", "OPEN", "IMPOSSIBLE"}
    assert any(price.objectives for price in prices.prices)


def test_without_time_every_domain_is_open() -> None:
    stop = Stop()
    stop.signal = 2
    deadline = Deadline(None, stop=stop)
    found = price_list(racks(), load_model("preemption"), JOB, "rack", Options(), deadline)
    assert {price.domain: price.status for price in found.prices} == {
        **dict.fromkeys(("r0", "r1", "r2", "r3", "r4"), "OPEN"),
    }
    assert "the time was up before all prices were proved" in found.warnings


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("want", "did you mean wanted"),
        ("a", "of which all pods have a node"),
        ("nothing-like-it", "expected a pending job"),
    ],
)
def test_a_job_that_does_not_wait_is_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        wanted_job(racks(), name)
    assert wanted_job(racks(), "wanted") == wanted_job(racks(), JOB) == JOB


def test_the_table_names_victims_by_priority_and_what_is_not_proved() -> None:
    prices = priced()
    text = render(price_blocks(prices, wide=True), Screen())
    assert "Room for default/wanted is cheapest in r1: evict 2 pods." in text
    assert "ACTIONS for r3" in text
    assert "provably no room" in text
    assert price_lines(prices).splitlines()[1] == "r0 OPTIMAL 2 1"
    fast = priced("rack=r3", engine="fast")
    assert "open: at least" in render(price_blocks(fast), Screen())
    none = prices.model_copy(update={"prices": prices.prices[-1:]})
    assert "No rack has room" in render(price_blocks(none), Screen())
