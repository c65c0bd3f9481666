"""A sample of the campaign of ``scripts/one_truth.py``, and claims that are seen to be false."""

from __future__ import annotations

import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.schema.answers.plan import Tier
from tests.one_truth import ask
from tests.one_truth.claims import Bounds, Found, NoPlan, contradictions
from tests.one_truth.trial import question_of, trial
from tests.questions import question


@pytest.mark.parametrize("seed", [2, 4, 17])
def test_no_two_answers_about_a_question_contradict_each_other(seed: int) -> None:
    outcome = trial(seed)
    assert outcome.faults == []
    assert outcome.counts["claims"] > 10


def test_a_plan_refutes_who_says_that_there_is_none_or_none_as_good() -> None:
    said = ask.plan(question_of(4), "fast")
    assert said.plan is not None
    found = Found(said.by, said.plan)
    too_high = tuple(row.model_copy(update={"bound": row.value + 1}) for row in _rows(said))
    lies = (NoPlan("liar", said.asked), Bounds("liar", said.asked, too_high))
    assert contradictions(said.claims, found) == []
    assert len(contradictions(lies, found)) == 2
    assert len(too_high) == len(tiers_of(said.asked))


def test_of_a_job_that_may_evict_nobody_all_say_that_it_waits() -> None:
    """It once was placed by ``--require`` alone, in room that was evicted for somebody else."""
    gpu = "nvidia.com/gpu"
    held = {"count": 2, "requests": {gpu: 8}, "assignments": [{"node": "a"}, {"node": "b"}]}
    small = {"name": "small", "priority": 100, "podSets": [{"count": 1, "requests": {gpu: 2}}]}
    never = {"name": "never", "priority": 50, "preemptionPolicy": "Never"}
    asked = question(
        [{"name": name, "allocatable": {gpu: n}} for name, n in (("a", 8), ("b", 8), ("c", 2))],
        [{"name": "victim", "priority": 10, "podSets": [held]}],
        [small, {**never, "podSets": [{"count": 1, "requests": {gpu: 8}}]}],
    )
    name = "default/never"
    assert ask.explained(asked, name).verdict.status == "WAITS"
    assert ask.plan_for(asked, name, "exact").impossible
    assert ask.plan_requiring(asked, name, "exact").impossible
    plan = ask.plan(asked, "exact").plan
    assert plan is not None
    assert (plan.summary.placed_pods, plan.summary.evicted_pods) == (1, 0)


def _rows(said: ask.Said) -> tuple[Tier, ...]:
    assert said.plan is not None
    return said.plan.objectives


def test_left_over_room_is_that_of_the_plan_which_the_engine_makes() -> None:
    """One strategy alone evicts more than it must, and more would be left over: nobody gets it."""
    assert trial(339).faults == []
