"""What others tell of and the input does not show: it was cut, or is of a part of the cluster."""

from __future__ import annotations

from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.nodes import has_jobs
from kantopt.formats.slurm.partitions import Partitions


def note_missing(records: Records, partitions: Partitions) -> None:
    """Note nodes, jobs and partitions that others tell of and the input does not show."""
    nodes, notes = records.of("NodeName"), records.notes
    shown = {record.name for record in nodes}
    if nodes:
        text = "nodes that partitions have and the input does not show: they count as not there"
        missing: dict[str, str] = {}
        for partition in records.of("PartitionName"):
            for host in partition.hosts("Nodes"):
                if host not in shown:
                    missing.setdefault(host, f"{host} of {partition.name}")
        for witness in missing.values():
            notes.add(text, witness)
    jobs = records.of("JobId")
    if jobs:
        busy = {host for job in jobs for host in job.hosts("NodeList")}
        for node in nodes:
            if has_jobs(node) and node.name not in busy:
                text = "nodes with jobs of which the input shows none: they count as empty"
                notes.add(text, node.name)
    if partitions.by_name:
        for name in partitions.members:
            if name not in partitions.by_name:
                text = "partitions that nodes are in and the input does not show: limits and tiers"
                notes.add(f"{text} are not known", name)
