"""A sample of the campaign of ``scripts/one_truth.py``, and claims that are seen to be false."""

from __future__ import annotations

import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.schema.plan import Tier
from tests.one_truth import ask
from tests.one_truth.claims import Bounds, Found, NoPlan, contradictions
from tests.one_truth.trial import question_of, trial


@pytest.mark.parametrize("seed", [2, 4, 11, 5])
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


def _rows(said: ask.Said) -> tuple[Tier, ...]:
    assert said.plan is not None
    return said.plan.objectives
