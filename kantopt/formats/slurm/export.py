"""A snapshot and pending jobs as Slurm would print them, and what of them it cannot say.

The text is read again, and what comes out different is what Slurm has no words for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kantopt.formats.differences import note_differences, without
from kantopt.formats.notes import Notes
from kantopt.formats.slurm import names
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.formats.slurm.export_jobs import is_id, job_text, time_text
from kantopt.formats.slurm.export_nodes import (
    gres_text,
    marks,
    node_text,
    topology_text,
)
from kantopt.formats.slurm.export_reservations import limit_text, reservations_text
from kantopt.formats.slurm.policy import STEP
from kantopt.formats.slurm.records import MIB
from kantopt.schema.dump import dump_data
from kantopt.schema.hostlist import compress_hostlist
from kantopt.schema.jobs import Job, PodSet
from kantopt.schema.quantity import to_base
from kantopt.schema.raw import SLURM_TEXT, RawDocument
from kantopt.schema.snapshot import ClusterSnapshot, Node, Queue


def export_slurm(snapshot: ClusterSnapshot, pending: Sequence[Job]) -> tuple[str, Notes]:
    """Write documents as text of ``scontrol show`` and topology.conf.

    Returns
    -------
    text, notes
        The text, which :func:`import_slurm` reads, and what it does not tell.
    """
    notes = Notes()
    jobs = [*snapshot.jobs, *pending]
    ids = _ids(jobs, notes)
    text = "".join(_texts(snapshot, jobs, ids))
    read = import_slurm([RawDocument("the text", 0, {SLURM_TEXT: text})])
    renamed = {(job.namespace, number): job for job, number in zip(jobs, ids, strict=True)}
    again = {(job.namespace, job.name): job for job in (*read.snapshot.jobs, *read.pending.jobs)}
    for key, job in renamed.items():
        found = again.get(key)
        if found is None:
            notes.add("jobs that cannot be written", job.full_name)
        else:
            mine, its = dump_data(job), dump_data(found)
            if key[1] != job.name:
                mine, its = _unnamed(mine), _unnamed(its)
            note_differences(mine, its, "jobs", notes, job.full_name)
    nodes = {node.name: node for node in read.snapshot.nodes}
    for node in snapshot.nodes:
        other = nodes.get(node.name)
        note_differences(
            dump_data(node), dump_data(other) if other else {}, "nodes", notes, node.name
        )
    for part in ("topology", "queues", "pod_disruption_budgets", "priority_classes", "metadata"):
        mine, its = getattr(snapshot, part), getattr(read.snapshot, part)
        if mine != its:
            notes.add(f"{part.replace('_', ' ')}: not all of it is told")
    return text, notes


def _ids(jobs: Sequence[Job], notes: Notes) -> list[str]:
    """Return an id for each job: its own, or a number that is free."""
    taken = {job.name.split("_")[0] for job in jobs if is_id(job.name)}
    ids, number = [], 0
    for job in jobs:
        if is_id(job.name):
            ids.append(job.name)
            continue
        number += 1
        while str(number) in taken:
            number += 1
        ids.append(str(number))
        notes.add("jobs that get a number, their name is kept as JobName", f"{job.name}: {number}")
    return ids


def _texts(snapshot: ClusterSnapshot, jobs: Sequence[Job], ids: Sequence[str]) -> Iterator[str]:
    nodes = snapshot.nodes
    yield from (node_text(node) for node in nodes)
    yield from _partitions(nodes, jobs)
    yield from reservations_text(nodes, jobs)
    moment = snapshot.metadata.captured_at
    for job, number in zip(jobs, ids, strict=True):
        yield job_text(job, number, limit_text(job.pod_sets[0], nodes, moment))
    yield topology_text(snapshot)
    yield from _queues(snapshot.queues)
    seconds = time_text(moment)
    exempt = {job.min_runtime for job in jobs if job.min_runtime}
    graces = [_grace(podset) for job in jobs for podset in job.pod_sets]
    on = bool(exempt) or any(graces) or any(map(_evictable, jobs))
    tiers, lowest = _tiers(jobs)
    on = on or (lowest and any(tiers.values()))
    rows = {
        "ClusterName": snapshot.metadata.name or "(null)",
        "PreemptMode": "REQUEUE" if on else "OFF",
        "PreemptType": "preempt/partition_prio" if on else "preempt/none",
        "PreemptExemptTime": exempt.pop().removesuffix("s") if len(exempt) == 1 else "00:00:00",
        "SelectType": "select/cons_tres",
    }
    yield f"Configuration data as of {seconds}\n"
    yield from (f"{key:<23} = {value}\n" for key, value in rows.items())


def _partitions(nodes: Sequence[Node], jobs: Sequence[Job]) -> Iterator[str]:
    members: dict[str, list[str]] = {}
    for node in nodes:
        for name in marks(node.labels, names.PARTITION):
            members.setdefault(name, []).append(node.name)
    tiers, _ = _tiers(jobs)
    open_: dict[str, bool] = {}
    grace: dict[str, int] = {}
    qos: dict[str, str] = {}
    for job in jobs:
        for podset in job.pod_sets:
            for name in _partitions_of(podset):
                open_[name] = open_.get(name, False) or _evictable(job)
                grace[name] = max(grace.get(name, 0), _grace(podset))
                members.setdefault(name, [])
                if job.queue_name and job.queue_name != podset.labels.get(names.QOS):
                    qos[name] = job.queue_name
    for name, hosts in sorted(members.items()):
        mode = "REQUEUE" if open_.get(name) else "OFF"
        most = max(
            (n.allocatable.get(f"{names.CAPPED}{name}", 0) for n in nodes), key=int, default=0
        )
        yield (
            f"PartitionName={name} QoS={qos.get(name, 'N/A')}\n"
            f"   MaxCPUsPerNode={most or 'UNLIMITED'}\n"
            f"   GraceTime={grace.get(name, 0)} Nodes={compress_hostlist(hosts) or '(null)'}\n"
            f"   PriorityTier={tiers.get(name, 0) + 1} PreemptMode={mode} State=UP\n\n"
        )


def _tiers(jobs: Sequence[Job]) -> tuple[dict[str, int], bool]:
    """Return the tier of each partition that jobs name.

    Second, whether jobs of several have that of the lowest, as where tiers preempt, or of the
    highest.
    """
    found: dict[str, set[int]] = {}
    told = [(_tier(j), {n for p in j.pod_sets for n in _partitions_of(p)}) for j in jobs]
    for tier, named in told:
        for name in named:
            found.setdefault(name, set()).add(tier)
    lowest = all(min(max(found[name]) for name in named) == tier for tier, named in told if named)
    return {name: (max if lowest else min)(each) for name, each in found.items()}, lowest


def _partitions_of(podset: PodSet) -> list[str]:
    return podset.labels.get(names.JOB_PARTITION, "all").split(",")


def _tier(job: Job) -> int:
    return max(0, job.priority or 0) // STEP if is_id(job.name) else 0


def _evictable(job: Job) -> bool:
    return job.preemptible and any(podset.assignments for podset in job.pod_sets)


def _grace(podset: PodSet) -> int:
    return max((ref.grace_period_seconds or 0 for ref in podset.refs), default=0)


def _queues(queues: Sequence[Queue]) -> Iterator[str]:
    if not queues:
        return
    yield "Name|Priority|GrpTRES\n"
    for queue in queues:
        amounts = {row.name: to_base(row.name, row.nominal_quota) for row in queue.resources}
        items = []
        if "cpu" in amounts:
            items.append(f"cpu={amounts['cpu'] // 1000}")
        if "memory" in amounts:
            items.append(f"mem={amounts['memory'] // MIB}M")
        for name, amount in sorted(amounts.items()):
            if name not in ("cpu", "memory"):
                gres = gres_text({name: amount}).rpartition(":")[0] or name.removeprefix("gres/")
                items.append(f"gres/{gres}={amount}")
        yield f"{queue.name}|0|{','.join(items)}\n"
    yield "\n"


def _unnamed(job: dict[str, Any]) -> dict[str, Any]:
    """Return a job without what follows from its name, which its number replaces."""
    podsets = []
    for podset in job["podSets"]:
        kept = without(podset, "name", "pods", "podAntiAffinity")
        kept["assignments"] = [without(place, "pods") for place in kept.get("assignments", [])]
        own = (names.JOB, names.JOB_NAME, names.JOB_PARTITION)
        kept["labels"] = without(kept.get("labels", {}), *own)
        podsets.append(kept)
    return without(job, "name", "uid") | {"podSets": podsets}
