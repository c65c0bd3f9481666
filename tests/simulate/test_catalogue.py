"""Every metric has one name, and its formula stands in the docs as it is printed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kantopt.simulate.metrics.catalogue import GROUPS, KANT, Group

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "metrics-over-time.md"


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def test_names_are_given_once() -> None:
    assert max(Counter(name for group in GROUPS for name in group.metrics).values()) == 1
    assert max(Counter(group.name for group in GROUPS).values()) == 1


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_formulas_stand_in_the_docs_as_they_are_printed(group: Group) -> None:
    docs = in_one_line(DOCS.read_text(encoding="utf-8"))
    assert not [text for text in group.formulas if text != KANT and f"`{text}`" not in docs]


def test_metrics_after_kant_say_that_they_are_a_reconstruction() -> None:
    after = {group.name for group in GROUPS if KANT in group.formulas}
    assert after == {
        *("allocation", "fragmentation", "waiting", "closeness-nodes", "closeness-groups")
    }
    docs = in_one_line(DOCS.read_text(encoding="utf-8"))
    assert "a reconstruction, *Kant-style*" in docs
