"""A document as it was written, before anything is known about what it should hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

SLURM_TEXT = "slurmText"
"""Key under which a document holds text of Slurm as it was printed."""
SLURM_TOPOLOGIES = "slurmTopologies"
"""Key under which a document holds the list of a topology.yaml."""
SLURM_RECORDS = "slurmRecords"
"""Key under which a document holds records that have been read: no file has it."""
_SLURM_TEXT = re.compile(
    r"(JobId|NodeName|PartitionName|ReservationName|SwitchName|BlockName|BlockSizes)=\S"
    r"|Configuration data as of \d|Name\|Priority\||No (jobs|reservations|nodes) in the "
    r"|(scontrol: error: )?No topology information available"
)
_SLURM_LISTS = ("jobs", "nodes", "sinfo", "partitions", "reservations", "qos")


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document of a file.

    ``index`` is 0 for the only document of a file, else its place in the file, from 1.
    """

    file: str
    index: int
    data: dict[str, Any]

    @property
    def label(self) -> str:
        """The file and, where it holds several documents, which of them (``jobs.yaml#2``)."""
        return f"{self.file}#{self.index}" if self.index else self.file


def is_kubernetes(data: dict[str, Any]) -> bool:
    """Whether a document is a Kubernetes object or a list of them (``kubectl get -o json``)."""
    version, kind = data.get("apiVersion"), data.get("kind")
    return (
        isinstance(version, str)
        and isinstance(kind, str)
        and kind != ""
        and version != ""
        and version.partition("/")[0] != "kantopt"
    )


def is_slurm_text(text: str) -> bool:
    """Whether a text is what ``scontrol show`` or ``sacctmgr -P`` prints, or a topology.conf."""
    place = 0
    while place < len(text):
        end = text.find("\n", place)
        line = text[place:] if end < 0 else text[place:end]
        if line.strip() and not line.startswith("#"):
            return _SLURM_TEXT.match(line) is not None
        place += len(line) + 1
    return False


def is_slurm_topology(value: object) -> bool:
    """Whether a YAML value is a topology.yaml of Slurm: a list of named topologies."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and "topology" in item for item in value)
    )


def is_slurm(data: dict[str, Any]) -> bool:
    """Whether a document comes from Slurm: text, topology.yaml, or what ``--json`` prints."""
    if SLURM_TEXT in data or SLURM_TOPOLOGIES in data or SLURM_RECORDS in data:
        return True
    return (
        "apiVersion" not in data
        and isinstance(data.get("meta"), dict)
        and any(isinstance(data.get(name), list) for name in _SLURM_LISTS)
    )


def is_foreign(data: dict[str, Any]) -> bool:
    """Whether a document is another system's: Kubernetes' or Slurm's."""
    return is_kubernetes(data) or is_slurm(data)
