"""Planning as a whole: fast first, exact after, judged always, and done in time."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest

from kantopt.clock import Deadline, elapsed
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving import messages, together
from kantopt.planning.solving.answer import answer_of
from kantopt.planning.solving.messages import Done
from kantopt.planning.solving.news import News
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.planning.solving.together import search_together
from kantopt.problem.cluster import Spot
from kantopt.problem.tiers import tiers_of
from kantopt.processor import CpuUse
from kantopt.schema.dump import dump_json
from kantopt.schema.model import Model
from kantopt.search.engine.told import Found
from kantopt.search.reasons import Reasons
from kantopt.verify.rules import check
from tests.questions import hard_question, model, question

PODS_FIRST = ({"unplaced": {"unit": "pod"}}, "evictions", "moves")


def soon(seconds: float = 20.0) -> Deadline:
    return Deadline.within(seconds)


def planned(asked: Question, wanted: Model, seconds: float = 20.0, **options: Any) -> Result:
    return make_plan(asked, wanted, Options(workers=1, **options), soon(seconds))


def node(name: str, cpu: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "allocatable": {"cpu": cpu}, **more}


def job(name: str, cpu: int, on: str | None = None, **more: Any) -> dict[str, Any]:
    podset: dict[str, Any] = {"count": 1, "requests": {"cpu": cpu}}
    if on is not None:
        podset["assignments"] = [{"node": on, "count": 1}]
    return {"name": name, "podSets": [podset], **more}


def test_the_solver_does_not_start_if_arithmetic_proves_the_fast_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(together, "SolverProcess", lambda: pytest.fail("the solver was started"))
    result = planned(question([node("a", 4)], [], [job("j", 2)]), model(*PODS_FIRST))
    assert result.plan.solver.status == "OPTIMAL"
    assert result.plan.solver.found_by == "fast"
    assert {tier.proved_by for tier in result.plan.objectives} == {"arithmetic"}


def test_a_job_that_fits_nowhere_is_proved_so_without_a_solver() -> None:
    result = planned(question([node("a", 4)], [], [job("j", 5)]), model(*PODS_FIRST))
    assert result.plan.solver.status == "OPTIMAL"
    assert [tier.value for tier in result.plan.objectives] == [1]
    (left,) = result.plan.unplaced
    assert (left.job, left.pods, left.rule) == ("default/j", 1, "capacity")


def test_moving_two_pods_makes_room_where_the_fast_path_finds_none() -> None:
    """6 + 6 of 20 are free on two nodes; 12 fit once a pod of 4 moves beside the other."""
    running = [job("a4", 4, "a"), job("b4", 4, "b"), job("c4", 4, "b", movable=False)]
    asked = question([node("a", 12), node("b", 12)], running, [job("big", 12)])
    result = planned(asked, model(*PODS_FIRST))
    assert result.plan.solver.status == "OPTIMAL"
    assert result.plan.summary.moved_pods == 1
    assert result.plan.summary.evicted_pods == 0
    assert result.plan.unplaced == ()


def test_a_required_job_without_room_is_proved_infeasible_and_a_plan_still_comes() -> None:
    asked = question([node("a", 4)], [], [job("big", 5), job("small", 1)])
    result = planned(asked, model(*PODS_FIRST), require=("big",))
    assert result.infeasible
    assert result.plan.solver.status == "INFEASIBLE"
    assert [binding.job for binding in result.plan.assignments] == ["default/small"]
    assert any("provably has no place" in warning for warning in result.plan.warnings)


def test_the_time_limit_ends_the_search_and_bounds_stay_below_values() -> None:
    result = planned(hard_question(), model(*PODS_FIRST), seconds=4.0)
    assert any("the time limit ended the search" in text for text in result.plan.warnings)
    assert result.plan.solver.status == "FEASIBLE"
    assert not result.plan.solver.reproducible
    for tier in result.plan.objectives:
        assert tier.bound is not None
        assert tier.bound <= tier.value


def test_a_killed_solver_leaves_the_best_plan_so_far_and_a_warning() -> None:
    process = SolverProcess()

    def kill(news: News) -> None:
        if news.by == "search":  # it has begun, however long that took
            os.kill(process.pid or 0, signal.SIGKILL)

    with process:
        options = Options(engine="exact", workers=1)
        asked = hard_question()
        result = make_plan(asked, model(*PODS_FIRST), options, soon(60.0), kill, solver=process)
    assert result.plan.summary.placed_pods > 0
    assert any("SIGKILL" in warning for warning in result.plan.warnings)


def test_a_wish_to_stop_ends_the_search_with_a_plan() -> None:
    deadline = soon(300.0)

    def stop() -> None:
        deadline.stop.signal = signal.SIGINT

    timer = threading.Timer(1.5, stop)
    timer.start()
    result = make_plan(hard_question(), model(*PODS_FIRST), Options(workers=1), deadline)
    assert result.plan.warnings[0].startswith("interrupted by SIGINT")
    assert result.plan.summary.placed_pods > 0
    assert not result.plan.solver.reproducible


def test_deterministic_runs_give_the_same_bytes_with_a_tier_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def once() -> Result:
        options = Options(engine="exact", workers=2)
        deadline = Deadline.within(1_000.0, deterministic=True)
        return make_plan(hard_question(), model(*PODS_FIRST), options, deadline)

    monkeypatch.setattr(messages, "WORK_PER_SECOND", 0.001)
    first, second = once(), once()
    assert first.plan.solver.status == "FEASIBLE"
    assert first.plan.solver.reproducible
    assert dump_json(first.plan) == dump_json(second.plan)


def test_an_illegal_placement_of_the_solver_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lies = [Found(({Spot(0): 1}, {Spot(1): 1}, {Spot(0): 1})), Done(False)]
    monkeypatch.setattr(SolverProcess, "message", lambda *_: lies.pop(0))
    jobs = [job("one", 3), job("two", 3), job("three", 2)]  # as much as there is, in two pieces
    result = planned(question([node("a", 4), node("b", 4)], [], jobs), model(*PODS_FIRST))
    assert result.plan.summary.placed_pods == 2
    assert any("refused" in w for w in result.plan.warnings)


def test_the_plan_embeds_the_specs_it_needs() -> None:
    running = [job("low", 4, "a", priority=1), job("other", 1, "b")]
    asked = question([node("a", 4), node("b", 1)], running, [job("high", 4, priority=9)])
    result = planned(asked, model(*PODS_FIRST))
    (eviction,) = result.plan.evictions
    assert (eviction.job, eviction.for_job) == ("default/low", "default/high")
    assert [spec.name for spec in result.plan.jobs] == ["low", "high"]
    assert [wave.after for wave in result.plan.waves] == [(), (1,)]


def test_what_stands_wrong_already_is_reported_and_does_not_spoil_the_plan() -> None:
    asked = question([node("a", 4), node("b", 4)], [job("too-big", 6, "a")], [job("j", 2)])
    result = planned(asked, model(*PODS_FIRST))
    assert [standing.subject for standing in result.plan.pre_existing] == ["node a"]
    assert result.plan.solver.status == "OPTIMAL"
    assert result.plan.assignments[0].node == "b"
    assert not check(result.instance, result.instance.current)


def test_a_required_job_without_room_costs_the_others_nothing() -> None:
    """The impossible job is given up; what is found for the rest is proved all the same."""
    running = [job("a4", 4, "a"), job("b4", 4, "b"), job("c4", 4, "b", movable=False)]
    wants = [job("big", 12), job("impossible", 13)]
    asked = question([node("a", 12), node("b", 12)], running, wants)
    result = planned(asked, model(*PODS_FIRST), require=("impossible",))
    assert result.infeasible
    assert [binding.job for binding in result.plan.assignments] == ["default/big"]
    assert {tier.status for tier in result.plan.objectives} == {"OPTIMAL"}


def test_arithmetic_proves_a_required_job_impossible_without_a_solver() -> None:
    asked = question([node("a", 4)], [], [job("big", 5)])
    result = planned(asked, model(*PODS_FIRST), engine="fast", require=("big",))
    assert result.infeasible


STARVED = CpuUse(ran=0.5, waited=9.0)


def test_a_run_that_was_starved_of_cpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kantopt.processor.own_use", lambda: STARVED)
    options = Options(workers=1)
    cut = make_plan(hard_question(), model(*PODS_FIRST), options, soon(1.0)).plan
    assert cut.warnings[0] == "the time limit ended the search: this is the best plan so far"
    assert cut.warnings[1].startswith("starved of CPU: ran ")
    done = planned(question([node("a", 4)], [], [job("j", 4)]), model(*PODS_FIRST))
    assert done.plan.warnings == ()  # nothing was missing for it


def test_the_words_of_a_deterministic_plan_do_not_depend_on_the_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kantopt.processor.own_use", lambda: STARVED)
    deadline = Deadline(elapsed() + 60.0, deterministic=True, whole=0.5)
    deadline.stop.signal = signal.SIGTERM
    plan = make_plan(hard_question(), model(*PODS_FIRST), Options(workers=1), deadline).plan
    assert plan.solver.status == "UNKNOWN"
    assert not any("CPU" in text for text in plan.warnings)


def test_why_jobs_wait_is_said_even_if_to_order_what_is_done_took_longer_than_was_kept_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = question([node("a", 1)], [], [job("z", 2)]).instance(model(*PODS_FIRST))
    for more, rule in ((0.5, "capacity"), (0.0, "not examined")):
        monkeypatch.setattr("kantopt.shares.SAYING_WHY", more)
        run = Run(instance, tiers_of(instance), Options(), soon(60.0), lambda _: None, None)
        run.deadline = soon(0.0)
        answer = answer_of(run, instance.current, (), examined=True)
        assert [left.rule for left in answer.unplaced] == [rule]


def test_the_time_to_say_why_jobs_wait_begins_when_the_cluster_has_been_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which takes longer on a large cluster than to say it of a hundred jobs."""
    counted = Reasons.__init__

    def slow(*args: Any) -> None:
        counted(*args)
        time.sleep(0.6)

    monkeypatch.setattr("kantopt.shares.SAYING_WHY", 0.5)
    monkeypatch.setattr(Reasons, "__init__", slow)
    waiting = [job(name, cpu) for name, cpu in (("y", 2), ("z", 3))]
    instance = question([node("a", 1)], [], waiting).instance(model(*PODS_FIRST))
    run = Run(instance, tiers_of(instance), Options(), soon(60.0), lambda _: None, None)
    run.deadline = soon(0.0)
    answer = answer_of(run, instance.current, (), examined=True)
    assert [left.rule for left in answer.unplaced] == ["capacity"] * 2


