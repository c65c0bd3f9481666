"""CPUs and memory that a partition gives jobs that name none (JobDefaults, DefMemPerCPU)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kantopt.formats.imported import Unnamed
from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.memory import Memory
from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.records import MIB, Record
from kantopt.formats.slurm.tres import Amounts, gres_of
from kantopt.schema.gangs import GPU

_ASKED = ("TresPerNode", "TresPerJob", "TresPerTask", "TresPerSocket")


def with_defaults(record: Record, records: Records, partitions: Partitions) -> Record:
    """Return a job with these defaults, as Slurm applies them.

    It writes them into a job that names no CPUs or no memory when it first looks whether the job
    can start, which it does not do as long as the job is held. Of other jobs it tells them.

    Parameters
    ----------
    record
        The job.
    records
        Those of the input. Defaults of its configuration are for all partitions. What a held job
        names cannot be told from what it does not, which is noted.
    partitions
        The partitions; the first of the job's counts.
    """
    if record.text("Priority") != "0" or not any(GPU in gres_of(record, key) for key in _ASKED):
        return record
    own = next((partitions.by_name.get(name) for name in record.listed("Partition")), None)
    values = _job_defaults(records.config, own)
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
    records.notes.add(text, record.name)
    fields = {**record.fields, **found}
    if "MemPerTres" in found:  # what is counted so far is all of a node's
        for key in ("ReqTRES", "TRES"):
            fields[key] = re.sub(r"(^|,)mem=[^,]*", "", record.text(key)).lstrip(",")
    return replace(record, fields=fields)


def unnamed(
    config: Record | None, partitions: Partitions, memory: Memory, offered: Mapping[str, Amounts]
) -> Unnamed:
    """Return what a job of the default partition gets that names no CPUs or no memory.

    Without a default of memory that is all of a node's, where nodes have more and less the least.
    """
    known = partitions.by_name.values()
    own = next((part for part in known if part.text("Default").upper() == "YES"), None)
    own = own or next(iter(known), None)
    values = _job_defaults(config, own)
    hosts = partitions.members.get(own.name, ()) if own else tuple(offered)
    all_of_it = min((offered[h].get("memory", 0) for h in hosts if h in offered), default=0)
    if not memory.counted({"memory": 1}):
        return Unnamed(cpus_per_gpu=int(values.get("DefCpuPerGPU", 0)))
    named = {"DefMemPerCPU": 0, "DefMemPerNode": 0}
    for source in filter(None, (own, config)):
        if not any(named.values()):
            named = {key: source.memory(key) for key in named}
    return Unnamed(
        cpus_per_gpu=int(values.get("DefCpuPerGPU", 0)),
        memory_per_gpu=int(values.get("DefMemPerGPU", 0)) * MIB,
        memory_per_cpu=named["DefMemPerCPU"],
        memory=named["DefMemPerNode"] or all_of_it,
    )


def _job_defaults(*sources: Record | None) -> dict[str, str]:
    """Return the defaults for each GPU, of the last source that has one."""
    values: dict[str, str] = {}
    for source in filter(None, sources):
        pairs = (item.partition("=") for item in source.listed("JobDefaults"))
        values |= {key: value for key, _, value in pairs if value.isdecimal()}
    return values
