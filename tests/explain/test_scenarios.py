"""The whole text of twelve explanations, word by word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.explain.scenarios import GOLDEN, SCENARIOS, Scenario, path_of


@pytest.mark.parametrize("make", SCENARIOS, ids=lambda make: make.__name__)
def test_the_text_is_as_it_was_read(make: Callable[[], Scenario]) -> None:
    expected = path_of(make).read_text(encoding="utf-8")
    assert make().text() == expected, "python -m tests.explain.scenarios writes it anew"


def test_there_is_no_other_text() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {path_of(make).name for make in SCENARIOS}
