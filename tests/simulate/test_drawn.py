"""What holds of every simulation: on tiny clusters with everything in them, drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from kantopt.simulate.history import History
from kantopt.simulate.metrics.window import Window
from kantopt.simulate.planned import Cycles
from kantopt.simulate.simulator import Simulator
from tests.campaign import some
from tests.simulate.worlds import drawn, policy

BLOCKS = some(range(8))
EACH = 25
PLANNED = some(range(4))
FEW = 10
"""Of simulations that plan, which takes its time."""


def run(seed: int, *, planned: bool = False) -> History:
    world, policy = drawn(seed, planned=planned)
    return Simulator(world, policy, verify_every=1).run()


@cache
def planned(seed: int) -> History:
    """A history with plans, which take their time; others that are like it are run apart."""
    return run(seed, planned=True)


@pytest.mark.parametrize("block", BLOCKS)
def test_books_balance_and_time_goes_forward(block: int) -> None:
    judged = started = 0
    for seed in range(block * EACH, (block + 1) * EACH):
        history = run(seed)  # every state is judged on the way
        judged += history.judged
        started += sum(each.started is not None for each in history.jobs)
        if history.horizon:
            Window(history)  # samples that do not add up are refused
        for job in history.jobs:
            _check_job(history, job.name)
    assert judged > 4 * EACH
    assert started > 4 * EACH


def _check_job(history: History, name: str) -> None:
    number, job = next((i, each) for i, each in enumerate(history.jobs) if each.name == name)
    stays = [each for each in history.stays if each.job == number]
    assert (job.started is None) == (not stays)
    if job.started is None:
        assert job.ended is None
        return
    assert job.started >= job.arrival
    assert min(stay.begin for stay in stays) == job.started
    assert all(stay.begin <= stay.working <= stay.end for stay in stays)
    if job.starts == 1 and not job.moves and job.ended is not None:
        assert job.ended == job.started + job.duration
    if job.ended is not None:
        assert job.ended == max(stay.end for stay in stays)
    assert job.nodes >= 1
    assert job.lost <= sum((stay.end - stay.begin) * stay.gpus for stay in stays)


@pytest.mark.parametrize("block", PLANNED)
def test_books_balance_where_plans_are_carried_out(block: int) -> None:
    judged = cycles = disturbed = 0
    for seed in range(block * FEW, (block + 1) * FEW):
        history = planned(seed)
        judged += history.judged
        cycles += len(history.plans)
        disturbed += sum(each.moves + each.evictions for each in history.jobs)
        if history.horizon:
            Window(history)
        for job in history.jobs:
            _check_job(history, job.name)
    assert judged > 2 * FEW
    assert cycles > 2 * FEW
    assert disturbed > 0


def test_what_is_not_planned_would_have_changed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    planner = {"model": "packing", "timeLimit": "1s", "period": "15s"}
    how = policy(placement={"planner": planner}, restartTime="5s")

    def histories() -> list[History]:
        worlds = (drawn(seed)[0] for seed in range(3))
        return [Simulator(each, how, verify_every=1).run() for each in worlds]

    def but_plans(histories: list[History]) -> list[History]:
        return [replace(history, plans=[]) for history in histories]

    less = histories()
    monkeypatch.setattr(Cycles, "_may_bind", lambda *_: True)
    more = histories()
    assert but_plans(more) == but_plans(less)
    assert all(set(a.plans) >= set(b.plans) for a, b in zip(more, less, strict=True))


@pytest.mark.parametrize("first", [run, planned])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_input_gives_the_same_history(seed: int, first: Callable[[int], History]) -> None:
    assert first(seed) == run(seed, planned=first is planned)


def test_who_may_be_the_first_of_his_like_is_judged_before_others_come() -> None:
    run(1_000_100, planned=True)
