"""All records of an input, each node and job once, however often and in whatever form it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from kantopt.errors import Problem
from kantopt.formats.notes import Notes
from kantopt.formats.slurm.json_records import read_json
from kantopt.formats.slurm.records import Record, later, span_seconds
from kantopt.formats.slurm.text import read_text
from kantopt.formats.slurm.topology import PARTS, yaml_records
from kantopt.schema.raw import SLURM_RECORDS, SLURM_TEXT, SLURM_TOPOLOGIES, RawDocument

_JOINED = ("Partitions", "State")
"""Fields of a node of which each record may tell a part: ``sinfo`` lists it once per partition."""
_NAMED_BY = {
    "JobId": ("ArrayTaskId", "HetJobOffset"),
    **dict.fromkeys(PARTS, ("Topology",)),
}
"""What tells records of one name apart."""
_MOMENTS = ("SubmitTime", "LastSchedEval", "LastBusyTime", "SlurmdStartTime", "Moment")


class Records:
    """Records by kind, and the notes on what reading them leaves out or takes for granted."""

    def __init__(self, raws: Sequence[RawDocument], problems: list[Problem]) -> None:
        self.notes = Notes()
        self._by_kind: dict[str, dict[tuple[str, ...], Record]] = {}
        for raw in raws:
            for record in _read(raw, problems):
                self._add(record)

    def of(self, *kinds: str) -> list[Record]:
        """Return the records of some kinds, in the order of the input."""
        return [record for kind in kinds for record in self._by_kind.get(kind, {}).values()]

    def named(self, kind: str) -> dict[str, Record]:
        """Return the records of a kind by name."""
        return {record.name: record for record in self.of(kind)}

    @property
    def config(self) -> Record | None:
        """What ``scontrol show config`` tells, if it is there."""
        return next(iter(self.of("Config")), None)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of which there are records."""
        return tuple(self._by_kind)

    @cached_property
    def moment(self) -> str | None:
        """Return the newest time that records mention: they were printed then or moments later.

        A job that runs tells how long it has done so, which makes a time to the second.
        """
        found = []
        for record in self.of("Moment", "Config", "JobId", "NodeName"):
            found += [record.time(key) for key in _MOMENTS]
            start, span = record.text("StartTime"), record.text("RunTime")
            seconds = span_seconds(span) if span else None
            if "RUNNING" in record.flags("JobState") and start and seconds is not None:
                begun = record.time("StartTime")
                found.append(later(begun, seconds) if begun else None)
        return max(filter(None, found), default=None)

    def cluster(self) -> str:
        """Return the name of the cluster; empty if nothing tells it."""
        found = (record.text("ClusterName") for record in self.of("Config", "JobId"))
        return next(filter(None, found), "")

    def _add(self, record: Record) -> None:
        kind = record.kind
        parts = (kind, *_NAMED_BY.get(kind, ()))
        key = tuple(record.fields.get(part, "") for part in parts)
        found = self._by_kind.setdefault(kind, {})
        before = found.get(key)
        if before is None:
            found[key] = record
            return
        fields = {**record.fields, **{k: v for k, v in before.fields.items() if v}}
        if kind == "NodeName":
            for name in _JOINED:
                told = [r.fields[name] for r in (before, record) if r.fields.get(name)]
                fields[name] = ",".join(told)
        found[key] = replace(before, fields=fields, details=before.details or record.details)


def _read(raw: RawDocument, problems: list[Problem]) -> Iterator[Record]:
    if SLURM_TEXT in raw.data:
        yield from read_text(raw.data[SLURM_TEXT], raw.label, problems)
    elif SLURM_TOPOLOGIES in raw.data:
        yield from yaml_records(raw.data[SLURM_TOPOLOGIES], raw.label, problems)
    elif SLURM_RECORDS in raw.data:
        yield from (replace(record, problems=problems) for record in raw.data[SLURM_RECORDS])
    else:
        yield from read_json(raw.data, raw.label, problems)
