"""What of a document comes back different once it is written in other words and read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kantopt.formats.notes import Notes


def note_differences(
    mine: Mapping[str, Any], its: Mapping[str, Any], where: str, notes: Notes, witness: str
) -> None:
    """Count the fields that differ, each by its path without numbers.

    Parameters
    ----------
    mine, its
        What was written, and what was read again.
    where
        Path of both.
    notes
        Takes a line for each field.
    witness
        Name of whose fields they are.
    """
    for key in sorted({*mine, *its}):
        a, b, path = mine.get(key), its.get(key), f"{where}.{key}"
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict) and key not in ("labels", "requests"):
            note_differences(a, b, path, notes, witness)
        elif len(rows := _rows(a)) == len(others := _rows(b)) > 0:
            for first, second in zip(rows, others, strict=True):
                if first != second:
                    note_differences(first, second, path, notes, witness)
        else:
            notes.add(f"{path}: not told, or not all of it", witness)


def without(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return a mapping without some of its keys."""
    return {key: value for key, value in data.items() if key not in keys}


def _rows(value: Any) -> list[dict[str, Any]]:
    """Return a list of mappings; of anything else nothing."""
    rows = value if isinstance(value, list) else []
    return rows if all(isinstance(item, dict) for item in rows) else []
