"""The best values and bounds ever seen for each instance, and what contradicts them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kantopt.errors import MissingInputError, said_of
from kantopt.schema.writing import write_atomic
from scripts.bench.row import Bound, Bounds, Row, read_bounds, write_numbers
from scripts.bench.table import read_cells

RecordKey = tuple[str, str, int, str]
_COLUMNS = ("suite", "instance", "seed", "model", "tiers", "values", "bounds", "found_by")


@dataclass(frozen=True, slots=True)
class Record:
    """Best tier values known for an instance under a model, and the best bounds beside them.

    A bound marked as given holds for plans that are no worse than ``values`` in the tiers above.
    """

    suite: str
    instance: str
    seed: int
    model: str
    tiers: tuple[str, ...]
    values: tuple[int, ...]
    bounds: Bounds
    found_by: str

    @property
    def key(self) -> RecordKey:
        """What it is a record of."""
        return self.suite, self.instance, self.seed, self.model


Claims = Row | Record
"""Tier values that somebody has reached, and bounds that go with them."""


def contradictions(rows: Iterable[Row], records: Iterable[Record]) -> Iterator[str]:
    """Find rows that cannot be true if the records are, or if earlier rows are.

    A value below a proved bound, or a bound above a value that was reached.
    """
    known: dict[RecordKey, list[Claims]] = {}
    for record in records:
        known.setdefault(record.key, []).append(record)
    for row in rows:
        if row.verified != "yes":
            continue
        key = (row.suite, row.instance, row.seed, row.model)
        for other in (row, *known.setdefault(key, [])):
            name = f"{row.suite} {row.instance} {row.seed} {row.model}"
            if other.tiers != row.tiers:
                yield f"{name}: {len(row.tiers)} tiers of {len(other.tiers)} of the record"
                continue
            yield from (f"{name}: {text}" for text in _undercut(row.tiers, row, other))
            if other is not row:
                yield from (f"{name}: {text}" for text in _undercut(row.tiers, other, row))
        known[key].append(row)


def _undercut(tiers: Sequence[str], reached: Claims, claimed: Claims) -> Iterator[str]:
    """Values that were reached and lie below a bound that was claimed."""
    for i, (tier, bound) in enumerate(zip(tiers, claimed.bounds, strict=True)):
        if bound is None or reached.values[i] >= bound.value:
            continue
        if not bound.given or _no_worse(reached.values[:i], claimed.values[:i]):
            yield f"{tier} is {reached.values[i]} of at least {bound.value}"


def _no_worse(values: Sequence[int], others: Sequence[int]) -> bool:
    return all(value <= other for value, other in zip(values, others, strict=True))


def merged(records: Iterable[Record], rows: Iterable[Row]) -> list[Record]:
    """Return the records with what the rows improve, in order of their keys."""
    best = {record.key: record for record in records}
    for row in rows:
        if row.verified != "yes":
            continue
        new = Record(
            row.suite,
            row.instance,
            row.seed,
            row.model,
            row.tiers,
            row.values,
            row.bounds,
            f"{row.kantopt} {row.engine} {row.limit_seconds:g}s",
        )
        old = best.get(new.key)
        best[new.key] = new if old is None or old.tiers != new.tiers else _better(old, new)
    return [best[key] for key in sorted(best)]


def _better(old: Record, new: Record) -> Record:
    winner, other = (new, old) if new.values < old.values else (old, new)
    bounds = tuple(
        _stronger(mine, theirs if _still_holds(theirs, winner, other, i) else None)
        for i, (mine, theirs) in enumerate(zip(winner.bounds, other.bounds, strict=True))
    )
    return Record(*winner.key, winner.tiers, winner.values, bounds, winner.found_by)


def _still_holds(bound: Bound | None, winner: Record, other: Record, i: int) -> bool:
    """Whether a bound given the tiers above one plan is also one given those of a better plan."""
    return bound is not None and (not bound.given or _no_worse(winner.values[:i], other.values[:i]))


def _stronger(one: Bound | None, other: Bound | None) -> Bound | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda bound: (bound.value, not bound.given))


def read_records(path: Path) -> list[Record]:
    """Read the records; none if there is no such file yet.

    Raises
    ------
    MissingInputError
        If the file cannot be read.
    BadDataError
        If it is another kind of file.
    """
    if not path.exists():
        return []
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MissingInputError(f"{path}: {said_of(error)}") from None
    return list(
        read_cells(path, csv.DictReader(io.StringIO(text, newline="")), _record, "a record")
    )


def _record(cells: Mapping[str, str]) -> Record:
    return Record(
        cells["suite"],
        cells["instance"],
        int(cells["seed"]),
        cells["model"],
        tuple(cells["tiers"].split(";")),
        tuple(map(int, cells["values"].split())),
        read_bounds(cells["bounds"]),
        cells["found_by"],
    )


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write the records, whole or not at all.

    Raises
    ------
    CannotCreateError, WriteError
        If the file cannot be written.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for record in records:
        writer.writerow(
            (
                *record.key,
                ";".join(record.tiers),
                write_numbers(record.values),
                write_numbers(record.bounds),
                record.found_by,
            )
        )
    write_atomic(str(path), text.getvalue().encode())
