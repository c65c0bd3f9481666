"""What documents can be written as: the targets of ``kantopt convert --to``, by name.

An exporter is a pure function of a snapshot and jobs that wait. It is loaded when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kantopt.schema.jobs import Job
    from kantopt.schema.snapshot import ClusterSnapshot

ExportName = Literal["slurm"]


@dataclass(frozen=True, slots=True)
class Export:
    """A system whose files can be written."""

    about: str
    """What comes out, in a few words."""
    function: str
    """``module:function`` that writes."""

    def write(self, snapshot: ClusterSnapshot, jobs: Sequence[Job]) -> tuple[str, tuple[str, ...]]:
        """Write documents; returns the text, and a line for each kind of thing it leaves out."""
        module, _, name = self.function.partition(":")
        function: Callable[[ClusterSnapshot, Sequence[Job]], tuple[str, tuple[str, ...]]]
        function = getattr(import_module(module), name)
        return function(snapshot, jobs)


EXPORTS: dict[ExportName, Export] = {
    "slurm": Export(
        "what scontrol show prints of nodes, partitions and jobs, and topology.conf",
        "kantopt.formats.slurm.export:export_slurm",
    ),
}
