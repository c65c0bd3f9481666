"""Counting says what a search to the end says, and its conflicts stand."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.cp.reach import reach
from kantopt.problem.derived.condensed import condensed
from kantopt.problem.derived.focus import focused, limited, pending_podsets
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.explain.conflict import conflict_of
from kantopt.search.explain.counting import Counting, countable
from kantopt.search.explain.decide import decide
from kantopt.verify.rules import check
from tests.explain.fuzz import question_of_seed
from tests.verify import world

FOREVER = Deadline(None)


def questions(seed: int) -> list[tuple[Instance, int]]:
    """Questions of a seed that counting may be asked about."""
    question = question_of_seed(seed)
    assert question.model is not None
    instance = question.instance(question.model)
    return [
        (focused(instance, job.index), job.index)
        for job in instance.jobs
        if pending_podsets(instance, job.index)
        and countable(focused(instance, job.index), job.index)
    ]


def test_many_random_jobs_can_be_counted() -> None:
    assert sum(len(questions(seed)) for seed in range(12)) >= 12


@pytest.mark.parametrize("seed", range(10))
def test_counting_agrees_with_a_search_to_the_end(seed: int) -> None:
    for question, j in questions(seed):
        counting = Counting(question, j)
        still = limited(question, evictions=0, moves=0)
        rules = [rule for rule in Rule if question.on(rule)]
        for left_out in (None, Rule.CAPACITY, Rule.ELIGIBILITY, Rule.GANG, Rule.TOPOLOGY):
            some = [rule for rule in rules if rule is not left_out]
            if left_out is Rule.GANG:
                some = [rule for rule in some if rule is not Rule.REQUIRED]
            possible = reach(still, j, some, FOREVER).placement is not None
            assert counting.fits(some) is possible
            placement = counting.placed(some)
            assert (placement is not None) is possible
            assert placement is None or not check(still, placement, some)


@pytest.mark.parametrize("seed", range(12))
def test_what_counting_rules_out_no_plan_does(seed: int) -> None:
    for question, j in questions(seed):
        counting, gone = Counting(question, j), freedom_of(question).may_leave_for(j)
        rules = [rule for rule in Rule if question.on(rule)]
        if not counting.fits(rules, gone) or counting.too_much(rules):
            assert reach(question, j, rules, FOREVER).impossible
        else:
            own = [r for r in rules if r not in (Rule.PRIORITY, Rule.LIMITS)]
            small = condensed(question, j, gone).instance
            assert counting.fits(rules, gone) == (not reach(small, 0, own, FOREVER).impossible)


@pytest.mark.parametrize("seed", range(12))
def test_conflicts_found_by_counting_prove_themselves(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kantopt.search.explain.puzzle.is_small", lambda *_, **__: False)
    for question, j in questions(seed):
        for asked_about in (limited(question, evictions=0, moves=0), question):
            if not reach(asked_about, j, [r for r in Rule if question.on(r)], FOREVER).impossible:
                continue
            found = conflict_of(asked_about, j, FOREVER, empty=False, node_class=lambda n: n)
            if found is None:
                continue
            assert reach(asked_about, j, found.rules, FOREVER).impossible
            for rule in found.rules if found.minimal_rules else ():
                rest = [other for other in found.rules if other is not rule]
                assert reach(asked_about, j, rest, FOREVER).placement is not None


@pytest.mark.parametrize("rules", [{}, {"pinned": "off"}], ids=["on", "off"])
def test_pins_hold_nobody_where_the_model_switches_them_off(rules: dict[str, str]) -> None:
    stays = world.job(
        "stays", world.pods(cpu=4, on=["a"], preemptible=False, movable=False), priority=1
    )
    asked = world.question(
        [world.node("a")], [stays, world.job("urgent", world.pods(cpu=4), priority=2)], rules=rules
    )
    j = asked.job_index["default/urgent"]
    decision = decide(focused(asked, j), j, FOREVER)
    assert decision.impossible is not bool(rules)
    assert (decision.placement is not None) is bool(rules)


@pytest.mark.parametrize("guest", [False, True])
def test_what_is_free_where_nobody_may_go_makes_no_room_by_moves(
    guest: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless one who may go there makes room; of pods to evict where none may be there is none."""
    shut = world.node("shut", cpu=8, unschedulable=True)
    lets = [{"key": "node.kubernetes.io/unschedulable"}] if guest else []
    there = world.job("there", world.pods(cpu=4, on=["a"], tolerations=lets), priority=1)
    asked = world.question(
        [world.node("a"), shut], [there, world.job("urgent", world.pods(cpu=4), priority=2)]
    )
    j = asked.job_index["default/urgent"]
    question = limited(focused(asked, j), evictions=0, moves=None)
    rules = [rule for rule in Rule if question.on(rule)]
    assert Counting(question, j).too_much(rules) is not guest
    monkeypatch.setattr("kantopt.search.explain.decide.is_small", lambda *_, **__: False)
    assert decide(question, j, FOREVER).impossible is not guest
