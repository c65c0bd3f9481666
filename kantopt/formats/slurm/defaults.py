"""CPUs and memory that a partition gives jobs for each of their GPUs (JobDefaults)."""

from __future__ import annotations

import re
from dataclasses import replace

from kantopt.formats.notes import Notes
from kantopt.formats.slurm.partitions import Partitions, partitions_of
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.tres import read_gres
from kantopt.schema.gangs import GPU

_ASKED = ("TresPerNode", "TresPerJob", "TresPerTask", "TresPerSocket")


def with_defaults(
    record: Record, partitions: Partitions, config: Record | None, notes: Notes
) -> Record:
    """Return a job with these defaults, as Slurm applies them.

    It writes them into a job that names no CPUs or no memory when it first looks whether the job
    can start, which it does not do as long as the job is held. Of other jobs it tells them.

    Parameters
    ----------
    record
        The job.
    partitions
        The partitions; the first of the job's counts.
    config
        Record of ``scontrol show config``, if there is one: its defaults are for all partitions.
    notes
        Where to say that what a held job names cannot be told from what it does not.
    """
    if record.text("Priority") != "0" or not any(
        GPU in (read_gres(record.text(key)) or {}) for key in _ASKED
    ):
        return record
    own = next((partitions.by_name.get(name) for name in partitions_of(record)), None)
    values: dict[str, str] = {}
    for source in (config, own):
        if source is not None:
            pairs = (item.partition("=") for item in source.text("JobDefaults").split(","))
            values |= {key: value for key, _, value in pairs if value.isdecimal()}
    found = {}
    if "DefCpuPerGPU" in values and record.number("CPUs/Task", 1) <= 1:
        found["CpusPerTres"] = f"gpu:{values['DefCpuPerGPU']}"
    if "DefMemPerGPU" in values and not (
        record.memory("MinMemoryCPU") or record.memory("MinMemoryNode")
    ):
        found["MemPerTres"] = f"gpu:{values['DefMemPerGPU']}"
    found = {key: value for key, value in found.items() if not record.text(key)}
    if not found:
        return record
    text = "held jobs that seem to name no CPUs or memory have what their partition gives each GPU"
    notes.add(text, record.name)
    fields = {**record.fields, **found}
    if "MemPerTres" in found:  # what is counted so far is all of a node's
        for key in ("ReqTRES", "TRES"):
            fields[key] = re.sub(r"(^|,)mem=[^,]*", "", record.text(key)).lstrip(",")
    return replace(record, fields=fields)
