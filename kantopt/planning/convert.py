"""Other systems' files into native documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from kantopt.errors import BadDataError, Problem, UsageError
from kantopt.formats.exports import EXPORTS, NAMES, ExportName
from kantopt.formats.notes import Notes
from kantopt.planning.doubts import doubts
from kantopt.planning.question import Import, imported, read_question
from kantopt.schema.answers.reports import Conversion, Difference
from kantopt.schema.base import API_VERSION
from kantopt.schema.files import load_raw, read_text
from kantopt.schema.inputs import label_of
from kantopt.schema.jobs import JobList
from kantopt.schema.json_text import parse_json
from kantopt.schema.raw import is_kubernetes, is_slurm
from kantopt.schema.snapshot import ClusterSnapshot

Source = Literal["kubernetes", "openb", "slurm", "vm-rescheduling"]
SOURCES: tuple[Source, ...] = get_args(Source)


@dataclass(frozen=True, slots=True)
class Converted:
    """Native documents, and a line for each kind of thing that they leave out or assume."""

    snapshot: ClusterSnapshot
    pending: JobList
    notes: tuple[str, ...]


def convert(source: Source, paths: Sequence[str], how: Import | None = None) -> Converted:
    """Read files of another system.

    Parameters
    ----------
    source
        The system that they come from.
    paths
        Files in any order, ``-`` for standard input.
    how
        How objects of Kubernetes or Slurm are read.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If a file cannot be read, or is not what it should be.
    """
    if source == "kubernetes" or source == "slurm":
        return _from_cluster(source, paths, how or Import())
    if paths.count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    texts = [(label_of(path), read_text(path).decode()) for path in paths]
    if source == "openb":
        from kantopt.formats.traces.openb import read_openb

        return Converted(*read_openb(texts))
    from kantopt.formats.vm_rescheduling import read_vm_rescheduling

    if len(texts) != 1:
        raise UsageError(f"--from vm-rescheduling: found {len(texts)} files, expected one")
    return Converted(*read_vm_rescheduling(_json(*texts[0]), file=texts[0][0]))


@dataclass(frozen=True, slots=True)
class Exported:
    """Files as another system has them."""

    text: str
    notes: tuple[str, ...]
    """What reading left out or assumed."""
    told: Notes
    """What is written otherwise, or not at all."""

    def lines(self, *, each: bool = False) -> tuple[str, ...]:
        """Say all that in lines: for each kind of thing, or (``each``) for each name."""
        return (*self.notes, *(self.told.each() if each else self.told.lines(NAMES)))

    def report(self, to: ExportName) -> Conversion:
        """Say the same as a document."""
        return Conversion(
            api_version=API_VERSION,
            kind="Conversion",
            to=to,
            notes=self.notes,
            differences=tuple(
                Difference(text=text, count=count, names=names)
                for text, count, names in self.told.rows()
            ),
        )


def export(
    to: ExportName,
    paths: Sequence[str],
    source: Source | None = None,
    how: Import | None = None,
    form: str = "yaml",
) -> Exported:
    """Write files as another system has them.

    Parameters
    ----------
    to
        The system.
    paths
        Files in any order, ``-`` for standard input: of the ``source``, else any snapshot and
        jobs, told by content.
    source, how
        As for :func:`convert`.
    form
        ``json`` or ``yaml``, for objects.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        As for :func:`convert`.
    """
    if source is not None:
        read = convert(source, paths, how)
        snapshot, jobs, notes = read.snapshot, read.pending.jobs, read.notes
    else:
        question = read_question(paths, how or Import())
        snapshot, jobs, notes = question.snapshot, question.pending, question.notes
    text, told = EXPORTS[to].write(snapshot, jobs, form)
    return Exported(text, notes, told)


def _json(file: str, text: str) -> dict[str, Any]:
    values = parse_json(text, file)
    if len(values) == 1 and isinstance(values[0], dict):
        mapping: dict[str, Any] = values[0]
        return mapping
    found = f"{len(values)} values" if len(values) != 1 else "a value that is no mapping"
    raise BadDataError([Problem(file, "", found, "one JSON mapping with cluster_list")])


def _from_cluster(
    source: Literal["kubernetes", "slurm"], paths: Sequence[str], how: Import
) -> Converted:
    """Read a cluster as where it is planned for, and say first what is doubtful in it."""
    raws = load_raw(paths)
    if source == "slurm":
        expected = "what scontrol show, squeue --json or sinfo --json prints"
        problems = [
            Problem(raw.label, "", "a document of another kind", expected)
            for raw in raws
            if not is_slurm(raw.data)
        ]
    else:
        problems = [
            Problem(raw.label, "kind", str(raw.data.get("kind")), "Kubernetes objects")
            for raw in raws
            if not is_kubernetes(raw.data)
        ]
    if problems:
        raise BadDataError(problems)
    read, _ = imported(raws, how)
    doubtful = doubts(read.snapshot, (), read.pending.jobs)
    return Converted(read.snapshot, read.pending, (*doubtful, *read.notes))
