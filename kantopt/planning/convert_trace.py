"""Other systems' records of jobs over time into a ``Trace``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal

from kantopt.errors import UsageError
from kantopt.schema.files import read_text
from kantopt.schema.inputs import label_of
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.trace import Trace

TraceSource = Literal["kalos", "openb-trace", "philly", "swf"]


def convert_trace(
    source: TraceSource, paths: Sequence[str], *, processor: str, gpus_per_node: int
) -> tuple[ClusterSnapshot | None, Trace]:
    """Read a trace and, where the files tell of it, the cluster that it ran on, empty.

    Parameters
    ----------
    source
        The format of the files.
    paths
        Files, ``-`` for standard input; all but openb take one.
    processor
        Resource that a processor of a Standard Workload Format log is.
    gpus_per_node
        Most GPUs of one pod of Philly, where jobs say only how many they have in all.

    Returns
    -------
    snapshot, trace
        The notes of the trace say what is unknown, assumed or left out, and of how many jobs.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If a file cannot be read, or is not what it should be.
    """
    if paths.count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    if source != "openb-trace" and len(paths) != 1:
        raise UsageError(f"--from {source}: found {len(paths)} files, expected one")
    texts = [(label_of(path), read_text(path).decode()) for path in paths]
    file, text = texts[0]
    if source == "openb-trace":
        from kantopt.formats.traces.openb_trace import read_openb_trace

        return read_openb_trace(texts)
    if source == "kalos":
        from kantopt.formats.traces.kalos import read_kalos

        return None, read_kalos(text, file=file)
    if source == "philly":
        from kantopt.formats.traces.philly import read_philly

        return None, read_philly(text, file=file, gpus_per_node=gpus_per_node)
    from kantopt.formats.traces.swf import read_swf

    name = PurePath(paths[0]).name.removesuffix(".gz").removesuffix(".swf")
    named = "swf" if paths[0] == "-" else name
    return read_swf(text, file=file, name=named, processor=processor)
