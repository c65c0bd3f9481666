"""Where Kueue has placed the pods of a Workload by topology: ``topologyAssignment``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, repeat

from kantopt.formats.view import View

GATE = "kueue.x-k8s.io/topology"
"""Holds a pod of an admitted Workload until Kueue has written into it where it goes."""

Labels = dict[str, str]


def domains_of(workload: View, role: str) -> tuple[Labels, ...]:
    """Return the domains that a pod set was given, by their node labels; of none nothing."""
    for given in workload.at("status", "admission").list("podSetAssignments"):
        if given.text("name", "main") == role:
            return tuple(_domains(given.at("topologyAssignment")))
    return ()


def _domains(assignment: View) -> Iterator[Labels]:
    levels = assignment.strings("levels")
    for domain in assignment.list("domains"):  # as v1beta1 lists them
        yield dict(zip(levels, domain.strings("values"), strict=False))
    for part in assignment.list("slices"):
        columns = [_values(values) for values in part.list("valuesPerLevel")]
        same = all("universal" in values for values in part.list("valuesPerLevel"))
        # What all its domains share is one domain.
        for row in islice(zip(*columns, strict=False), 1 if same else None):
            yield dict(zip(levels, row, strict=False))


def _values(values: View) -> Iterable[str]:
    """Values of one level: the same for all domains of a slice, or one for each."""
    if "universal" in values:
        return repeat(values.text("universal"))
    own = values.at("individual")
    return [f"{own.text('prefix')}{root}{own.text('suffix')}" for root in own.strings("roots")]
