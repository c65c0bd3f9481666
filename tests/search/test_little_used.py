"""Little-used devices are cleared: which of them, how many, and whose pods may leave them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.around import Around
from kantopt.cp.descent import Descent, descend
from kantopt.cp.model import PlacementModel
from kantopt.cp.solver import Effort
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.freed import View, devices_wanted, little_used
from kantopt.search.schedule import FIRST
from kantopt.search.techniques.neighbourhoods import Neighbourhoods, nearby
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.search.helpers import Told
from tests.search.repair_questions import full_cluster, gpu_job, gpu_node
from tests.verify.world import placed, question

REPEATABLE = Deadline(None, deterministic=True)
GPUS: tuple[Any, ...] = ({"unplaced": {"unit": "gpu"}}, "moves")
PAIR = gpu_job("new", 1000, 1, count=2)


def shared(*jobs: dict[str, Any], objectives: tuple[Any, ...] = GPUS) -> Instance:
    """Three nodes of two GPUs with pods a to e, and other jobs; c on n1 and e on n2 are light.

    Two GPUs of a node are free once e has left n2, or both c and d have left n1.
    """
    places = (("n0", 0, 700), ("n0", 1, 800), ("n1", 0, 200), ("n1", 1, 900), ("n2", 0, 300))
    running = [
        gpu_job(name, milli, 1, (n, (d,)))
        for name, (n, d, milli) in zip("abcde", places, strict=True)
    ]
    nodes = [gpu_node(f"n{i}", 2, 16) for i in range(3)]
    return question(nodes, [*running, *jobs], objectives=objectives)


def incumbent(instance: Instance) -> Incumbent:
    return Incumbent(instance, tiers_of(instance), instance.current)


def clearing(instance: Instance) -> Neighbourhoods:
    best = incumbent(instance)
    run = Neighbourhoods(best, 0, REPEATABLE)
    run.clear(devices_wanted(best))
    return run


def test_devices_come_by_what_is_in_use_and_those_stay_whose_pods_may_not_move() -> None:
    pinned = gpu_job("f", 100, 1, ("n2", (1,)), movable=False)
    instance = shared(pinned, PAIR)
    view = View(instance, instance.current)
    for seed in range(9):
        one, two, all_, more = (
            little_used(view, size, random.Random(seed)) for size in (1, 2, 5, 9)
        )
        assert one < two == {(1, 0), (2, 0)}
        assert all_ == more == {(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)}


def freed(instance: Instance, devices: set[tuple[int, int]], start: Placement) -> Descent:
    """Solve what comes of the snapshot if pods may leave some devices."""
    around = Around(instance.current, frozenset(range(3)), frozenset(devices))
    tiers, model = tiers_of(instance), PlacementModel(instance, around=around)
    values = measure(instance, start, tiers)
    return descend(model, tiers, start, values, (0, 0), Effort(60.0, 0))


@pytest.mark.parametrize(
    ("devices", "values"),
    [
        ({(2, 0)}, (0, 1)),
        ({(1, 0), (1, 1)}, (0, 2)),
        ({(1, 0), (0, 0)}, (2000,)),
        (set[tuple[int, int]](), (2000, 0)),
    ],
    ids=str,
)
def test_only_pods_on_devices_that_are_freed_may_leave(
    devices: set[tuple[int, int]], values: tuple[int, ...]
) -> None:
    instance = shared(PAIR)
    found, closed, _ = freed(instance, devices, instance.current)
    assert closed
    assert found is not None
    assert check(instance, found) == []
    assert measure(instance, found, tiers_of(instance))[: len(values)] == values


def test_what_has_no_solution_beside_a_better_incumbent_is_closed() -> None:
    """A neighbourhood of the snapshot need not hold the incumbent: more of it may be freed then."""
    instance = shared(PAIR)
    start = freed(instance, {(2, 0)}, instance.current).found
    assert start is not None
    assert freed(instance, {(0, 0)}, start) == Descent(None, closed=True)


def test_one_step_finds_the_fewest_moves_however_many_there_were() -> None:
    instance = shared(PAIR)
    start = placed(instance, c=[("n2", 1)], d=[("n2", 0)], e=[("n1", 0)])
    run = clearing(instance)
    run.best.adopt(start)
    found = run.step(1.0)
    assert found is not None
    assert run.best.values == (0, 1)
    assert check(instance, found) == []


def test_slots_that_a_goal_wants_are_made_by_pods_that_leave_together() -> None:
    """Of each device two pods have to leave before it is a slot."""
    places = [(f"n{i}", d, k) for i in range(2) for d in range(4) for k in range(2)]
    jobs = [gpu_job(f"{n}-{d}-{k}", 250, 1, (n, (d,))) for n, d, k in places]
    nodes = [gpu_node(f"n{i}", 4, 16) for i in range(2)]
    asked = {"resource": "gpu", "size": 1, "device_class": "gpu", "of": "capacity", "target": 4}
    instance = question(nodes, jobs, objectives=({"fragment_rate": asked}, "moves"))
    run = clearing(instance)
    assert run.best.values == (4, 0)
    assert run.step(1.0) is not None  # no pod has moved yet: moves are no matter so far
    assert run.best.values[0] == 0
    run.step(1.0)
    assert run.best.values == (0, 8)


def test_as_many_devices_are_wanted_as_pods_take_that_wait_where_running_pods_are_on_some() -> None:
    def wanted(instance: Instance) -> int:
        return devices_wanted(incumbent(instance))

    assert wanted(shared(PAIR)) == 2
    assert wanted(shared(PAIR, gpu_job("more", 500, 1))) == 3
    assert wanted(shared()) == 0  # nothing is open
    assert wanted(shared(gpu_job("plain", 0, 99))) == 0
    assert wanted(shared(PAIR, objectives=("stranded_gpus", *GPUS))) == 0  # that is open first
    alone = [PAIR, gpu_job("x", 0, 1, ("n", ()))]
    assert wanted(question([gpu_node("n", 1, 4)], alone, objectives=GPUS)) == 0


@pytest.mark.parametrize("seed", range(6))
def test_steps_on_devices_are_legal_and_better(seed: int) -> None:
    run = clearing(full_cluster(seed, nodes=4, gpus=4, running=30, pending=5, moves=9))
    for _ in range(3):
        before = run.best.values
        found = run.step(1.0)
        assert (found is not None) == (run.best.values < before)
        assert check(run.best.instance, run.best.placement) == []


def test_a_first_look_at_devices_ends_once_they_are_closed() -> None:
    (turn,) = (t for t in FIRST if t.glance and t.technique.name == "neighbourhoods")
    assert turn.hinders(Told(shared()).desk) == "no shared devices are wanted"
    desk = Told(shared(PAIR, objectives=(*GPUS, "stranded_gpus"))).desk
    assert turn.hinders(desk) == ""
    desk.budget, desk.glance = Budget(REPEATABLE, work=100.0), True
    nearby(desk, REPEATABLE)
    assert desk.incumbent.values[:2] == (0, 1)
    assert desk.neighbourhoods is not None
    assert not desk.neighbourhoods.clears
    assert desk.budget.work is not None
    assert desk.budget.work > 90.0
