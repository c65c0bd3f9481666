"""What documents can be written as: the targets of ``kantopt convert --to``, by name.

An exporter is a pure function of a snapshot and jobs that wait. It is loaded when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from kantopt.formats.notes import Notes
    from kantopt.schema.jobs import Job
    from kantopt.schema.snapshot import ClusterSnapshot

ExportName = Literal["kai", "koordinator", "kubernetes", "kueue", "slurm", "volcano"]


@dataclass(frozen=True, slots=True)
class Export:
    """A system whose files can be written."""

    about: str
    """What comes out, in a few words."""
    function: str
    """``module:function`` that writes."""

    def write(
        self, snapshot: ClusterSnapshot, jobs: Sequence[Job], form: str = "yaml"
    ) -> tuple[str, Notes]:
        """Write documents; returns the text, and what it leaves out or changes.

        Objects are written as ``form`` says, json or yaml; text of Slurm has one form.
        """
        module, _, name = self.function.partition(":")
        function: Callable[[ClusterSnapshot, Sequence[Job]], tuple[str | dict[str, Any], Notes]]
        function = getattr(import_module(module), name)
        made, notes = function(snapshot, jobs)
        if isinstance(made, str):
            return made, notes
        if form == "json":
            return f"{json.dumps(made, indent=2)}\n", notes
        from kantopt.schema.yaml.dump import yaml_text

        return yaml_text(made), notes


NAMES = 3
"""How many names a line about what is left out or changed has."""
_OBJECTS = "kantopt.formats.written.export"

EXPORTS: dict[ExportName, Export] = {
    "kai": Export("pods, and KAI's PodGroups, Queues and Topology", f"{_OBJECTS}:to_kai"),
    "koordinator": Export("pods with Koordinator's annotations", f"{_OBJECTS}:to_koordinator"),
    "kubernetes": Export("pods and Kubernetes' own PodGroups", f"{_OBJECTS}:to_kubernetes"),
    "kueue": Export("pods, and Kueue's Workloads, queues and Topology", f"{_OBJECTS}:to_kueue"),
    "volcano": Export("pods, and Volcano's groups, queues, HyperNodes", f"{_OBJECTS}:to_volcano"),
    "slurm": Export(
        "what scontrol show prints of nodes, partitions and jobs, and topology.conf",
        "kantopt.formats.slurm.export:export_slurm",
    ),
}
