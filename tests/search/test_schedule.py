"""The schedule: what is left out does not run, a fault costs nothing else, the docs show it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kantopt.clock import elapsed
from kantopt.errors import UsageError
from kantopt.problem.instance import Instance
from kantopt.search import schedule
from kantopt.search.applicability import FEW_NODES, MOST_NODES, SO_FEW_NODES, before_disruption
from kantopt.search.engine.technique import Technique, Turn
from kantopt.search.schedule import (
    CP_SAT,
    DECOMPOSITION,
    DISRUPTION_COLUMNS,
    FIRST,
    IN_TURN,
    NEIGHBOURHOODS,
    RELAXATION,
    SYMMETRY,
    known_techniques,
    search,
    techniques,
)
from kantopt.search.techniques.relaxation import relax
from tests.oracle import best
from tests.search.helpers import Told
from tests.verify.world import job, node, pods, question

DOCS = Path(__file__).parents[2] / "docs" / "search.md"
OBJECTIVES = [{"unplaced": {"unit": "pod"}}, "evictions", "moves"]
EXACT = [each.name for each in techniques() if each.process == "solver"]


def crowded() -> Instance:
    """Three nodes of 4; two pods of 4 fit if pods of 2 and 1 go together."""
    running = [job(f"r{i}", pods(cpu=1 + i % 2, on=[f"n{i}"])) for i in range(3)]
    waiting = [job(f"w{i}", pods(cpu=4)) for i in range(2)]
    return question([node(f"n{i}") for i in range(3)], [*running, *waiting], objectives=OBJECTIVES)


def told_of(*without: str, seconds: float = 20.0) -> Told:
    return Told(crowded(), *without, seconds=seconds)


def test_names_are_told_apart_and_the_docs_show_all_of_them() -> None:
    rows = [line.split(" | ") for line in DOCS.read_text(encoding="utf-8").splitlines()]
    shown = [(row[0][3:-1], row[1], row[2]) for row in rows if row[0].startswith("| `") and row[3:]]
    table = {name: (textbook, process) for name, textbook, process in shown}
    assert table.items() >= {e.name: (e.textbook, e.process) for e in techniques()}.items()
    assert len({each.name for each in techniques()}) == len(techniques())


def test_all_together_find_and_prove_the_best() -> None:
    told = told_of()
    assert not search(told.desk)
    assert told.desk.incumbent.values == best(told.desk.instance)[0]
    assert told.desk.incumbent.optimal
    assert told.left_out["device-patterns"] == "no pod asks for devices"


@pytest.mark.parametrize("name", EXACT)
def test_what_is_left_out_does_not_run_and_says_so(name: str) -> None:
    kept = "move-prices" if name == "covering" else "covering"  # neither of them proves anything
    told = told_of(*(each for each in EXACT if each != kept), seconds=0.3)
    search(told.desk)
    assert set(told.begun) == {kept}
    assert told.left_out.get(name) == "left out by wish"


def test_once_all_is_proved_nothing_more_is_told() -> None:
    """Whoever waits ends at the last bound: what comes after is in the plan by chance."""
    told = told_of()
    assert not search(told.desk)
    assert told.desk.incumbent.optimal
    assert "proximity" not in told.left_out


def test_with_nothing_left_the_search_ends_at_once() -> None:
    told = told_of(*EXACT)
    began = elapsed()
    assert not search(told.desk)
    assert told.begun == []
    assert elapsed() - began < 10


def test_a_fault_of_one_technique_costs_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("no such luck")

    monkeypatch.setattr("kantopt.search.techniques.relaxation.relax", fails)
    told = told_of("bin-completion")
    search(told.desk)
    assert told.desk.incumbent.values == best(told.desk.instance)[0]
    assert told.desk.incumbent.optimal
    assert told.notes == ["a technique failed (relaxation): ValueError('no such luck')"]


def test_names_are_checked_and_the_nearest_is_named() -> None:
    assert known_techniques([NEIGHBOURHOODS.name, CP_SAT.name, CP_SAT.name]) == (
        "cp-sat",
        "neighbourhoods",
    )
    with pytest.raises(UsageError, match="did you mean cp-sat"):
        known_techniques(["cpsat"])


def test_a_technique_of_the_solver_has_something_to_run() -> None:
    def runs(technique: Technique) -> bool:
        handed_the_search = technique in (DECOMPOSITION, SYMMETRY)
        return callable(technique.load()) if technique.where else handed_the_search

    assert all(runs(each) == (each.process == "solver") for each in techniques())


def test_a_few_nodes_come_before_counts_of_domains_while_it_is_open_who_is_placed() -> None:
    """Only where gangs wait, and neither counts nor a neighbourhood are written down at once."""
    order = [turn.technique.name for turn in FIRST if not turn.glance]
    first = order.index("domains")
    assert order[first - 1] == order[first + 1] == "neighbourhoods"
    hinders = next(turn.hinders for turn in FIRST if turn.technique is NEIGHBOURHOODS)

    def told(nodes: int, *jobs: Any) -> Told:
        racks = [node(f"n{i}", cpu=1, rack=f"b/{i % 2}") for i in range(nodes)]
        return Told(question(racks, list(jobs), objectives=OBJECTIVES), seconds=20.0)

    alone, gang = job("a", pods(cpu=1, minCount=0)), job("g", pods(count=3, cpu=1))
    gang["topologyRequest"] = {"preferred": "rack"}
    assert hinders(told(FEW_NODES + 1, gang).desk) == ""
    assert "no gangs wait" in hinders(told(FEW_NODES + 1, alone).desk)
    assert "too few nodes" in hinders(told(FEW_NODES, gang).desk)
    assert "too many" in hinders(told(MOST_NODES + 1, gang).desk)
    homogeneous = told(FEW_NODES + 1, gang)
    homogeneous.desk.come_true = True
    assert hinders(homogeneous.desk) == "counts of domains come true"
    settled = told(FEW_NODES + 1, gang)
    search(settled.desk)
    assert hinders(settled.desk) == "it is proved who is placed"


def test_tiers_below_an_open_one_wait_where_counts_of_domains_come_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beyond: list[bool] = []
    monkeypatch.setattr(
        "kantopt.search.techniques.relaxation.relaxed_bounds",
        lambda *_, **how: beyond.append(how["beyond"]),
    )
    racks = [node(f"n{i}", cpu=1, rack=f"b/{i % 2}") for i in range(4)]
    alone, gang = job("a", pods(cpu=1, minCount=0)), job("g", pods(count=3, cpu=1))
    gang["topologyRequest"] = {"preferred": "rack"}
    for waits, work, first in ((gang, None, False), (alone, None, True), (gang, 5.0, True)):
        desk = Told(question(racks, [waits], objectives=OBJECTIVES)).desk
        desk.budget = replace(desk.budget, work=work)
        for _ in range(2):
            desk.begin(RELAXATION)
            relax(desk, desk.budget.deadline)
        assert beyond == [first, True]
        beyond.clear()


def test_columns_of_disruption_come_before_the_whole_once_it_is_proved_who_is_placed() -> None:
    """They prove in tenths of a second what the exact model of the whole is long in vain at."""
    (turn,) = (turn for turn in FIRST if turn.technique is DISRUPTION_COLUMNS)
    (whole,) = (turn for turn in FIRST if turn.technique is CP_SAT and not turn.glance)
    assert FIRST.index(turn) < FIRST.index(whole)
    desk = told_of().desk
    assert turn.hinders(desk)  # nobody is placed yet
    _, optimum = best(desk.instance)
    assert optimum is not None
    desk.found(optimum)
    last = len(desk.tiers) - 1
    for i, value in enumerate(desk.incumbent.values[:last]):
        desk.proved(i, value, desk.incumbent.values[:i], "cp-sat")
    assert not turn.hinders(desk)
    desk.proved(last, desk.incumbent.values[last], desk.incumbent.values[:last], "cp-sat")
    assert turn.hinders(desk)


@pytest.mark.parametrize("undivided", [False, True])
def test_a_better_plan_is_waited_for_before_the_whole_is_written_down(
    monkeypatch: pytest.MonkeyPatch, undivided: bool
) -> None:
    """The planner refines its first plan meanwhile, mostly in less time than that takes."""
    desk = told_of().desk
    _, optimum = best(desk.instance)
    waited: list[float] = []

    def refresh() -> bool:
        assert optimum is not None
        return len(waited) == 3 and desk.incumbent.adopt(optimum)

    monkeypatch.setattr(desk, "refresh", refresh)
    monkeypatch.setattr(schedule, "sleep", waited.append)
    monkeypatch.setattr(
        schedule, "FIRST", tuple(t for t in FIRST if t.technique is DISRUPTION_COLUMNS)
    )
    monkeypatch.setattr(schedule, "IN_TURN", ())
    search(desk, undivided=undivided)
    # Whoever searches a part has no news: it would wait as many times as there are parts.
    assert len(waited) == (0 if undivided else 3)


@pytest.mark.parametrize("turns", [FIRST, IN_TURN])
def test_a_few_nodes_come_before_columns_where_only_disruption_is_open(
    turns: tuple[Turn, ...],
) -> None:
    """Columns take long beyond a few dozen nodes; what they do not better nothing else did."""
    (columns,) = (i for i, turn in enumerate(turns) if turn.technique is DISRUPTION_COLUMNS)
    turn = turns[columns - 1]
    assert turn.technique is NEIGHBOURHOODS

    def hinders(nodes: int) -> tuple[str, str]:
        """What does on so many nodes, and what always does where something else is open first."""
        stays = job("stays", pods(cpu=1, on=["n0"]))
        hosts = [node(f"n{i}", cpu=1) for i in range(nodes)]
        desk = Told(question(hosts, [stays], objectives=["moves"])).desk
        return turn.hinders(desk), before_disruption(desk)

    assert len(set(hinders(SO_FEW_NODES + 1))) == 1
    assert "so few nodes" in hinders(SO_FEW_NODES)[0]
