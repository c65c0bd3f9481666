"""Multipliers of rows as a certificate states them, which anybody may have written."""

from __future__ import annotations

from collections.abc import Collection, Mapping


def check_multipliers(values: Mapping[str, int], names: Collection[str]) -> None:
    """Refuse multipliers of rows that there are not, or below zero.

    Raises
    ------
    ValueError
        If a name is no row, or a number is below 0.
    """
    for name, value in values.items():
        if name not in names:
            raise ValueError(f"{name} is no row of this bound")
        if value < 0:
            raise ValueError(f"{name} counts {value} times: rows count 0 times or more")
