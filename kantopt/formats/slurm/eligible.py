"""On which nodes a job may run: partitions, features, node lists, reservations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kantopt.formats.notes import Notes
from kantopt.formats.slurm.names import FEATURE, PARTITION, RESERVATION
from kantopt.formats.slurm.records import Record
from kantopt.schema.base import Expression
from kantopt.schema.jobs import NodeSelectorTerm, PreferredNodes

NAME = "metadata.name"


@dataclass(frozen=True, slots=True)
class Eligible:
    """Where pods may go; several alternatives are terms of which one must match."""

    partitions: tuple[str, ...]
    features: Alternatives = ((),)
    reservation: str = ""
    only: tuple[str, ...] = ()
    """Names of nodes; none: all."""
    never: tuple[str, ...] = ()

    def selector(self) -> dict[str, str]:
        """Return the labels that a node must have in any case."""
        keys = [f"{RESERVATION}{self.reservation}"] if self.reservation else []
        if len(self.partitions) == 1:
            keys += [f"{PARTITION}{name}" for name in self.partitions]
        if len(self.features) == 1:
            keys += [f"{FEATURE}{name}" for name in self.features[0]]
        return dict.fromkeys(sorted(keys), "true")

    def terms(self) -> tuple[NodeSelectorTerm, ...]:
        """Return the alternatives; none if the selector says all."""
        groups: Sequence[tuple[str, ...]] = ((),)
        if len(self.partitions) > 1:
            groups = [(f"{PARTITION}{name}",) for name in self.partitions]
        sets: Sequence[tuple[str, ...]] = ((),)
        if len(self.features) > 1:
            sets = [tuple(f"{FEATURE}{name}" for name in names) for names in self.features]
        fields = []
        if self.only:
            fields.append(Expression(key=NAME, operator="In", values=self.only))
        if self.never:
            fields.append(Expression(key=NAME, operator="NotIn", values=self.never))
        terms = tuple(
            NodeSelectorTerm(
                match_expressions=tuple(
                    Expression(key=key, operator="Exists") for key in (*group, *names)
                ),
                match_fields=tuple(fields),
            )
            for group in groups
            for names in sets
        )
        plain = NodeSelectorTerm()
        return () if all(term == plain for term in terms) else terms


def restricted(eligible: Eligible, only: Collection[str], never: Collection[str]) -> Eligible:
    """Return the same with names of nodes to be among or to avoid."""
    return Eligible(
        eligible.partitions,
        eligible.features,
        eligible.reservation,
        tuple(sorted(only)) or eligible.only,
        tuple(sorted({*eligible.never, *never})),
    )


MOST_ALTERNATIVES = 64
Alternatives = tuple[tuple[str, ...], ...]
"""Sets of features, sorted: a node needs all of one set."""

_TOKEN = re.compile(r"\s*([&,|()]|[^&,|()\[\]*\s]+)", re.ASCII)


def read_constraint(text: str) -> Alternatives | None:
    """Read a constraint over features, ``h100&(ib|roce)``, as alternatives of features.

    As in Slurm ``&`` (also ``,``) and ``|`` are taken from left to right, parentheses first.
    Brackets (all nodes alike) and counts (``rack1*2``) say something of a job's nodes together,
    which selectors of single nodes cannot.

    Returns
    -------
    Alternatives or None
        ``((),)`` for no expression; ``None`` for one that cannot be expressed.
    """
    if not text:
        return ((),)
    tokens = []
    place = 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        tokens.append(match[1])
        place = match.end()
    walk = iter(tokens)
    found = _expression(walk, nested=False)
    if found is None or next(walk, None) is not None or len(found) > MOST_ALTERNATIVES:
        return None
    return tuple(sorted(tuple(sorted(each)) for each in found))


def _expression(tokens: Iterator[str], *, nested: bool) -> set[frozenset[str]] | None:
    value = _operand(tokens)
    for token in tokens:
        if token == ")" and nested:
            return value
        if token not in ("&", ",", "|") or value is None:
            return None
        other = _operand(tokens)
        if other is None:
            return None
        value = value | other if token == "|" else {a | b for a in value for b in other}
        if len(value) > MOST_ALTERNATIVES:
            return None
    return None if nested else value


def _operand(tokens: Iterator[str]) -> set[frozenset[str]] | None:
    token = next(tokens, "")
    if token == "(":
        return _expression(tokens, nested=True)
    return None if not token or token in "&,|)" else {frozenset({token})}


def instead_of(features: Alternatives | None, record: Record) -> Alternatives | None:
    """Return what a job may have where ``--prefer`` allows more than its constraint.

    Slurm looks for nodes of what it prefers first, whatever its constraint says, and only then for
    nodes of the constraint. ``None`` if it allows no more.
    """
    instead = read_constraint(record.text("Prefer"))
    if features is None or instead in (None, ((),)):
        return None
    either = {frozenset(each) for each in (*features, *instead)}
    least = {each for each in either if not any(other < each for other in either)}
    if least <= {frozenset(each) for each in features}:
        return None
    return tuple(sorted(tuple(sorted(each)) for each in least))


def preferred(record: Record, notes: Notes) -> tuple[PreferredNodes, ...]:
    """Read ``--prefer`` as wishes: each alternative is worth the same.

    What cannot be expressed is noted.
    """
    alternatives = read_constraint(record.text("Prefer"))
    if alternatives is None:
        notes.add("preferred constraints that cannot be expressed are left out", record.name)
        return ()
    return tuple(
        PreferredNodes(
            weight=100,
            preference=NodeSelectorTerm(
                match_expressions=tuple(
                    Expression(key=f"{FEATURE}{name}", operator="Exists") for name in each
                )
            ),
        )
        for each in alternatives
        if each
    )
