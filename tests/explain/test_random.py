"""Explanations of random questions in which every rule bites."""

from __future__ import annotations

import pytest

from tests.explain.fuzz import question_of_seed, wrong
from tests.explain.helpers import explained


@pytest.mark.parametrize("seed", range(5))
def test_every_job_is_explained_soundly(seed: int) -> None:
    question = question_of_seed(seed)
    assert question.model is not None
    for job in question.jobs:
        told = explained(question, f"{job.namespace}/{job.name}")
        assert wrong(question, question.model, told) == []
        assert told.verdict.status != "OPEN"
