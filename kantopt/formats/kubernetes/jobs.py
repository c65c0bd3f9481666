"""Pods into jobs: gangs by their group, other pods by owner, identical pods as one pod set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kantopt.formats.kubernetes.closeness import Closeness
from kantopt.formats.kubernetes.demands import BEYOND, Gang, Wish
from kantopt.formats.kubernetes.gangs import (
    PODSET,
    Dialect,
    GangRef,
    level_wish,
    names_workload,
    scheduled_by,
)
from kantopt.formats.kubernetes.pod_groups import PodGroups
from kantopt.formats.kubernetes.pods import QUEUE_NAME, Pod
from kantopt.formats.kubernetes.priorities import Priorities
from kantopt.formats.kubernetes.queues import Queues
from kantopt.formats.kubernetes.restarts import Restarts
from kantopt.formats.kubernetes.runtime import last_checkpoint, min_runtime
from kantopt.formats.kubernetes.stays import Stays
from kantopt.formats.kubernetes.topology import Levels
from kantopt.formats.notes import Notes
from kantopt.schema.jobs import Assignment, Job, PodRef, PodSet
from kantopt.schema.snapshot import NODE_NAME
from kantopt.schema.stays import Cause, Fixed

_PREEMPTIBLE = "quota.scheduling.koordinator.sh/preemptible"
_DAEMONS = ("DaemonSet", "Node")
"""Kinds of owners whose pods belong to their nodes; static pods are owned by the node itself."""


@dataclass(frozen=True, slots=True)
class Member:
    """Pods of a job: one that exists, or ``count`` of a template."""

    pod: Pod
    gang: GangRef | None
    count: int = 1
    exists: bool = True
    held_back: str = ""
    """What keeps it from starting for now: the rest of *held back ...*; empty if nothing does."""


class JobsReader:
    """Turns the pods of one job into a job document."""

    def __init__(
        self,
        groups: PodGroups,
        restarts: Restarts,
        stays: Stays,
        priorities: Priorities,
        queues: Queues,
        levels: Levels,
        selected_labels: frozenset[str],
        notes: Notes,
    ) -> None:
        self._close = Closeness(levels, notes)
        self._groups = groups
        self._restarts = restarts
        self._stays = stays
        self._priorities = priorities
        self._queues = queues
        self._selected = selected_labels
        self._notes = notes
        self.tied: dict[str, tuple[str, ...]] = {}
        """Claims for one node with which several pods of a job wait, by NAMESPACE/NAME."""

    @property
    def levels(self) -> Levels:
        """Levels of the cluster, with those that jobs have asked for."""
        return self._close.levels

    def read(self, name: str, members: Sequence[Member], ended: int) -> Job | None:
        """Make one job; ``None`` for a gang that lacks pods it cannot start without.

        Parameters
        ----------
        name
            Name of the job.
        members
            Its pods, all of one gang or of none.
        ended
            Pods of the gang that have ended; they need no place any more.
        """
        pods = [member.pod for member in members]
        first, ref = pods[0], members[0].gang
        alone = Gang() if any(pod.follows for pod in pods) else Gang(min_count=0)
        gang = alone if ref is None else self._groups.demands(ref, pods)
        seen = sum(member.count for member in members)
        minimum = None if gang.min_count is None else max(0, gang.min_count - ended)
        if minimum is not None and minimum > seen:
            if not any(pod.node for pod in pods):
                text = "pending gangs that lack pods which must start with them are left out"
                self._notes.add(text, f"{first.namespace}/{name}: {seen} of {minimum} pods")
                return None
            minimum = seen
        priority = self._priority(gang, pods)
        lasting = [self._lasts(ref, gang, pod, priority) for pod in pods]
        members = [
            replace(member, pod=self._stays.lasting(member.pod)) if lasts else member
            for member, lasts in zip(members, lasting, strict=True)
        ]
        pods = [member.pod for member in members]
        pinned = [bool(pod.pinned) for pod in pods]
        queue = self._queue(first, ref, gang)
        if queue in self._queues.with_quota and any(lasting) and not any(pod.node for pod in pods):
            text = "jobs that KAI starts only within their queue's quota: here its limit counts"
            self._notes.add(text, f"{first.namespace}/{name}")
        wish = dict(gang.wish)
        if ref is not None and ref.dialect is Dialect.KAI and not wish:
            wish = level_wish(first)
        wish |= self._tier(gang) | self._within(gang, first)
        sets = self._pod_sets(ref, gang, wish, members, pinned, minimum)
        if tied := _shared(members):
            self.tied[f"{first.namespace}/{name}"] = tuple(sorted(tied))
        own = {fields["near"] for fields in sets}
        if len(sets) > 1 and len(own) == 1 and len({fields["role"] for fields in sets}) == 1:
            # What a selector tells apart is still one role, and its closeness is the whole's.
            wish = {**sets[0]["wish"], **wish}
            for fields in sets:
                fields["wish"] = {}
        owners = {pod.owner_uid for pod in pods}
        created = sorted(pod.created for pod in pods if pod.created)
        started = sorted(pod.started for pod in pods if pod.started and pod.node)
        bearable = self._restarts.of(pods)
        whole = all(pinned)
        stays = all(
            fixed or bool(member.pod.homebound)
            for fixed, member in zip(pinned, members, strict=True)
        )
        return Job(
            name=name,
            namespace=first.namespace,
            uid=first.submitted or (first.owner_uid if len(owners) == 1 else ""),
            queue_name=queue,
            workload=_workload(members),
            quota_reserved=bool(queue) and any(pod.quota_reserved for pod in pods),
            priority=priority,
            pod_priority=self._of_pods(ref, gang, pods),
            priority_class_name=self._priorities.known(gang.priority_class or first.priority_class),
            preemption_policy=gang.preemption_policy or first.preemption_policy,  # type: ignore[arg-type]
            preemptible=not whole,
            movable=not stays,
            daemon=all(pod.owner_kind in _DAEMONS for pod in pods),
            max_moves=bearable.moves,
            max_moves_at_once=bearable.at_once,
            disruption_mode="all" if any(pod.unit for pod in pods) else gang.disruption,
            min_count=minimum if len(sets) > 1 and minimum else None,
            topology_request=self._close.request(wish, seen, first),
            creation_time=created[0] if created else None,
            start_time=started[0] if started else None,
            last_checkpoint_time=last_checkpoint(pods, self._notes),
            min_runtime=min_runtime(pods, self._notes),
            reservation=first.reservation,
            pod_sets=self._documents(sets, whole, stays, first, bearable.causes),
        )

    def _priority(self, gang: Gang, pods: Sequence[Pod]) -> int:
        if self._priorities.own(gang) is None:
            for pod in pods:
                name = pod.priority_class
                if name and pod.priority is None and self._priorities.value(name) is None:
                    given, meant = self._priorities.of(pod), self._priorities.meant(name)
                    text = f"pods whose priority class {name} is not in the input count as {given}"
                    self._notes.add(f"{text}{meant}", pod.full_name)
            if len({self._priorities.of(pod) for pod in pods}) > 1:
                text = "gangs of pods of several priorities are given the highest"
                self._notes.add(text, pods[0].full_name)
        return self._priorities.of_all(gang, pods)

    def _of_pods(self, ref: GangRef | None, gang: Gang, pods: Sequence[Pod]) -> int | None:
        """Return what kube-scheduler takes pods for, where their Workload counts for otherwise."""
        by_kueue = ref is not None and ref.dialect is Dialect.KUEUE
        found = self._priorities.apart(gang, pods) if by_kueue else None
        if found is not None:
            text = "jobs whose pods have another priority than their Workload: Kueue goes by its"
            self._notes.add(f"{text}, kube-scheduler by theirs", pods[0].full_name)
        return found

    def _lasts(self, ref: GangRef | None, gang: Gang, pod: Pod, priority: int) -> bool:
        """Whether KAI, Koordinator or YuniKorn takes no room from a pod: it is not preemptible."""
        if pod.labels.get(_PREEMPTIBLE) == "false":
            return True
        if pod.scheduler == "yunikorn" and self._priorities.spares(pod):
            return True
        by_kai = ref is not None and ref.dialect is Dialect.KAI
        if not by_kai and pod.scheduler != "kai-scheduler":
            return False
        if gang.preemptible is not None:
            return not gang.preemptible
        wish = pod.labels.get("kai.scheduler/preemptibility", "")
        return wish != "preemptible" if wish else priority >= 100

    def _pod_sets(
        self,
        ref: GangRef | None,
        gang: Gang,
        of_all: Wish,
        members: Sequence[Member],
        pinned: Sequence[bool],
        minimum: int | None,
    ) -> list[dict[str, Any]]:
        """Put pods that are alike together: same needs, role, standing and selected labels."""
        alike: dict[str, dict[str, Any]] = {}
        shared = _shared(members)
        for member, fixed in zip(members, pinned, strict=True):
            pod = member.pod
            role = member.gang.role if member.gang is not None else ""
            wish: Wish = gang.role_wish.get(role, {})
            if not wish and ref is not None and ref.dialect is Dialect.KUEUE:
                wish = level_wish(pod)
            if not shared.isdisjoint(_waits_with(member)):
                wish = {"required": NODE_NAME}
            if any(map(self._close.goes_beyond, (wish, of_all))):
                missing = dict.fromkeys((*pod.shape["not_modelled"], "constraints"))
                pod = pod.shaped(not_modelled=tuple(sorted(missing)))
            selected = {k: v for k, v in sorted(pod.labels.items()) if k in self._selected}
            home = fixed or bool(pod.homebound)
            near = repr((sorted(wish.items()), pod.waits_with))
            key = repr((role, fixed, home, selected, near, pod.leads, pod.shape))
            fields = alike.setdefault(
                key,
                {
                    "role": role,
                    "pinned": fixed,
                    "home": home,
                    "wish": wish,
                    "near": near,
                    "shape": pod.shape,
                    "members": [],
                },
            )
            fields["members"].append(member)
        sets = list(alike.values())
        roles = [fields["role"] for fields in sets]
        for fields in sets:
            count = sum(member.count for member in fields["members"])
            fields["count"] = count
            fields["min"] = None
            if fields["members"][0].pod.leads:
                fields["min"] = count  # without it the others go too
            elif minimum == 0:
                fields["min"] = 0
            elif len(sets) == 1 and minimum is not None:
                fields["min"] = minimum
            elif fields["role"] in gang.role_min:
                if roles.count(fields["role"]) == 1:
                    fields["min"] = min(gang.role_min[fields["role"]], count)
                else:
                    text = "roles of unlike pods: their minimum holds for the gang only"
                    self._notes.add(text, fields["members"][0].pod.full_name)
        return sets

    def _documents(
        self,
        sets: Iterable[dict[str, Any]],
        whole: bool,
        stays: bool,
        first: Pod,
        causes: tuple[Cause, ...],
    ) -> tuple[PodSet, ...]:
        taken: list[str] = []
        documents = []
        for fields in sets:
            name = unused(fields["role"] or "main", taken)
            taken.append(name)
            members: list[Member] = fields["members"]
            by_node: dict[str, list[Member]] = {}
            for member in members:
                if member.pod.node:
                    by_node.setdefault(member.pod.node, []).append(member)
            apart = fields["pinned"] and not whole
            documents.append(
                PodSet(
                    name=name,
                    count=fields["count"],
                    min_count=fields["min"],
                    labels=_common([self._labels(member) for member in members]),
                    topology_request=self._close.request(fields["wish"], fields["count"], first),
                    preemptible=False if apart else None,
                    movable=False if fields["home"] and not stays else None,
                    stays=_causes((member.pod for member in members), causes),
                    assignments=tuple(
                        Assignment(node=node, count=len(there), pods=_named(there))
                        for node, there in sorted(by_node.items())
                    ),
                    pods=_named(member for member in members if not member.pod.node),
                    **fields["shape"],
                )
            )
        return tuple(documents)

    def _labels(self, member: Member) -> dict[str, str]:
        """Labels of a pod, with that of its queue of Kueue's where only its Workload tells that.

        That of its part of a Workload says that its job is called as that is. So it goes where the
        Workload is not known, unless a selector looks at it.
        """
        pod = member.pod
        labels = {QUEUE_NAME: pod.local_queue, **pod.labels} if pod.local_queue else pod.labels
        if PODSET in labels and PODSET not in self._selected and not _workload_of(member):
            labels = {key: value for key, value in labels.items() if key != PODSET}
        return labels

    def _queue(self, pod: Pod, ref: GangRef | None, gang: Gang) -> str:
        other = (
            gang.queue
            or pod.labels.get("kai.scheduler/queue", "")
            or pod.annotations.get("scheduling.volcano.sh/queue-name", "")
            or self._queues.default_of(scheduled_by(pod, ref))
        )
        return self._queues.find(pod.namespace, pod.local_queue, other)

    def _tier(self, gang: Gang) -> Wish:
        if gang.tier is None:
            return {}
        level = self.levels.tier(gang.tier)
        if level is None:
            self._notes.add("network tiers without HyperNodes are left out", f"tier {gang.tier}")
            return {BEYOND: 1} if gang.tier_is_hard else {}
        return {"required" if gang.tier_is_hard else "preferred": level} if level else {}

    def _within(self, gang: Gang, first: Pod) -> Wish:
        """Return the finest of several levels: its domains lie in those of the others."""
        asked = [self._close.known(key, first) for key in gang.within]
        found = [level for level in asked if level is not None]
        names = [level.name for level in self.levels.topology.levels]
        finest: Wish = {"required": max(found, key=names.index)} if found else {}
        return finest if len(found) == len(asked) else {**finest, BEYOND: 1}


def _waits_with(member: Member) -> tuple[str, ...]:
    """Claims for one node with which a pod waits."""
    return () if member.pod.terminating else member.pod.waits_with


def _shared(members: Sequence[Member]) -> set[str]:
    """Claims for one node with which several pods wait."""
    waits = Counter[str]()
    for member in members:
        waits.update(dict.fromkeys(_waits_with(member), member.count))
    return {name for name, pods in waits.items() if pods > 1}


def _causes(pods: Iterable[Pod], causes: Iterable[Cause]) -> tuple[Cause | Fixed, ...]:
    """Return why pods that run are left where they are: each for itself, or all of their job."""
    found = [{*causes, *pod.homebound} for pod in pods if pod.node]
    return tuple(sorted(set().union(*found)))


def _named(members: Iterable[Member]) -> tuple[PodRef, ...]:
    return tuple(member.pod.ref for member in members if member.exists)


def _workload_of(member: Member) -> str:
    """Name of the Workload by which Kueue admits a pod, if nobody else says what gang it is of."""
    name, ref = names_workload(member.pod), member.gang
    return name if ref and (ref.dialect, ref.name) == (Dialect.KUEUE, name) else ""


def _workload(members: Iterable[Member]) -> str:
    """Name of the Workload by which Kueue admits a job; without pods the job is called like it."""
    names = {_workload_of(member) for member in members if member.exists}
    return names.pop() if len(names) == 1 else ""


def unused(name: str, taken: Iterable[str], others: Container[str] = ()) -> str:
    """Return the name, numbered if it is taken: not so as any of ``others`` is called."""
    names = set(taken)
    number, free = 1, name
    while free in names or (number > 1 and free in others):
        number += 1
        free = f"{name}-{number}"
    return free


def _common(labels: Sequence[dict[str, str]]) -> dict[str, str]:
    """Labels that all pods share; those that differ tell pods apart, not pod sets."""
    return {k: v for k, v in sorted(labels[0].items()) if all(o.get(k) == v for o in labels)}
