"""Nodes of Slurm into our own: what they offer, partitions, features, states."""

from __future__ import annotations

from collections.abc import Collection

from kantopt.formats.notes import Notes
from kantopt.formats.slurm.names import FEATURE, PARTITION
from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.tres import gres_of
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import Node

_GONE = {"DOWN", "FAIL", "FAILING", "ERROR", "UNKNOWN", "NOT_RESPONDING", "NO_RESPOND", "INVAL"}
_GONE |= {"INVALID", "INVALID_REG", "FUTURE", "POWERING_DOWN", "BLOCKED"}
_GONE_MARKS = "*"
"""Follows the state of a node that does not respond."""
_DRAINED = {"DRAIN", "DRAINED", "DRAINING", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED"}
_BUSY = {"ALLOCATED", "ALLOC", "MIXED"}
_HELD = {"MAINT", "MAINTENANCE", "RESERVED"}


def read_node(
    record: Record, partitions: Partitions, reserved: Collection[str], notes: Notes
) -> Node:
    """Read a node.

    Those that are ``reserved`` a known reservation holds now.
    """
    name = record.name
    cpus = record.number("CPUEfctv") or record.number("CPUTot")
    if not cpus:
        record.problem("CPUTot", "the number of CPUs")
    memory = record.memory("RealMemory") - record.memory("MemSpecLimit")
    amounts = {"cpu": cpus * 1000, "memory": max(0, memory), **gres_of(record, "Gres")}
    if any(key.startswith("gres/shard") or key.startswith("gres/mps") for key in amounts):
        notes.add("nodes whose GPUs can be shared (shard, mps): shares and GPUs count apart", name)
    plain, marks = _states(record)
    drained = bool(plain & _DRAINED) or "@" in marks
    if plain & _HELD and name not in reserved:
        notes.add("nodes that a reservation holds which is not in the input: closed", name)
        drained = True
    if "PLANNED" in plain:
        notes.add("nodes that Slurm keeps for a job to come (PLANNED) count as free", name)
    labels = {f"{PARTITION}{group}": "true" for group in partitions.of(name)}
    features = record.listed("ActiveFeatures", "AvailableFeatures")
    labels |= {f"{FEATURE}{feature}": "true" for feature in features}
    return Node(
        name=name,
        labels=dict(sorted(labels.items())),
        allocatable={key: from_base(key, amount) for key, amount in sorted(amounts.items())},
        unschedulable=drained,
        ready=not is_gone(record),
    )


def is_gone(record: Record) -> bool:
    """Whether a node is down or does not answer."""
    plain, marks = _states(record)
    return bool(plain & _GONE) or _GONE_MARKS in marks


def has_jobs(record: Record) -> bool:
    """Whether jobs run on a node, as itself tells."""
    return bool(_states(record)[0] & _BUSY)


def _states(record: Record) -> tuple[set[str], str]:
    """Return the states of a node, and the marks that follow them."""
    states = record.flags("State")
    return {state.rstrip("*~#!%$@^-") for state in states}, "".join(states)
