"""An instance of a benchmark and the documents that state it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.dump import dump_data
from kantopt.schema.jobs import Job, JobList
from kantopt.schema.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class Documents:
    """A cluster with what runs on it, and jobs of which nothing runs yet."""

    snapshot: ClusterSnapshot
    pending: tuple[Job, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """What rows are to tell of it beside the parameters of its case."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All jobs, running ones first."""
        return (*self.snapshot.jobs, *self.pending)

    def pending_pods(self) -> int:
        """Pods that run nowhere yet."""
        return sum(wanted - running for wanted, running in self.pods_by_priority().values())

    def pods_by_priority(self) -> dict[int, tuple[int, int]]:
        """Pods wanted and running at each priority, the highest first."""
        found: dict[int, list[int]] = {}
        for job in self.jobs:
            sums = found.setdefault(job.priority or 0, [0, 0])
            for podset in job.pod_sets:
                sums[0] += podset.count
                sums[1] += sum(place.count for place in podset.assignments)
        return {p: (found[p][0], found[p][1]) for p in sorted(found, reverse=True)}

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write the documents as JSON files into a folder and return their paths."""
        listed = JobList(
            api_version=API_VERSION,
            kind="JobList",
            metadata=Metadata(name=self.snapshot.metadata.name),
            jobs=self.pending,
        )
        paths = []
        for name, document in (("snapshot.json", self.snapshot), ("jobs.json", listed)):
            path = folder / name
            path.write_text(json.dumps(dump_data(document)), encoding="utf-8")
            paths.append(path)
        return tuple(paths)


@dataclass(frozen=True, slots=True)
class Case:
    """One instance: its name, the seed that varies it, what it is made of, and how to make it."""

    suite: str
    instance: str
    seed: int
    parameters: Mapping[str, str]
    """What the tables are grouped by, such as ``nodes`` and ``usage``."""
    make: Callable[[], Documents] = field(repr=False)
    """Makes the documents, which may be large: not kept here."""
    for_pending: bool = True
    """Whether there is nothing to do if nothing is pending."""
    without: tuple[str, ...] = ()
    """Techniques of the search that are left out."""
    one_model: bool = False
    """Whether the models of its suite all ask the same of it: then only the first one is asked."""


def by_kind(
    suite: str,
    kinds: Sequence[str],
    drawn: Callable[[str, int, int], Documents],
    nodes: Sequence[int],
    seeds: Sequence[int],
) -> list[Case]:
    """List clusters of each kind and size, drawn from a kind, a number of nodes and a seed."""
    return [
        Case(
            suite,
            f"{kind}-n{size:04d}",
            seed,
            {"kind": kind},
            partial(drawn, kind, size, seed),
        )
        for kind in kinds
        for size in nodes
        for seed in seeds
    ]
