"""A certificate for people."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.report.blocks import Screen, render
from kantopt.report.certificate import objectives_blocks
from kantopt.schema.answers.certificate import Certificate, CertifiedTier, CounterExample


def tier(name: str, value: int, **changes: Any) -> CertifiedTier:
    facts = {
        "name": name,
        "unit": "pods",
        "value": value,
        "bound": value,
        "gap": 0,
        "status": "OPTIMAL",
        "proved_by": "arithmetic",
        "given": (),
        "second_opinion": None,
        **changes,
    }
    return CertifiedTier.model_construct(**facts)


@pytest.mark.parametrize("wide", [False, True])
def test_objectives_that_are_plainly_zero_are_counted_not_listed(wide: bool) -> None:
    idle = [tier(f"idle-{i}", 0) for i in range(4)]
    tiers = (
        *idle,
        tier("searched", 0, proved_by="cp-sat"),
        tier("open", 1, bound=0, gap=1, status="FEASIBLE"),
        tier("paid-in", 0),
    )
    better = CounterExample.model_construct(tier="open", values=(0, 0, 0, 0, 0, 0, 1))
    made = Certificate.model_construct(tiers=tiers, counter_example=better)
    text = render(objectives_blocks(made, wide), Screen())
    assert all(f"\n{name} " in text for name in ("searched", "open", "paid-in"))
    assert ("\nidle-0 " in text) is wide
    said = "and 4 that are 0, which is optimal by arithmetic (-o wide lists them)\n"
    assert (said in text) is not wide
    assert "6 of 7 objectives proved: 5 by arithmetic, 1 by cp-sat" in text


def test_a_few_of_them_are_listed() -> None:
    made = Certificate.model_construct(
        tiers=tuple(tier(f"idle-{i}", 0) for i in range(3)), counter_example=None
    )
    text = render(objectives_blocks(made, wide=False), Screen())
    assert all(f"\nidle-{i} " in text for i in range(3))


def test_where_all_are_zero_no_empty_table_is_shown() -> None:
    made = Certificate.model_construct(
        tiers=tuple(tier(f"idle-{i}", 0) for i in range(5)), counter_example=None
    )
    text = render(objectives_blocks(made, wide=False), Screen())
    assert "  all 5 are 0, which is optimal by arithmetic (-o wide lists them)\n" in text
    assert "VALUE" not in text
