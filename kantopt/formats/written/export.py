"""A snapshot and pending jobs as a ``List`` of objects, and what of them the system cannot say.

The objects are read again, and what comes out different is what the system has no words for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

from kantopt.formats.differences import note_differences
from kantopt.formats.imported import Imported
from kantopt.formats.kubernetes.dump import import_kubernetes
from kantopt.formats.notes import Notes
from kantopt.formats.written import sameness
from kantopt.formats.written.gangs import labels_of
from kantopt.formats.written.kai import KAI
from kantopt.formats.written.kueue import KUEUE
from kantopt.formats.written.names import note_refused
from kantopt.formats.written.native import KOORDINATOR, KUBERNETES
from kantopt.formats.written.plain import Data, plain_objects, thing
from kantopt.formats.written.pods import Marks, System, pods, unnamed, volumes
from kantopt.formats.written.volcano import VOLCANO
from kantopt.schema.dump import dump_data
from kantopt.schema.jobs import Job
from kantopt.schema.snapshot import ClusterSnapshot

GIVEN_NAMES = "pods that have no name are given one"
"""What a note says of them."""
Exported = tuple[Data, Notes]


def export_objects(system: System, snapshot: ClusterSnapshot, pending: Sequence[Job]) -> Exported:
    """Write documents as a ``List``.

    Objects of the ``system`` stand beside those of Kubernetes.

    Returns
    -------
    listed, notes
        The list, which :func:`import_kubernetes` reads, and what it does not tell.
    """
    notes = Notes()
    objects, added = _objects(system, snapshot, pending, notes)
    levels = tuple(labels_of(snapshot))
    chosen = () if system.tells_topology else levels
    if chosen:
        notes.add("levels are told by no object", f"read with --topology {','.join(levels)}")
    again = import_kubernetes(objects, file="the list", gated=True, levels=chosen)
    note_refused(objects, notes)
    _compare(snapshot, pending, again, added, notes)
    return {"apiVersion": "v1", "kind": "List", "items": objects}, notes


to_kubernetes = partial(export_objects, KUBERNETES)
to_kueue = partial(export_objects, KUEUE)
to_volcano = partial(export_objects, VOLCANO)
to_kai = partial(export_objects, KAI)
to_koordinator = partial(export_objects, KOORDINATOR)


def _objects(
    system: System, snapshot: ClusterSnapshot, pending: Sequence[Job], notes: Notes
) -> tuple[list[Data], set[str]]:
    """Return all objects, and the labels that pods are given beside their own."""
    jobs = [*snapshot.jobs, *pending]
    objects = [*plain_objects(snapshot), *system.cluster(snapshot, jobs)]
    names = {job.namespace for job in jobs}
    objects += [thing("v1", "Namespace", name) for name in sorted(names)]
    added: set[str] = set()
    for job in jobs:
        words = system.job(snapshot, job)
        objects += words.objects
        if words.remark:
            notes.add(words.remark, job.full_name)
        for role in job.pod_sets:
            marks = words.marks.get(role.name, Marks())
            added |= {*marks.labels}
            objects += chain.from_iterable(volumes(job, role))
            if words.has_pods:
                objects += pods(job, role, marks)
                if nameless := unnamed(role):
                    notes.add(GIVEN_NAMES, job.full_name, nameless)
    return objects, added


def _compare(
    snapshot: ClusterSnapshot,
    pending: Sequence[Job],
    again: Imported,
    added: set[str],
    notes: Notes,
) -> None:
    read = again.snapshot
    for where, mine, its in (
        ("jobs", snapshot.jobs, read.jobs),
        ("pending", pending, again.pending.jobs),
    ):
        found = {(job.namespace, job.name): job for job in its}
        for job in mine:
            name = job.full_name
            other = found.get((job.namespace, job.name))
            if other is None:
                notes.add("jobs that come back in other parts, or not at all", name)
                continue
            forms = sameness.job_form(snapshot, job), sameness.job_form(read, other)
            note_differences(*sameness.without_additions(*forms, added), where, notes, name)
    after = _forms(read)
    for where, before in _forms(snapshot).items():
        for name, data in before.items():
            note_differences(data, after[where].get(name, {}), where, notes, name)


def _forms(snapshot: ClusterSnapshot) -> dict[str, dict[str, Data]]:
    """Return all of a cluster but its jobs as it is compared: by what it is, and by name."""
    return {
        "nodes": {item.name: sameness.node_form(item) for item in snapshot.nodes},
        "queues": {item.name: sameness.queue_form(item) for item in snapshot.queues},
        "priorityClasses": _named(snapshot.priority_classes),
        "podDisruptionBudgets": _named(snapshot.pod_disruption_budgets),
        "victims": {item.job: dump_data(item) for item in snapshot.victims},
        "topology": _named(snapshot.topology.levels),
        "metadata": {"": dump_data(snapshot.metadata)},
    }


def _named(parts: Sequence[Any]) -> dict[str, Data]:
    """Return parts by name, and namespace where they have one."""
    return {f"{getattr(item, 'namespace', '')}/{item.name}": dump_data(item) for item in parts}
