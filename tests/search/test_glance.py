"""A first look at a question: what can be closed at once, and what is left to others."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.cp.relaxed.towards import Towards
from kantopt.cp.solve import solve_tiers
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.extends import load_model
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.technique import Turn
from kantopt.search.schedule import FIRST
from kantopt.search.strategy import Strategy
from kantopt.search.techniques.domains import divided
from scripts.bench.everyday import everyday
from tests.search.helpers import Told
from tests.solved import solved
from tests.verify.world import job, node, pods, question

OBJECTIVES = [{"unplaced": {"unit": "pod"}}, "evictions", "moves"]


def full(nodes: int, gang: bool = True) -> Instance:
    """Racks of four nodes, a pod on every second one; three whole nodes of a rack are asked for."""
    racks = [node(f"n{i}", cpu=4, rack=f"b/{i // 4}") for i in range(nodes)]
    runs = [job(f"r{i}", pods(cpu=1, on=[f"n{2 * i}"])) for i in range(nodes // 2)]
    waits = job("w", pods(count=3, cpu=4) if gang else pods(cpu=4, minCount=0))
    if gang:
        waits["topologyRequest"] = {"required": "rack"}
    return question(racks, [*runs, waits], objectives=OBJECTIVES)


def test_one_thread_proves_all_tiers_of_a_cluster_as_it_is_found() -> None:
    """With less of the linear program it left the third one open, and all below it."""
    asked = everyday(32, 0)
    instance = build_instance(asked.snapshot, asked.pending, load_model("training"), source="made")
    tiers = tiers_of(instance)
    start = construct(instance, Deadline(None), How(Strategy.BEST_FIT, relocate=True))
    budget = Budget(Deadline(None), workers=1, work=1.0)
    outcome = solved(instance, tiers, start, budget)
    assert outcome.placement is not None
    assert Incumbent(instance, tiers, outcome.placement).values == outcome.bounds


@pytest.mark.parametrize("glance", [True, False])
def test_the_first_tier_that_stays_open_ends_a_first_look(
    glance: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kantopt.cp.solve._Run.minimise", lambda self, i, floor: floor)
    instance = full(4)
    start = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
    best = Incumbent(instance, tiers_of(instance), start)
    first = next(i for i, value in enumerate(best.values) if value > best.floor(i))
    told: list[int] = []
    budget = Budget(Deadline(None), workers=1)
    solve_tiers(
        PlacementModel(instance),
        budget,
        best,
        closed=lambda tier, bound, locks: told.append(tier),
        glance=glance,
    )
    assert told == list(range(first + 1 if glance else len(best.tiers)))


@pytest.mark.parametrize("glance", [True, False])
def test_a_first_look_writes_no_domains_down(glance: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[type] = []
    write = Towards._written

    def note(self: Towards, kind: Any) -> Any:
        written.append(kind)
        return write(self, kind)

    monkeypatch.setattr(Towards, "_written", note)
    desk = Told(full(8)).desk
    desk.glance = glance
    divided(desk, desk.budget.deadline)
    assert [kind.__name__ for kind in written if "Domain" in kind.__name__] == (
        [] if glance else ["DomainRelaxation"] * 2
    )


@pytest.mark.parametrize("true", [True, False])
def test_a_first_look_ends_where_counts_do_not_come_true(
    true: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs wait in a tier each: others are not asked about where one finds no place."""
    asked: list[int] = []
    aim = Towards._towards

    def note(self: Towards, i: int, *how: Any, **more: Any) -> None:
        asked.append(i)
        aim(self, i, *how, **more)

    monkeypatch.setattr(Towards, "_towards", note)
    monkeypatch.setattr("kantopt.cp.relaxed.towards.IN_VAIN", 9)
    if not true:
        monkeypatch.setattr("kantopt.search.techniques.domains.realise", lambda *_: None)
    waits = [job(f"w{i}", pods(count=3, cpu=4), priority=i) for i in range(3)]
    for each in waits:
        each["topologyRequest"] = {"preferred": "rack"}
    racks = [node(f"n{i}", cpu=4, rack=f"b/{i // 4}") for i in range(8)]
    tiers = [{"unplaced": {"unit": "pod", "by": "priority"}}, "moves"]
    desk = Told(question(racks, waits, objectives=tiers)).desk
    desk.glance = True
    divided(desk, desk.budget.deadline)
    assert desk.come_true is true
    assert desk.incumbent.values[:3] == ((0, 0, 3) if true else (3, 3, 3))
    assert true or set(asked) == {0}


def test_a_first_look_is_for_gangs_and_for_what_can_be_written_down_in_time() -> None:
    looks = [turn for turn in FIRST if turn.glance]
    assert [turn.technique.name for turn in looks] == ["domains", "cp-sat", "neighbourhoods"]

    domains, whole, _ = looks

    def why_not(turn: Turn, instance: Instance, seconds: float) -> str:
        return turn.hinders(Told(instance, seconds=seconds).desk)

    assert why_not(whole, full(8), 20.0) == why_not(domains, full(8), 20.0) == ""
    late = "too large for the time that there is"
    assert why_not(whole, full(40), 0.05) == late
    assert "no gangs wait" in why_not(whole, full(8, gang=False), 20.0)
    assert "too few nodes" in why_not(domains, full(40), 0.05)  # counts of domains come next
    assert why_not(domains, full(80), 0.05) == ""  # a few nodes would be planned anew first
