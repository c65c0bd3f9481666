"""What ``kubectl get ... -o json`` shows into a snapshot and the jobs that are pending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from kantopt.formats.imported import Imported, reporting
from kantopt.formats.kubernetes.asked import Asked, names_of
from kantopt.formats.kubernetes.assigned import with_assigned
from kantopt.formats.kubernetes.devices.allocated import ResourceClaims
from kantopt.formats.kubernetes.devices.claimed import ClaimedDevices
from kantopt.formats.kubernetes.disruption import read_budget
from kantopt.formats.kubernetes.ending_owners import note_ending_owners
from kantopt.formats.kubernetes.followers import followers
from kantopt.formats.kubernetes.gangs import Dialect, GangRef, gang_of, scheduled_by
from kantopt.formats.kubernetes.host_ports import sidecars_count
from kantopt.formats.kubernetes.jobs import JobsReader, Member, unused
from kantopt.formats.kubernetes.koordinator.kept_room import without_kept
from kantopt.formats.kubernetes.koordinator.reservations import with_reservations
from kantopt.formats.kubernetes.koordinator.shared_gpus import with_shared_gpus
from kantopt.formats.kubernetes.koordinator.whole_gpus import WholeGpus
from kantopt.formats.kubernetes.kueue.queues import KueueQueues
from kantopt.formats.kubernetes.kueue.workloads import KueueWorkloads
from kantopt.formats.kubernetes.moment import newest_moment
from kantopt.formats.kubernetes.namespaces import NO_NAMESPACES
from kantopt.formats.kubernetes.node_groups import NodeGroups
from kantopt.formats.kubernetes.nodes import read_node, selector_keys
from kantopt.formats.kubernetes.nominated import BindRequests, with_rooms
from kantopt.formats.kubernetes.objects import UNREAD, Objects, ended
from kantopt.formats.kubernetes.placeholders import with_placeholders
from kantopt.formats.kubernetes.pod_groups import PodGroups
from kantopt.formats.kubernetes.pods import Pod, read_pod
from kantopt.formats.kubernetes.priorities import Priorities
from kantopt.formats.kubernetes.queues import Queues
from kantopt.formats.kubernetes.reclaims import reclaims
from kantopt.formats.kubernetes.restarts import Restarts
from kantopt.formats.kubernetes.stateful_sets import StatefulSets
from kantopt.formats.kubernetes.stays import Stays
from kantopt.formats.kubernetes.topology import find_levels, note_outside
from kantopt.formats.kubernetes.units import Units, with_unit_gangs, with_unit_priorities
from kantopt.formats.kubernetes.unstarted import unstarted
from kantopt.formats.kubernetes.volumes.attachments import attachable
from kantopt.formats.kubernetes.volumes.mounted import Volumes
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.base import API_VERSION
from kantopt.schema.card_shares import is_card_share
from kantopt.schema.hints import unoffered
from kantopt.schema.jobs import Job, JobList
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    SnapshotMetadata,
)


def import_kubernetes(
    objects: Sequence[dict[str, Any]],
    *,
    file: str,
    gated: bool = False,
    pending: Sequence[str] = (),
    levels: Sequence[str] = (),
    labels: frozenset[str] = frozenset(),
    disturb: Sequence[str] = (),
    patterns_known: bool = True,
) -> Imported:
    """Read Kubernetes objects as a snapshot and a list of pending jobs.

    Parameters
    ----------
    objects
        The objects, as :func:`flatten` yields them.
    file
        Where they come from, for the messages.
    gated
        Whether pods that scheduling gates hold back count as pending.
    pending
        Patterns NAMESPACE/NAME of jobs or pods; if any, other pending pods are left out.
    levels
        Node labels from coarse to fine to use as topology instead of what the input describes.
    labels
        Pod labels to keep, beside those that a selector of the input looks at.
    disturb
        Causes that keep no pod where it is, by name.
    patterns_known
        Whether every pattern has to match something.

    Raises
    ------
    BadDataError
        With every field that has the wrong type, by file and path.
    UsageError
        If one of the patterns matches nothing that is pending.
    """
    found = Objects(objects, file)
    run = _Import(found, gated, pending, labels, disturb)
    with reporting(found.problems, file):
        imported = run.run(levels, newest_moment(objects))
    if patterns_known:
        run.asked.check()
    return imported


class _Import:
    """One run over the objects."""

    def __init__(
        self,
        objects: Objects,
        gated: bool,
        pending: Sequence[str],
        labels: frozenset[str],
        disturb: Sequence[str],
    ) -> None:
        self._objects = objects
        self._labels = labels
        self._disturb = disturb
        self._gated = gated
        self._known_as: dict[str, set[str]] = {}
        self._notes = objects.notes
        self._attachments = attachable(objects)
        self._devices = ClaimedDevices(objects)
        self._workloads = KueueWorkloads(objects)
        self.asked = Asked(pending, self._names, self._notes)
        self._ended: Counter[GangRef] = Counter()
        self._systems: dict[str, Dialect] = {}

    def run(self, chosen: Sequence[str], captured_at: str | None) -> Imported:
        objects, notes = self._objects, self._notes
        nodes = [read_node(view, notes) for view in objects.of("", "Node")]
        nodes = without_kept(objects, nodes)
        found = find_levels(objects, nodes, chosen)
        nodes = [
            node.model_copy(update={"labels": {**node.labels, **found.labels[node.name]}})
            if found.labels.get(node.name)
            else node
            for node in nodes
        ]
        volumes = Volumes(objects, nodes)
        nodes = volumes.stock.onto(nodes)
        nodes = [self._devices.onto(node) for node in self._attachments.onto(nodes)]
        gpus = WholeGpus(nodes, notes)
        nodes = gpus.onto(nodes)
        budgets = [read_budget(view, notes) for view in objects.of("policy", "PodDisruptionBudget")]
        kept = [budget for budget in budgets if budget is not None]
        priorities = Priorities(objects)
        members = self._members({node.name for node in nodes}, volumes)
        kueue = KueueQueues(objects, [member.pod for member in members], priorities)
        members = self._within_flavors(members, kueue)
        members = [replace(m, pod=kueue.into(m.pod, exists=m.exists)) for m in members]
        groups = NodeGroups(objects, nodes)
        members = [replace(m, pod=groups.into(m.pod, m.gang)) for m in members]
        offered = frozenset[str]().union(*(node.allocatable for node in nodes))
        members = [replace(m, pod=_without_cards(gpus.into(m.pod), offered)) for m in members]
        members = [*with_assigned(members, objects, nodes)]
        sharing = with_shared_gpus([member.pod for member in members], nodes, notes)
        pods = with_rooms(sharing, nodes, priorities, notes)
        members = [replace(m, pod=pod) for m, pod in zip(members, pods, strict=True)]
        members = with_reservations(members, objects, nodes, gpus, priorities, captured_at)
        sets = StatefulSets(objects)
        stays = Stays(kept, priorities, sets, captured_at, self._disturb)
        members = [replace(m, pod=stays.settle(m.pod)) for m in members]
        members = with_unit_priorities(with_unit_gangs(members), priorities, notes)
        note_ending_owners(objects, [member.pod for member in members])
        restarts = Restarts(objects, sets, self._disturb)
        looked_at = selector_keys(budget.selector for budget in kept)
        reader = JobsReader(
            PodGroups(objects, notes),
            restarts,
            stays,
            priorities,
            queues := Queues(objects, kueue),
            found,
            self._labels.union(looked_at, *(member.pod.selects for member in members)),
            notes,
        )
        running, waiting = self._jobs(reader, members)
        jobs = [*running, *waiting]
        note_outside(reader.levels, nodes, notes)
        self._note_resources({"pods", *offered}, jobs)
        for ignored in objects.ignored:
            notes.add(UNREAD.get(ignored, "objects that a plan has no use for"), ignored[1])
        for kind, version in objects.strange:
            notes.add(f"objects of {version}, which is not a version that is known, are read", kind)
        waiting, victims = kueue.evictable(running, waiting)
        victims += reclaims(objects, jobs, self._systems, queues.held)
        snapshot = ClusterSnapshot(
            api_version=API_VERSION,
            kind="ClusterSnapshot",
            metadata=SnapshotMetadata(captured_at=captured_at, cluster_uid=objects.cluster_uid()),
            topology=reader.levels.topology,
            priority_classes=priorities.classes,
            nodes=tuple(nodes),
            jobs=tuple(running),
            queues=tuple(queues.protected(victims, jobs)),
            victims=tuple(victims),
            pod_disruption_budgets=tuple(kept),
        )
        pending = JobList(api_version=API_VERSION, kind="JobList", jobs=tuple(waiting))
        # A dump does not tell an empty list of them from none at all.
        blind = _NO_BUDGETS if running and not budgets else ""
        lines = (*filter(None, [blind, stays.line(), restarts.line()]), *notes.lines())
        if not nodes:
            lines = (_NO_NODES, *lines)
        elif not objects.of("", "Pod"):
            lines = (_NO_PODS, *lines)
        known_as = {name: frozenset(jobs) for name, jobs in self._known_as.items()}
        return Imported(
            snapshot,
            pending,
            lines,
            known_as=known_as,
            left_out=self.asked.left_out,
            aside=tuple(self.asked.aside(objects, priorities)),
            held_back=self.asked.held_back,
            tied=reader.tied,
        )

    def _members(self, nodes: set[str], volumes: Volumes) -> list[Member]:
        """Pods that hold a place or wait for one."""
        views = self._objects.of("", "Pod")
        namespaces = self._objects.namespaces
        members = []
        sidecar_ports = sidecars_count(self._objects.of("", "Node"))
        claims = ResourceClaims(self._objects, self._devices)
        units = Units(self._objects, self._disturb)
        binding = BindRequests(self._objects)
        for view in views:
            if ended(view):
                self._notes.add("pods that have ended")
                self._count_ended(view, view.at("status").text("phase"))
                continue
            pod = read_pod(view, namespaces, self._notes, sidecar_ports=sidecar_ports)
            pod = claims.into(self._attachments.into(volumes.into(pod, view)), view)
            pod = self._workloads.into(binding.into(units.into(self._devices.into(pod))))
            if pod.node and pod.node not in nodes:
                text = "pods on nodes that are not in the input are left out"
                self._notes.add(text, f"{pod.full_name} on {pod.node}")
            elif not pod.node and pod.terminating:
                self._notes.add("pending pods that are being deleted are left out", pod.full_name)
                self.asked.left_out[pod.full_name] = "is being deleted, and left out"
            elif not (pod.node or self._gated) and self._workloads.stands_for(pod):
                continue
            elif not (pod.node or self._gated or self._workloads.lets_go(pod)) and (
                pod.ref.scheduling_gates
            ):
                self._notes.add("pods held back by scheduling gates are left out", pod.full_name)
                member = Member(pod, gang_of(pod))
                job = f"{pod.namespace}/{_job_name(member)}"
                self.asked.hold_back(job, member, "is held back by scheduling gates")
            else:
                if pod.terminating:
                    text = "pods that are terminating hold their room until they are gone"
                    self._notes.add(text, pod.full_name)
                # A pod that goes is no member of its gang any more, only of its node.
                members.append(Member(pod, None if pod.terminating else gang_of(pod)))
        members += (Member(pod, None) for pod in self._devices.otherwise())
        members = with_placeholders(members, self._notes)
        for member in followers(self._objects, members):
            members.append(replace(member, pod=claims.extended(member.pod)))
        found = [member.pod for member in members]
        held: set[tuple[str, str]] = set()
        for made in unstarted(self._objects, found):
            member = replace(made, pod=claims.extended(made.pod))
            if member.held_back and not self._gated:
                self._hold_back(member, member.held_back)
                continue
            if member.held_back:
                job = f"{member.pod.namespace}/{_job_name(member)}"
                if (job, member.held_back) not in held:  # its pod sets are members each
                    held.add((job, member.held_back))
                    self._notes.add(f"jobs count though they are held {member.held_back}", job)
            members.append(member)
        return members

    def _hold_back(self, member: Member, why: str) -> None:
        job = f"{member.pod.namespace}/{_job_name(member)}"
        if job not in self.asked.left_out:
            self._notes.add(f"jobs held back {why} are left out", job)
        self.asked.hold_back(job, member, f"is held back {why}")

    def _within_flavors(self, members: Sequence[Member], kueue: KueueQueues) -> list[Member]:
        """Hold back jobs with pods to which Kueue gives no flavor."""
        jobs: dict[Hashable, str] = {}
        for member in () if self._gated else members:
            if why := kueue.keeps_back(member.pod):
                jobs.setdefault(_group_key(member), why)
        kept = []
        for member in members:
            why = "" if member.pod.node else jobs.get(_group_key(member), "")
            if why:
                self._hold_back(member, why)
            else:
                kept.append(member)
        return kept

    def _count_ended(self, view: View, phase: str) -> None:
        pod = self._workloads.into(read_pod(view, NO_NAMESPACES, Notes()))
        for name in (pod.full_name, *self._names(pod)):
            self.asked.left_out.setdefault(name, f"has ended ({phase}) and holds no place any more")
        ref = gang_of(pod)
        if ref is not None and phase == "Succeeded":
            self._ended[replace(ref, role="")] += 1

    def _jobs(self, reader: JobsReader, members: Sequence[Member]) -> tuple[list[Job], list[Job]]:
        groups: dict[Hashable, list[Member]] = {}
        for member in members:
            groups.setdefault(_group_key(member), []).append(member)
        running: list[Job] = []
        waiting: list[Job] = []
        taken: dict[str, set[str]] = {}
        called: dict[str, set[str]] = {}
        for member in members:
            called.setdefault(member.pod.namespace, set()).add(member.pod.ref.name)
        # What is left of a gang that terminates does not take the gang's name.
        for group in sorted(groups.values(), key=lambda group: group[0].pod.terminating):
            first = group[0]
            chosen = self.asked.chosen(_job_name(first), group)
            if not chosen:
                continue
            ref = first.gang
            namespace = first.pod.namespace
            # Pods of a group may lie in its namespace only; another's names may be the same.
            names = taken.setdefault(namespace, set())
            name = _job_name(first)
            if name in names and first.pod.terminating:
                name += "-terminating"
            name = unused(name, names, called[namespace])
            ended = 0 if ref is None else self._ended[replace(ref, role="")]
            job = reader.read(name, chosen, ended)
            if job is not None:
                names.add(name)
                if system := scheduled_by(first.pod, first.gang):
                    self._systems[job.full_name] = system
                for other in {other for member in chosen for other in self._names(member.pod)}:
                    self._known_as.setdefault(other, set()).add(f"{namespace}/{name}")
                (running if any(member.pod.node for member in chosen) else waiting).append(job)
            else:
                pods = (member.pod.full_name for member in chosen)
                self.asked.left_out |= dict.fromkeys((*pods, f"{namespace}/{name}"), _FOR_OTHERS)
        return running, waiting

    def _names(self, pod: Pod) -> tuple[str, ...]:
        """Return the names by which people know the job of a pod, other than its own."""
        return (*names_of([pod]), *self._workloads.names(pod))

    def _note_resources(self, offered: set[str], jobs: Iterable[Job]) -> None:
        """Name resources that are asked for and that no node offers; they are kept."""
        for job in jobs:
            for podset in job.pod_sets:
                for name in sorted(set(podset.requests) - offered):
                    text = f"pods that ask for {unoffered(name, offered)}"
                    self._notes.add(text, job.full_name, podset.count)


_FOR_OTHERS = "lacks pods that must start with it, and is left out"

_SHOWN_BY = "kubectl get nodes,pods,namespaces,pdb,priorityclasses -A -o json shows them"
_NO_NODES = f"the input has no nodes: {_SHOWN_BY}"
_NO_PODS = f"the input has no pods, so every node counts as empty: {_SHOWN_BY}"
_NO_BUDGETS = "the input has no disruption budgets: if the cluster has any, add pdb to kubectl get"


def _without_cards(pod: Pod, offered: Container[str]) -> Pod:
    """Return a pod without what a scheduler extender counts on cards and no node offers.

    Such pods are not modelled; those that run are no fault of their nodes for it, and those that
    are planned all the same (``--assume gpu-shares``) have room where the rest of them fits.
    """
    asks = pod.shape["requests"].items()
    kept = {name: n for name, n in asks if name in offered or not is_card_share(name)}
    return pod if len(kept) == len(asks) else pod.shaped(requests=kept)


def _group_key(member: Member) -> Hashable:
    """Pods of one key are one job."""
    pod, ref = member.pod, member.gang
    if ref is not None:
        return replace(ref, role="")
    if not pod.owner_name or pod.owner_kind == "Node":
        return (pod.namespace, pod.ref.name, pod.ref.uid)
    # Priority is a job's: pods of one owner made before and after a change are two jobs.
    kind = (pod.owner_kind, pod.owner_name, pod.owner_uid) if not pod.unit else ("unit", pod.unit)
    return (pod.namespace, kind, pod.priority, pod.priority_class, pod.preemption_policy)


def _job_name(member: Member) -> str:
    pod = member.pod
    if member.gang is not None:
        return member.gang.name
    if pod.unit:
        return pod.unit
    return pod.ref.name if not pod.owner_name or pod.owner_kind == "Node" else pod.owner_name
