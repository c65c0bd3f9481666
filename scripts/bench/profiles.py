"""Profiles: how many instances are proved by when, and how many come how close to the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kantopt.report.blocks import Block, Table
from scripts.bench.records import Record, RecordKey
from scripts.bench.row import Row

TIMES_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
PODS = (0, 1, 2, 3, 5, 10)
Best = Mapping[RecordKey, tuple[int, ...]]
Reached = Callable[[Row], tuple[bool, ...]]


@dataclass(frozen=True, slots=True)
class Profile:
    """Share of the instances for which a setting reaches each of some marks."""

    setting: str
    instances: int
    shares: tuple[float, ...]


def best_values(rows: Sequence[Row], records: Sequence[Record]) -> Best:
    """Best tier values known for each instance and model, by rows or records."""
    best: dict[RecordKey, tuple[int, ...]] = {record.key: record.values for record in records}
    for row in rows:
        if row.verified == "yes":
            key = _key(row)
            known = best.get(key)
            same = known is not None and len(known) == len(row.values)
            best[key] = min(known, row.values) if known is not None and same else row.values
    return best


def proof_profiles(rows: Sequence[Row], marks: Sequence[float] = TIMES_SECONDS) -> list[Profile]:
    """Share of instances proved in every tier within some seconds; no call is proved at once."""
    return _profiles(
        rows,
        lambda row: tuple(
            not row.called or (row.proof_seconds is not None and row.proof_seconds <= mark)
            for mark in marks
        ),
    )


def placement_profiles(
    rows: Sequence[Row], best: Best, marks: Sequence[int] = PODS
) -> list[Profile]:
    """Share of instances whose placement comes within some pods of the best known.

    All placement tiers but the lowest must equal the best; the lowest may miss it.
    """
    return _profiles(rows, lambda row: tuple(_within(row, best, mark) for mark in marks))


def profile_tables(rows: Sequence[Row], records: Sequence[Record]) -> list[Block]:
    """Lay out both profiles."""
    best = best_values(rows, records)
    proof = "Performance profile: share of all instances with every tier proved within t seconds"
    close = (
        "Performance profile: share of all instances placed within so many pods of the best known "
        "in the lowest placement tier, those above being equal to it"
    )
    return [
        _table(proof, [f"{mark:g}s" for mark in TIMES_SECONDS], proof_profiles(rows)),
        _table(close, list(map(str, PODS)), placement_profiles(rows, best)),
    ]


def setting_name(row: Row) -> str:
    """Name of how a row was asked."""
    return f"{row.engine} {row.model} {row.limit_seconds:g}s"


def _table(title: str, marks: list[str], profiles: Sequence[Profile]) -> Table:
    lines = tuple(
        (each.setting, str(each.instances), *(f"{100 * part:.1f} %" for part in each.shares))
        for each in profiles
    )
    columns = ("SETTING", "INSTANCES", *marks)
    return Table(title, columns, lines, frozenset(range(1, len(columns))))


def _profiles(rows: Sequence[Row], reached: Reached) -> list[Profile]:
    groups: dict[str, list[tuple[bool, ...]]] = {}
    for row in rows:
        groups.setdefault(setting_name(row), []).append(reached(row))
    return [
        Profile(
            name, len(marks), tuple(sum(each) / len(marks) for each in zip(*marks, strict=True))
        )
        for name, marks in groups.items()
    ]


def _within(row: Row, best: Best, pods: int) -> bool:
    if not row.called:
        return True
    known = best.get(_key(row))
    if known is None or row.verified != "yes":
        return False
    gaps = [
        value - least
        for tier, value, least in zip(row.tiers, row.values, known, strict=True)
        if tier.startswith("unplaced")
    ]
    return not any(gap > 0 for gap in gaps[:-1]) and (not gaps or gaps[-1] <= pods)


def _key(row: Row) -> RecordKey:
    return row.suite, row.instance, row.seed, row.model
