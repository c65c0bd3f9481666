"""``kantopt plan --for JOB --clear LEVEL``: what room for a job costs in each domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kantopt.cli.output import complain, dumped, emit, format_of

if TYPE_CHECKING:
    from kantopt.cli.plan import Shown
    from kantopt.schema.prices import PriceList


def write_prices(prices: PriceList, shown: Shown) -> None:
    """Write a price list as it was asked for; to a file without a form as a document."""
    form = shown.form or format_of(None, shown.path, "table")
    if form in ("table", "wide"):
        from kantopt.cli.screen import shown as laid_out
        from kantopt.report.prices import price_blocks

        blocks = price_blocks(prices, wide=form == "wide")
        text = laid_out(blocks, shown.color, to_file=shown.path is not None)
    elif form == "name":
        from kantopt.report.prices import price_lines

        text = price_lines(prices)
    else:
        text = dumped(prices, form)
    emit(text, shown.path)
    if not shown.quiet and (form not in ("table", "wide") or shown.path is not None):
        complain("warning", prices.warnings, shown.log_form)


def exit_code_of(prices: PriceList, *, detailed: bool) -> int:
    """Exit code of a price list: 4 if no domain can make room; in detail 3 and 5 as for plans."""
    statuses = {price.status for price in prices.prices}
    if statuses <= {"IMPOSSIBLE"}:
        return 4
    if not detailed:
        return 0
    if not statuses & {"OPTIMAL", "FEASIBLE"}:
        return 3
    return 5 if statuses & {"FEASIBLE", "OPEN"} else 2
