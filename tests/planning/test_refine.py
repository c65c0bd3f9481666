"""The fast path goes on from plans of an exact search: what is fast must not be the better."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt import shares
from kantopt.clock import Deadline
from kantopt.planning.solving import refine as refining
from kantopt.planning.solving import together
from kantopt.planning.solving.options import Engine, Options
from kantopt.planning.solving.refine import (
    bring_closer,
    closeness_is_next,
    complete,
    refine,
    try_again,
)
from kantopt.planning.solving.run import Run
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.planning.solving.together import _chains, _move_on, search_together
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.processor import CpuUse
from kantopt.search import portfolio
from kantopt.search.engine.technique import Technique
from kantopt.search.portfolio import Made
from kantopt.search.schedule import CP_SAT
from kantopt.search.strategy import Strategy
from tests.questions import hard_question, model
from tests.verify.world import job, node, placed, pods, question


def spread() -> tuple[Instance, Placement]:
    """Two gangs that share two racks, where one has room in each."""
    nodes = [node(f"{rack}{k}", rack=f"x/{rack}") for rack in "ab" for k in range(2)]
    close = pods(count=2, cpu=4, topologyRequest={"preferred": "rack"})
    jobs = [job(name, close) for name in "vw"]
    instance = question(nodes, jobs, objectives=["unplaced", "evictions", "domains_crossed"])
    return instance, placed(instance, v=["a0", "b0"], w=["a1", "b1"])


def run_from(instance: Instance, start: Placement, options: Options) -> Run:
    deadline = Deadline.within(20.0)
    asked = instance, tiers_of(instance), options, deadline
    return Run(*asked, lambda _: None, None, (start, "a test"))


class Process(SolverProcess):
    """Notes what it is told; its news is offered to a run."""

    infeasible = False

    def __init__(self, run: Run, *news: Placement) -> None:
        self.run, self.news = run, list(news)
        self.told: list[Placement] = []
        run.helper = self

    def look(self) -> Placement | None:
        self.run.helper = None  # it is not told of its own
        better = self.news and self.run.incumbent.offer(self.news[-1], "the solver")
        self.run.helper = self
        return self.news.pop() if better else None

    @property
    def open(self) -> bool:
        return bool(self.news)

    def wait(self, *_: object) -> None:
        self.look()

    def offer(self, placement: Placement) -> None:
        self.told.append(placement)


def test_the_exact_search_is_told_what_is_closer() -> None:
    run = run_from(*spread(), Options())
    process = Process(run)
    bring_closer(run, run.deadline, process)
    assert run.incumbent.values[-1] == 0
    assert process.told[-1:] == [run.incumbent.placement]


def test_better_plans_of_the_exact_search_are_brought_closer_as_well() -> None:
    """The plan that it begins with leaves a gang out; then comes one that places both, spread."""
    instance, both = spread()
    run = run_from(instance, placed(instance, v=["a0", "b0"]), Options())
    process = Process(run, both)
    bring_closer(run, run.deadline, process)
    assert not any(run.incumbent.values)


def completed(options: Options) -> tuple[Run, Process]:
    """A run whose exact search moves nobody, which counts more, but places nobody either."""
    jobs = [job("r", pods(cpu=4, on=["a"])), job("v", pods(cpu=4))]
    nodes = [node("a", cpu=4), node("b", cpu=4)]
    instance = question(nodes, jobs, objectives=["moves", "unplaced"])
    run = run_from(instance, placed(instance, r=["b"], v=["a"]), options)
    process = Process(run, instance.current)
    complete(run, run.deadline, process)
    return run, process


def test_what_a_plan_of_the_exact_search_leaves_out_is_placed_where_there_is_room() -> None:
    run, process = completed(Options())
    assert not any(run.incumbent.values)
    assert process.told == [run.incumbent.placement]


def test_a_goal_that_is_open_above_does_not_hide_who_is_left_out() -> None:
    jobs = [job("r", pods(cpu=4, on=["a"])), job("v", pods(cpu=4))]
    nodes = [node(name, cpu=4) for name in "abc"]
    instance = question(nodes, jobs, objectives=["moves", "unplaced"])
    moved_in_vain = run_from(instance, placed(instance, r=["b"]), Options())
    assert moved_in_vain.incumbent.leaves_out()


def test_plans_of_the_exact_search_that_leave_nobody_out_are_brought_closer_as_well() -> None:
    instance, both = spread()
    run = run_from(instance, placed(instance, v=["a0", "b0"]), Options())
    process = Process(run, both)
    complete(run, run.deadline, process)
    assert not any(run.incumbent.values)
    assert process.told[-1] == run.incumbent.placement


@pytest.mark.parametrize("left_out", [(), ("exchange", "relocation")])
def test_techniques_that_complete_a_plan_are_counted_and_may_be_left_out(
    left_out: tuple[str, ...],
) -> None:
    run, _ = completed(Options(without=left_out))
    for name in ("exchange", "relocation"):
        assert run.incumbent.tally.of(name).runs == (name not in left_out), name


@pytest.mark.parametrize("one_order", [True, False])
def test_another_order_is_tried_beside_the_exact_search_if_there_was_no_time_before(
    one_order: bool,
) -> None:
    """Who must be close came first, and a larger gang has no place then."""
    nodes = [node(name, cpu=4, rack=f"t/{rack}") for name, rack in zip("abcd", "xxyz", strict=True)]
    close = job("close", pods(count=2, cpu=4, topologyRequest={"required": "rack"}))
    instance = question(nodes, [job("large", pods(count=4, cpu=4)), close], objectives=["unplaced"])
    run = run_from(instance, placed(instance, close=["a", "b"]), Options())
    run.one_order = one_order
    process = Process(run)
    try_again(run, run.deadline)
    assert bool(process.told) is one_order
    assert (sum(run.incumbent.placement.podsets[0].values()) == 4) is one_order


@pytest.mark.parametrize(
    ("engine", "deterministic", "forbidden", "asked"),
    [
        ("auto", False, False, ["try_again", "complete"]),
        ("exact", False, False, []),
        ("auto", True, False, []),  # who is faster must not matter
        ("auto", False, True, []),
    ],
)
def test_it_is_done_beside_the_exact_search(
    monkeypatch: pytest.MonkeyPatch,
    engine: Engine,
    deterministic: bool,
    forbidden: bool,
    asked: list[str],
) -> None:
    seen: list[str] = []
    for name in ("try_again", "bring_closer", "complete"):
        monkeypatch.setattr(together, name, lambda *_, name=name: seen.append(name))
    instance, both = spread()
    run = run_from(instance, both, Options(engine=engine))
    run.deadline = Deadline.within(20.0, deterministic=deterministic)
    search_together(run, (both,) if forbidden else ())
    assert seen == asked


@pytest.mark.parametrize(
    ("workers", "engine", "deterministic", "writing", "order"),
    [
        (2, "auto", False, 0.0, ["task", "refined"]),
        (2, "exact", False, 0.0, ["task"]),  # which betters it alone
        (2, "auto", False, 0.01, ["refined", "task"]),  # the task takes long to write out
        (1, "auto", False, 0.0, ["refined", "task"]),  # there is no processor for both
        (2, "auto", True, 0.0, ["refined", "task"]),  # who is faster must not matter
        (2, "fast", False, 0.0, ["refined"]),
    ],
)
def test_the_exact_search_has_its_task_before_what_strategies_made_is_refined(
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
    engine: Engine,
    deterministic: bool,
    writing: float,
    order: list[str],
) -> None:
    monkeypatch.setattr(shares, "WRITING_A_PODSET", writing)
    seen: list[str] = []
    begin = SolverProcess.begin

    def begun(process: SolverProcess, *asked: Any) -> None:
        seen.append("task")
        begin(process, *asked)

    def counted(*asked: Any, **more: Any) -> Strategy:
        seen.append("refined")
        return portfolio.intensify(*asked, **more)

    monkeypatch.setattr(SolverProcess, "begin", begun)
    monkeypatch.setattr(refining, "intensify", counted)
    instance = hard_question().instance(model({"unplaced": {"unit": "pod"}}, "moves"))
    run = run_from(instance, instance.current, Options(engine=engine, workers=workers))
    run.deadline = Deadline.within(1.5, deterministic=deterministic)
    run.construct()
    search_together(run)
    assert seen == order


def test_what_is_refined_goes_on_from_a_better_plan_of_the_exact_search_and_tells_it() -> None:
    """The strategies leave a job out; beside them comes a plan in which the gangs are close."""
    instance, both = spread()
    run = run_from(instance, instance.current, Options())
    run.rough = run.incumbent, Made(Strategy.BEST_FIT), iter(())
    process = Process(run, both)
    refine(run, process)
    assert run.incumbent.values[0] == 0
    assert not process.news
    told = list(process.told)
    refine(run, process)  # once is enough
    assert process.told == told


def test_chains_make_way_once_nothing_is_open_before_how_far_gangs_are_spread() -> None:
    """They have no say in that; they would go on until the time is up."""
    nodes = [node(f"{rack}{k}", cpu=8, rack=f"x/{rack}") for rack in "ab" for k in range(2)]
    close = pods(count=2, cpu=4, topologyRequest={"preferred": "rack"})
    jobs = [job("v", close), job("r", pods(cpu=1, on=["a0"])), job("s", pods(cpu=2, on=["b0"]))]
    objectives = ["unplaced", "moves", "domains_crossed", "nodes_in_use"]
    instance = question(nodes, jobs, objectives=objectives)
    plan = placed(instance, v=["a0", "b0"], r=["a0"], s=["b0"])
    run = run_from(instance, plan, Options())
    assert closeness_is_next(run)
    deadline = Deadline.within(5.0)
    _chains(run, deadline, Process(run))
    assert not run.warnings
    assert not deadline.over()
    run.closest = run.incumbent.placement
    assert not closeness_is_next(run)  # it has been in vain


def full() -> Instance:
    """Whatever moves, nobody more has a place."""
    nodes = [node(name, cpu=3) for name in "ab"]
    jobs = [job("run", pods(cpu=2, count=2, on=["a", "b"])), job("waits", pods(cpu=2))]
    return question(nodes, jobs, objectives=["unplaced", "moves"])


@pytest.mark.parametrize("waited", [0.0, 9.0])
def test_chains_in_vain_leave_the_processor_to_an_exact_search_that_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, waited: float
) -> None:
    instance = full()
    run, deadline = run_from(instance, instance.current, Options()), Deadline.within(0.3)
    monkeypatch.setattr(together, "own_use", lambda: CpuUse(5.0, waited))
    _chains(run, deadline, Process(run))
    assert deadline.over() is not (waited > 0)


@pytest.mark.parametrize("waited", [0.0, 9.0])
def test_chains_rest_beside_the_whole_question_on_a_machine_that_is_busy(
    monkeypatch: pytest.MonkeyPatch, waited: float
) -> None:
    instance = full()
    run, rests = run_from(instance, instance.current, Options()), []

    class AtWork(Process):
        def at_work(self, technique: Technique) -> bool:
            return technique is CP_SAT

        def rest_beside(self, technique: Technique, deadline: Deadline) -> None:
            rests.append(deadline.remaining())

    monkeypatch.setattr(together, "own_use", lambda: CpuUse(5.0, waited))
    _chains(run, Deadline.within(0.3), AtWork(run))
    assert bool(rests) is (waited > 0)
    assert all(seconds <= 0.3 * shares.RESTING for seconds in rests)


def test_chains_go_on_where_a_tier_before_that_is_open() -> None:
    instance, both = spread()
    jobs = [job("x", pods(cpu=4)), job("y", pods(count=2, cpu=5))]
    asked = question(
        [node("a", cpu=8), node("b", cpu=4)], jobs, objectives=["unplaced", "domains_crossed"]
    )
    assert not closeness_is_next(run_from(asked, asked.current, Options()))
    closed = placed(instance, v=["a0", "a1"], w=["b0", "b1"])
    for plan, is_next in ((both, True), (closed, False)):
        run = run_from(instance, plan, Options())
        assert closeness_is_next(run) is is_next
        run.closest = plan
        assert closeness_is_next(run, alone=True) is is_next


@pytest.mark.parametrize(
    ("objectives", "order"),
    [
        (["domains_crossed", "unplaced"], ["closer", "chains", "wait", "chains"]),
        (["unplaced", "domains_crossed"], ["chains", "wait", "chains", "wait"]),
        (["domains_crossed"], ["closer", "wait", "wait", "wait"]),
    ],
)
def test_chains_go_on_once_gangs_cannot_be_brought_closer(
    monkeypatch: pytest.MonkeyPatch, objectives: list[str], order: list[str]
) -> None:
    nodes = [node(f"{rack}{k}", cpu=8, rack=f"x/{rack}") for rack in "ab" for k in range(2)]
    close = pods(count=2, cpu=4, topologyRequest={"preferred": "rack"})
    jobs = [job("v", close), job("waits", pods(cpu=1))]
    instance = question(nodes, jobs, objectives=objectives)
    run = run_from(instance, placed(instance, v=["a0", "b0"]), Options())
    seen: list[str] = []

    class Counted(Process):
        @property
        def open(self) -> bool:
            return len(seen) < len(order)

        def wait(self, *_: object) -> None:
            seen.append("wait")

    def closer_in_vain(*_: object) -> None:
        seen.append("closer")
        run.closest = run.incumbent.placement

    monkeypatch.setattr(together, "bring_closer", closer_in_vain)
    monkeypatch.setattr(together, "_chains", lambda *_: seen.append("chains"))
    _move_on(run, run.deadline, Counted(run))
    assert seen[: len(order)] == order


def test_gangs_stay_spread_without_the_technique_that_brings_them_closer() -> None:
    run = run_from(*spread(), Options(without=("squeaky-wheel",)))
    process = Process(run)
    bring_closer(run, run.deadline, process)
    assert run.incumbent.values[-1] > 0
    assert not process.told


def test_an_exact_search_is_told_nothing_where_nobody_else_has_a_place() -> None:
    """What it finds moves nobody; whoever it leaves out has no place."""
    jobs = [job("r", pods(cpu=2, on=["a"])), job("v", pods(cpu=3))]
    nodes = [node("a", cpu=4), node("b", cpu=2)]
    instance = question(nodes, jobs, objectives=["moves", "unplaced"])
    run = run_from(instance, placed(instance, r=["b"]), Options())
    process = Process(run, instance.current)
    complete(run, run.deadline, process)
    assert run.incumbent.placement is instance.current
    assert not process.told


def test_nobody_is_placed_again_where_a_plan_leaves_nobody_out() -> None:
    instance, both = spread()
    run = run_from(instance, placed(instance, v=["a0", "b0"]), Options())
    complete(run, run.deadline, Process(run, both))
    assert not run.incumbent.tally.of("exchange").runs


def test_who_waits_is_placed_at_no_cost_to_what_comes_first() -> None:
    """A construction that uses another node is no plan, as a whole."""
    jobs = [job("runs", pods(on=["a"])), job("fits"), job("large", pods(cpu=4))]
    objectives = ["nodes_in_use", {"unplaced": {"unit": "job"}}]
    instance = question([node("a"), node("b")], jobs, objectives=objectives)
    run = run_from(instance, instance.current, Options(engine="fast"))
    run.construct()
    refine(run)
    assert run.incumbent.values == (1, 1)
