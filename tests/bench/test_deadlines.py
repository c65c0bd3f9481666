"""Limits kept and used: what counts as late, what as idle."""

from __future__ import annotations

from kantopt.report.blocks import Paragraph, Table
from scripts.bench.deadlines import deadline_blocks, is_idle, is_late
from scripts.bench.row import Row
from tests.bench.rows import no_call, row


def late(limit: float, overrun: float, read: float | None = 0.1) -> Row:
    return row(
        limit_seconds=limit,
        wall_seconds=limit + overrun,
        overrun_seconds=overrun,
        used_share=1 + overrun / limit,
        read_seconds=read,
    )


def test_runs_are_late_beyond_five_percent_and_a_third_of_a_second() -> None:
    assert [is_late(late(10.0, over)) for over in (0.0, 0.4, 0.6)] == [False, False, True]
    assert [is_late(late(1.0, over)) for over in (0.2, 0.4)] == [False, True]


def test_a_run_that_reads_for_a_third_of_its_limit_is_not_judged() -> None:
    assert is_late(late(3.0, 2.0, read=0.99))
    assert not is_late(late(3.0, 2.0, read=1.0))
    assert not is_late(late(3.0, 2.0, read=None))


def test_runs_that_end_early_with_a_tier_open_are_idle() -> None:
    assert is_idle(row(used_share=0.89))
    assert not is_idle(row(used_share=0.9))
    assert not is_idle(row(used_share=None))  # all is proved
    assert not is_idle(row(used_share=0.1, engine="fast"))


def test_the_summary_says_whether_all_deadlines_were_kept() -> None:
    kept, _ = deadline_blocks([late(10.0, 0.1), no_call()])
    assert isinstance(kept, Paragraph)
    assert (kept.style, kept.text.split(" runs ")[0]) == ("good", "Deadlines: of 1")
    broken, table = deadline_blocks([late(10.0, 0.6), late(10.0, 2.0, read=5.0), row()])
    assert isinstance(broken, Paragraph)
    assert broken.style == "warn"
    assert "runs 1 over the limit" in broken.text
    assert "; 1 ended before" in broken.text
    assert isinstance(table, Table)
    long, short = ((limit, "auto", "placement-first") for limit in ("10s", "1s"))
    assert table.rows == (
        (*long, "50.0 % (1/2)", "5.00", "0.60", "1", "2", "106 %", "0"),
        (*short, "100.0 % (1/1)", "0.20", "0.00", "0", "1", "75 %", "1"),
    )