def test_a_solver_that_is_given_no_processor_counts_as_waiting() -> None:
    """Stopped, it has work and does none of it."""
    process = SolverProcess()
    time.sleep(0.3)
    os.kill(process.pid or 0, signal.SIGSTOP)
    asked = hard_question()
    wanted = model(*PODS_FIRST)
    instance = asked.instance(wanted)
    options = Options(engine="exact", workers=1)
    run = Run(instance, tiers_of(instance), options, soon(1.5), lambda _: None, process)
    search_together(run)
    assert run.solver_cpu.waited > 0.2


def test_a_search_that_nobody_has_time_for_is_not_given_its_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def begin(*_: object) -> None:
        raise AssertionError("a task was written out")

    monkeypatch.setattr(SolverProcess, "begin", begin)
    instance = hard_question().instance(model(*PODS_FIRST))
    run = Run(instance, tiers_of(instance), Options(), soon(0.0), lambda _: None, None)
    search_together(run)
    assert run.cut
    assert ["did not begin" in warning for warning in run.warnings] == [True]


def test_an_interrupted_plan_says_so() -> None:
    deadline = soon(60.0)
    timer = threading.Timer(1.5, lambda: setattr(deadline.stop, "signal", signal.SIGTERM))
    timer.start()
    result = make_plan(hard_question(), model(*PODS_FIRST), Options(workers=1), deadline)
    assert result.plan.warnings[0] == "interrupted by SIGTERM: this is the best plan so far"


