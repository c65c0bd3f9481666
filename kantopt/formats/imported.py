"""What reading another system's files comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kantopt.schema.jobs import JobList
from kantopt.schema.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class Imported:
    """A cluster as read, and what was left out or taken for granted, one line per kind."""

    snapshot: ClusterSnapshot
    pending: JobList
    notes: tuple[str, ...]
    known_as: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Jobs, by the names of those who own their pods; all are NAMESPACE/NAME."""
    held: frozenset[str] = frozenset()
    """Pods and jobs that something holds back, such as scheduling gates, left out for it."""
