"""Rows of ``scripts/bench certificates``: one for each plan or placement that was certified."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from scripts.bench.table import read_cells

OURS = "kantopt"


@dataclass(frozen=True, slots=True)
class Certified:
    """One row: a plan or placement that was certified, and the certificate checked."""

    suite: str
    instance: str
    group: str
    """What the tables sum over: usage or size."""
    seed: int
    model: str
    judged: str
    """Who made what was judged: kantopt, or a strategy alone."""
    verdict: str
    tiers: int
    arithmetic: int
    relaxation_search: int
    column_generation: int
    cp_sat: int
    placement_tiers: int
    placement_arithmetic: int
    """Tiers of ``unplaced``, and those of them that arithmetic closes."""
    differs: int
    """Number of the tier in which the counter-example first differs, from 1; 0 without one."""
    limit_seconds: float
    certify_seconds: float
    verify_seconds: float
    fault: str
    parallel: int
    """Runs at the same time."""
    version: str
    """Of kantopt and its sources."""

    @property
    def key(self) -> tuple[str, str, int, str, str, float, str]:
        """What tells a row from others: the question, what was judged, the limit, the version."""
        return (
            *(self.suite, self.instance, self.seed, self.model, self.judged),
            *(self.limit_seconds, self.version),
        )

    @property
    def searched(self) -> int:
        """Tiers that only search has closed."""
        return self.relaxation_search + self.column_generation + self.cp_sat

    @property
    def open(self) -> int:
        """Tiers that nothing has closed."""
        return self.tiers - self.arithmetic - self.searched


COLUMNS = tuple(each.name for each in fields(Certified))


_READ = {"int": int, "float": float, "str": str}


def read_certified(path: Path) -> list[Certified]:
    """Read the rows of a file that :func:`scripts.bench.table.begin_lines` has begun.

    Raises
    ------
    BadDataError
        If a line is no row.
    """
    with path.open(encoding="utf-8", newline="") as file:
        return list(read_cells(path, csv.DictReader(file), _row))


def _row(cells: Mapping[str, str]) -> Certified:
    read: dict[str, Any] = {
        each.name: _READ[str(each.type)](cells[each.name]) for each in fields(Certified)
    }
    return Certified(**read)
