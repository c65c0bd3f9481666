"""Reads a compressed ``topologyAssignment`` as Kueue does: slice by slice."""

from __future__ import annotations

from typing import Any


def expanded(assignment: dict[str, Any]) -> dict[str, int]:
    """Read a compressed assignment of one level, slice by slice."""
    found: dict[str, int] = {}
    for part in assignment["slices"]:
        count = part["domainCount"]
        (level,) = part["valuesPerLevel"]
        if "universal" in level:
            values = [level["universal"]] * count
        else:
            told = level["individual"]
            ends = told.get("prefix", ""), told.get("suffix", "")
            values = [f"{ends[0]}{root}{ends[1]}" for root in told["roots"]]
        pods = part["podCounts"]
        counts = pods["individual"] if "individual" in pods else [pods["universal"]] * count
        assert len(values) == len(counts) == count
        for value, number in zip(values, counts, strict=True):
            assert value not in found
            found[value] = number
    return found
