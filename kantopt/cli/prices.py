"""``kantopt plan --for JOB --clear LEVEL``: what room for a job costs in each domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kantopt.cli.output import complain

if TYPE_CHECKING:
    from kantopt.cli.options import Form
    from kantopt.cli.shown import Shown
    from kantopt.schema.prices import PriceList


def write_prices(prices: PriceList, shown: Shown) -> None:
    """Write a price list as it was asked for."""

    def laid_out(form: Form, to_file: bool) -> str:
        from kantopt.report.prices import price_blocks, price_lines

        if form == "name":
            return price_lines(prices)
        from kantopt.cli.screen import on_screen

        return on_screen(price_blocks(prices, wide=form == "wide"), shown.color, to_file=to_file)

    shown.write(prices, laid_out)
    if not (shown.quiet or shown.in_table):
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