def test_a_solver_that_does_not_listen_does_not_hold_the_plan_up() -> None:
    process = SolverProcess()
    os.kill(process.pid or 0, signal.SIGSTOP)
    with process:
        result = make_plan(
            hard_question(nodes=64),
            model(*PODS_FIRST),
            Options(engine="exact", workers=1),
            soon(3.0),
            solver=process,
        )
    assert any("did not begin" in warning for warning in result.plan.warnings)


def test_a_fault_of_the_local_search_costs_nothing_but_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("kantopt.search.chains.improve.improve", broken)
    result = planned(hard_question(nodes=4), model(*PODS_FIRST), seconds=3.0, engine="fast")
    assert result.plan.summary.placed_pods > 0
    assert (
        "the search by ejection-chains failed: ZeroDivisionError: on purpose"
        in result.plan.warnings
    )


def test_a_plan_that_chains_bettered_names_them() -> None:
    running = [job("a4", 4, "a"), job("b4", 4, "b"), job("c4", 4, "b", movable=False)]
    free = {"minCount": 0, "count": 1}
    for one in running:
        one["podSets"][0].update(free)
    big = job("big", 12)
    big["podSets"][0].update(free)
    asked = question([node("a", 12), node("b", 12)], running, [big])
    result = planned(asked, model(*PODS_FIRST), engine="fast", without=("relocation",))
    assert result.plan.summary.moved_pods == 1
    assert result.plan.solver.strategy.endswith(" and ejection-chains")


def test_of_a_job_without_a_place_the_rest_is_planned_at_once() -> None:
    """The search beside the exact one ends with it; the time is for the plan without the job."""
    gpu = "nvidia.com/gpu"
    victim = {"count": 2, "requests": {gpu: 8}, "assignments": [{"node": "a"}, {"node": "b"}]}
    never = {"count": 1, "requests": {gpu: 8}}
    asked = question(
        [{"name": name, "allocatable": {gpu: n}} for name, n in (("a", 8), ("b", 8), ("c", 2))],
        [{"name": "victim", "priority": 10, "podSets": [victim]}],
        [{"name": "never", "priority": 50, "preemptionPolicy": "Never", "podSets": [never]}],
    )
    wanted = model(*PODS_FIRST, required=["never"])
    result = make_plan(asked, wanted, Options(workers=2), soon(30.0))
    assert result.infeasible
    assert {tier.status for tier in result.plan.objectives} == {"OPTIMAL"}
    assert not any("time" in warning for warning in result.plan.warnings)
