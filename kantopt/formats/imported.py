"""What reading another system's files comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kantopt.schema.jobs import JobList
from kantopt.schema.snapshot import ClusterSnapshot


class Aside(NamedTuple):
    """Pods of one job that wait and were not asked for."""

    priority: int
    pods: int


@dataclass(frozen=True, slots=True)
class Imported:
    """A cluster as read, and what was left out or taken for granted, one line per kind."""

    snapshot: ClusterSnapshot
    pending: JobList
    notes: tuple[str, ...]
    known_as: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Jobs, by the names of those who own their pods; all are NAMESPACE/NAME."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why pods and jobs are left out that have ended or may not start yet, by NAMESPACE/NAME."""
    aside: tuple[Aside, ...] = ()
    """What was left out as nobody asked for it."""
    held_back: Mapping[str, int] = field(default_factory=dict)
    """Pods left out that may not start yet, by NAMESPACE/NAME of their job."""
