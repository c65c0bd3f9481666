"""Where Kueue has placed the pods of a Workload by topology: ``topologyAssignment``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice, repeat

from kantopt.formats.view import View
from kantopt.schema.snapshot import HOSTNAME

GATE = "kueue.x-k8s.io/topology"
"""Holds a pod of an admitted Workload until Kueue has written into it where it goes."""

Labels = dict[str, str]


def is_assigned(workload: View, role: str) -> bool:
    """Whether a pod set was given domains."""
    return any("topologyAssignment" in given for given in _given(workload, role))


def domains_of(workload: View, role: str) -> tuple[Labels, ...]:
    """Return the domains that a pod set was given, by their node labels; of none nothing."""
    return tuple(labels for labels, _ in _domains(workload, role))


def hosts_of(workload: View, role: str) -> Counter[str]:
    """Count the pods of a pod set that go to each node, by host name, where it is given nodes."""
    found = Counter[str]()
    for labels, count in _domains(workload, role):
        if HOSTNAME in labels:
            found[labels[HOSTNAME]] += count
    return found


def _domains(workload: View, role: str) -> Iterator[tuple[Labels, int]]:
    """Yield domains and how many pods go there."""
    for given in _given(workload, role):
        yield from _listed(given.at("topologyAssignment"))


def _given(workload: View, role: str) -> Iterator[View]:
    for given in workload.at("status", "admission").list("podSetAssignments"):
        if given.text("name", "main") == role:
            yield given


def _listed(assignment: View) -> Iterator[tuple[Labels, int]]:
    levels = assignment.strings("levels")
    for domain in assignment.list("domains"):  # as v1beta1 lists them
        count = domain.integer("count", 0) or 0
        yield dict(zip(levels, domain.strings("values"), strict=False)), count
    for part in assignment.list("slices"):
        columns = [_values(values) for values in part.list("valuesPerLevel")]
        same = all("universal" in values for values in part.list("valuesPerLevel"))
        # What all its domains share is one domain.
        rows = islice(zip(*columns, strict=False), 1 if same else None)
        for row, count in zip(rows, _counts(part.at("podCounts")), strict=False):
            yield dict(zip(levels, row, strict=False)), count


def _counts(counts: View) -> Iterable[int]:
    """Pods of each domain of a slice; of those of which nobody says it none."""
    told = counts.raw.get("individual")
    own = [n if isinstance(n, int) else 0 for n in told] if isinstance(told, list) else []
    return chain(own, repeat(counts.integer("universal", 0) or 0))


def _values(values: View) -> Iterable[str]:
    """Values of one level: the same for all domains of a slice, or one for each."""
    if "universal" in values:
        return repeat(values.text("universal"))
    own = values.at("individual")
    return [f"{own.text('prefix')}{root}{own.text('suffix')}" for root in own.strings("roots")]
