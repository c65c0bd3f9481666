"""Column generation: every bound is one, every plan is better, and it knows when to keep quiet."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline, Stop, elapsed
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.extends import load_model
from kantopt.schema.model import Metric, Rule
from kantopt.search.chains.improve import improve as chains
from kantopt.search.chains.scope import scope_of
from kantopt.search.columns.least import least_disruption
from kantopt.search.columns.program import holds_for_all, program_of
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.strategy import Strategy
from kantopt.verify.disturbance import DISRUPTION
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check
from scripts.bench.priority_matters import Cell, documents
from tests.campaign import some
from tests.generate import random_instance
from tests.search.columns import MOVES_FIRST, PLACEMENT_FIRST, crowded, least
from tests.search.helpers import searching
from tests.verify.world import GPU, HOST, job, node, pods, question

improve = searching(chains)

UNHURRIED = Deadline(1.0, deterministic=True)
BLOCKS = 8


class Heard:
    """What is told, with the values of the best placement at that moment."""

    def __init__(self, instance: Instance, start: Placement) -> None:
        self.instance = instance
        self.tiers = tiers_of(instance)
        self.best = start
        self.placements: list[Placement] = []
        self.bounds: list[tuple[int, int, tuple[int, ...]]] = []

    def found(self, placement: Placement) -> None:
        assert self.values(placement) < self.values(self.best)
        assert {fault.rule for fault in check(self.instance, placement)} <= {Rule.REQUIRED}
        self.placements.append(placement)
        self.best = placement

    def bound(self, t: int, value: int) -> None:
        self.bounds.append((t, value, self.values(self.best)))

    def values(self, placement: Placement) -> tuple[int, ...]:
        return measure(self.instance, placement, self.tiers)

    def proved(self) -> list[int]:
        """Best bound of each tier, by arithmetic or told."""
        found = list(bounds(self.instance, self.tiers, self.values(self.best)))
        for t, value, _ in self.bounds:
            found[t] = max(found[t], value)
        return found


def heard(instance: Instance, start: Placement, deadline: Deadline = UNHURRIED) -> Heard:
    told = Heard(instance, start)
    best = Incumbent(instance, told.tiers, start, found=told.found)
    least_disruption(best, deadline, told.bound)
    return told


def constructed(instance: Instance) -> Placement:
    return construct(instance, Deadline(None), How(Strategy.BEST_FIT))


@pytest.mark.parametrize("apart", [0.0, 0.6])
@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_no_bound_is_above_the_optimum(block: int, apart: float) -> None:
    told = closed = 0
    for seed in range(block, 30 * BLOCKS, BLOCKS):
        instance = crowded(seed, apart=apart)
        for start in (constructed(instance), instance.current):
            if check(instance, start):
                continue
            news = heard(instance, start)
            for t, value, values in news.bounds:
                optimum = least(instance, news.tiers, values, t)
                assert value <= optimum, f"seed {seed}: tier {t}"
                told += 1
                closed += value == optimum
    assert closed >= told / 2 > 0


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_with_all_rules_no_bound_is_above_the_optimum_and_no_plan_is_illegal(block: int) -> None:
    for seed in range(block, 200, BLOCKS):
        instance = random_instance(seed)
        start = instance.current
        if check(instance, start):
            continue
        news = heard(instance, start)
        for t, value, values in news.bounds:
            assert value <= least(instance, news.tiers, values, t), f"seed {seed}: tier {t}"


def cell(seed: int, model: str) -> Instance:
    """Eight nodes with some 64 pods, crowded as in the published benchmark."""
    files = documents(Cell(8, 8, 4, 95), seed)
    found = load_model(model)
    rules = found.rules.model_copy(update={"priority": "counts"})
    return build_instance(files.snapshot, files.pending, found.model_copy(update={"rules": rules}))


@pytest.mark.parametrize("model", ["placement-first", "tier-by-tier"])
@pytest.mark.parametrize("seed", [484806185843093489, 4219457405427907235, 5896358955358513046])
def test_what_chains_leave_open_is_closed(seed: int, model: str) -> None:
    instance = cell(seed, model)
    tiers = tiers_of(instance)
    start = improve(instance, instance.current, tiers, Deadline(None), patience=60)
    assert measure(instance, start, tiers) < measure(instance, instance.current, tiers)
    told = heard(instance, start)
    values, proved = told.values(told.best), told.proved()
    disruption = [t for t, tier in enumerate(tiers) if tier.metric in DISRUPTION]
    assert any(values[t] for t in disruption)
    assert [values[t] for t in disruption] == [proved[t] for t in disruption]


def test_a_plan_with_too_many_moves_is_improved() -> None:
    """A new pod fits beside one of two pods; the start moved both of them for it."""
    nodes = [node("a", cpu=4), node("b", cpu=4), node("c", cpu=4)]
    jobs = [
        job("one", pods(cpu=2, on=["a"])),
        job("two", pods(cpu=2, on=["b"])),
        job("three", pods(cpu=1, on=["c"])),
        job("new", pods(cpu=4)),
    ]
    instance = question(nodes, jobs, objectives=PLACEMENT_FIRST)
    from tests.verify.world import placed

    start = placed(instance, one=["b"], two=["c"], new=["a"])
    assert check(instance, start) == []
    told = heard(instance, start)
    assert told.values(told.best) == (0, 0, 1)
    assert told.proved() == [0, 0, 1]


def mover(*more: Any, rules: dict[str, Any] | None = None, **running: Any) -> Instance:
    """A pod has to leave its node for a new one, beside whatever else there is."""
    nodes = [node("a", cpu=4, gpu=1), node("b", cpu=3, gpu=1)]
    jobs = [job("old", pods(cpu=1, on=["a"])), job("new", pods(cpu=4)), *more]
    return question(nodes, jobs, objectives=PLACEMENT_FIRST, rules=rules)


def silent(instance: Instance) -> bool:
    """Whether a plan with a move is left without a bound."""
    start = constructed(instance)
    start = improve(instance, start, tiers_of(instance), Deadline(None), patience=30)
    told = heard(instance, start)
    assert told.values(told.best)[-1] >= 1
    return not told.bounds


def test_pods_that_may_change_unseen_make_it_silent() -> None:
    assert not silent(mover())
    gpu = pods(cpu=1, gpu=1, on=[("b", 0)])
    assert silent(mover(job("train", gpu)))


def test_one_of_a_service_that_may_change_unseen_makes_it_silent() -> None:
    """A node holds one of its pods; without the one with a GPU there would be room for another."""
    away = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "s"}}}]
    roles = (("cpu", {"on": ["a"]}), ("gpu", {"gpu": 1, "on": [("b", 0)]}))
    for held, silence in ((False, True), (True, False)):
        fixed = {"movable": False, "preemptible": False} if held else {}
        podsets = [
            pods(name, cpu=int(name == "cpu"), podAntiAffinity=away, **more)
            for name, more in (roles[0], (roles[1][0], {**roles[1][1], **fixed}))
        ]
        nodes = [node("a", cpu=2), node("b", cpu=1, gpu=1)]
        instance = question(nodes, [job("s", *podsets), job("new", pods(cpu=2))])
        scope = scope_of(instance, instance.current)
        assert len(scope.apart) == 1
        assert holds_for_all(instance, scope) != silence


def test_pods_that_nothing_may_change_do_not() -> None:
    gpu = pods(cpu=1, gpu=1, on=[("b", 0)], preemptible=False, movable=False)
    assert not silent(mover(job("train", gpu)))
    assert silent(mover(job("train", gpu), rules={"pinned": "off"}))


def test_pods_that_take_no_room_make_it_silent_no_more_than_those_that_are_not_there() -> None:
    nodes = [node("a", cpu=2), node("b", cpu=1, gpu=1)]
    for cpu, silence in ((0, False), (1, True)):
        train = job("train", pods(cpu=cpu, gpu=1, on=[("b", 0)]))
        instance = question(
            nodes, [job("x", pods(cpu=1, on=["a"])), train, job("new", pods(cpu=2))]
        )
        scope = scope_of(instance, instance.current)
        assert holds_for_all(instance, scope) != silence


def test_where_no_pod_may_move_disruption_costs_two_for_each_eviction() -> None:
    instance = question(
        [node("a", cpu=2), node("b", cpu=2)],
        [job("old", pods(cpu=1, on=["a"])), job("new", pods(cpu=2), priority=1)],
        objectives=MOVES_FIRST,
    )
    tiers, scope = tiers_of(instance), scope_of(instance, instance.current)
    cost = [tier.metric for tier in tiers].index(Metric.DISRUPTION_COST)
    moves = [tier.metric for tier in tiers].index(Metric.MOVES)
    for most, whole in ((0, [0, 2, 2, 4]), (1, [0, 1, 2, 3])):
        values = [most if t == moves else 1 for t in range(len(tiers))]
        program = program_of(scope, tiers, values, cost)
        assert [program.least_whole(bound) for bound in range(4)] == whole


def test_members_above_a_minimum_count_with_those_below() -> None:
    """Jobs that may start with one pod each need the same moves, and these are proved."""
    moves = []
    for few in (0, 1):
        more: Any = {"minCount": few}
        staircase = [
            job(f"j{size}", pods(count=2, cpu=size, on=[f"{side}{size + 1}" for side in "ab"]))
            for size in (1, 2, 3)
        ]
        for each in staircase:
            each["podSets"][0].update(more)
        nodes = [node(f"{side}{size}", cpu=size) for side in "ab" for size in (1, 2, 3, 4)]
        new = job("new", pods(count=2, cpu=4, **more))
        instance = question(nodes, [*staircase, new], objectives=PLACEMENT_FIRST)
        start = improve(instance, instance.current, tiers_of(instance), Deadline(None), patience=30)
        told = heard(instance, start)
        moves.append((told.values(told.best)[-1], told.proved()[-1]))
    assert moves[0] == moves[1]
    assert moves[0][0] == moves[0][1] > 0


def test_a_role_that_runs_in_part_needs_the_gang_rule() -> None:
    for rules, silence in (({}, False), ({"gang": "off"}, True)):
        instance = mover(job("half", pods(count=2, cpu=1, on=["b"], minCount=0)), rules=rules)
        assert holds_for_all(instance, scope_of(instance, instance.current)) != silence


def test_nothing_happens_when_the_time_is_up() -> None:
    instance = cell(484806185843093489, "placement-first")
    start = improve(instance, instance.current, tiers_of(instance), Deadline(None), patience=30)
    for deadline in (Deadline(elapsed() - 1.0), Deadline(None, stop=Stop(15))):
        told = heard(instance, start, deadline)
        assert (told.placements, told.bounds) == ([], [])


def test_the_same_question_gets_the_same_answer() -> None:
    instance = cell(4219457405427907235, "placement-first")
    start = improve(instance, instance.current, tiers_of(instance), Deadline(None), patience=30)
    first, second = heard(instance, start), heard(instance, start)
    assert first.bounds == second.bounds
    assert first.placements == second.placements
    assert first.bounds
    assert GPU not in instance.resources
