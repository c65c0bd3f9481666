"""Planted conflicts are found, minimal, and every remedy places the job."""

from __future__ import annotations

import pytest

from tests.explain.helpers import explained
from tests.explain.planted import PLANTS, planted, wrong

SEEDS = range(len(PLANTS))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_planted_conflict_is_found_and_its_remedies_work(seed: int) -> None:
    plant = planted(seed)
    told = explained(plant.question)
    assert wrong(plant, told) == []
    assert told.remedies


def test_there_are_remedies_of_many_kinds() -> None:
    kinds = set()
    for seed in (4, 5, 7):
        kinds |= {remedy.kind for remedy in explained(planted(seed).question).remedies}
    assert kinds >= {"relax-topology", "add-nodes", "fewer-pods", "raise-quota", "end"}
