"""A price list for people: what room for a job costs in each domain."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kantopt.report.blocks import Block, Paragraph, Style, Table, in_lines
from kantopt.report.brief import mistyped_blocks, warnings_blocks
from kantopt.report.explanation import action_rows
from kantopt.report.names import cluster_at
from kantopt.report.units import duration, thousandths
from kantopt.schema.answers.prices import Price, PriceList
from kantopt.schema.hints import plural

_PROOFS = {
    "OPTIMAL": "OPTIMAL: none is cheaper",
    "FEASIBLE": "a legal plan, perhaps not the cheapest",
    "OPEN": "neither a plan nor a proof was found",
    "IMPOSSIBLE": "provably no room, whatever is evicted or moved",
}


def price_blocks(
    prices: PriceList, *, wide: bool = False, notes: Collection[str] = ()
) -> list[Block]:
    """Lay out a price list, the cheapest domain first; ``wide`` adds the plan for each."""
    mistyped = mistyped_blocks(prices.warnings)
    return [*_headline(prices), *mistyped, _table(prices), *_rest(prices, wide, notes)]


def price_lines(prices: PriceList) -> str:
    """One line per domain: the domain, its status, pods evicted and pods moved."""
    lines = (
        f"{price.domain} {price.status} {_evicted(price)} {price.moved_pods}"
        for price in prices.prices
    )
    return in_lines(lines)


def _headline(prices: PriceList) -> Iterator[Block]:
    possible = [price for price in prices.prices if price.steps is not None]
    if not possible:
        closed = all(price.status == "IMPOSSIBLE" for price in prices.prices)
        text = f"No {prices.level} has room for {prices.job}, whatever is evicted or moved."
        if not closed:
            text = f"No {prices.level} was found that could make room for {prices.job}."
        yield Paragraph(text, "bad" if closed else "warn")
    else:
        first = possible[0]
        yield Paragraph(
            f"Room for {prices.job} is cheapest in {first.domain}: {_said(first)}.", "title"
        )
    where = cluster_at(prices.metadata.name, prices.snapshot.captured_at)
    yield Paragraph(f"{where}, model {prices.model or '(unnamed)'}.", "dim")


def _said(price: Price) -> str:
    parts = [f"evict {plural(_evicted(price), 'pod')}"] if price.victims else []
    parts += [f"move {plural(price.moved_pods, 'pod')}"] if price.moved_pods else []
    return " and ".join(parts) or "nobody has to go"


def _evicted(price: Price) -> int:
    return sum(each.pods for each in price.victims)


def _table(prices: PriceList) -> Table:
    timed = any(price.lost_gpu_seconds is not None for price in prices.prices)
    rows, styles = [], []
    for price in prices.prices:
        shown = price.steps is not None
        lost = duration(price.lost_gpu_seconds) if price.lost_gpu_seconds is not None else "-"
        cells = (
            _by_priority(price),
            str(price.cost),
            thousandths(price.gpu_milli),
            *((lost,) if timed else ()),
            str(price.moved_pods),
        )
        cells = cells if shown else ("-",) * len(cells)
        rows.append((price.domain, *cells, _proof(price)))
        styles.append(_STYLES[price.status])
    columns = (
        *(prices.level.upper(), "EVICTED", "COST", "GPUS"),
        *(("GPU TIME LOST",) if timed else ()),
        *("MOVED", "PROOF"),
    )
    return Table(
        f"ROOM FOR {prices.job}, the cheapest first",
        columns,
        tuple(rows),
        frozenset(range(2, len(columns) - 1)),
        tuple(styles),
    )


_STYLES: dict[str, Style] = {"OPTIMAL": "", "FEASIBLE": "warn", "OPEN": "warn", "IMPOSSIBLE": "dim"}


def _by_priority(price: Price) -> str:
    parts = (f"{plural(each.pods, 'pod')} of {each.priority}" for each in price.victims)
    return ", ".join(parts) or "nobody"


def _proof(price: Price) -> str:
    text = _PROOFS[price.status]
    if price.status == "FEASIBLE":
        first = next((tier for tier in price.objectives if tier.status != "OPTIMAL"), None)
        if first is not None and first.bound is not None:
            text = f"{first.name} open: at least {first.bound}, here {first.value}"
    return text


def _rest(prices: PriceList, wide: bool, notes: Collection[str]) -> Iterator[Block]:
    for price in prices.prices if wide else ():
        if price.steps is not None:
            rows = tuple(
                (str(wave), kind, job, str(pods), where)
                for wave, kind, job, pods, where in action_rows(price.steps)
            )
            columns = ("WAVE", "ACTION", "JOB/PODSET", "PODS", "NODES")
            yield Table(f"ACTIONS for {price.domain}", columns, rows, frozenset({0, 3}))
    yield from warnings_blocks(prices.warnings, notes, wide=wide)
