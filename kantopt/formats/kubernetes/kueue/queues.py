"""Kueue's quotas: ClusterQueues, the trees of Cohorts above them, and flavors.

A tree of cohorts without limits of its own lends as one cohort does, that of its root, in which
what an inner one owns is a queue without jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kantopt.formats.kubernetes.kueue.flavors import Flavors, onto_nodes
from kantopt.formats.kubernetes.kueue.preemption import evictable
from kantopt.formats.kubernetes.kueue.quotas import (
    Group,
    Limits,
    Owner,
    read_groups,
    read_preemption,
)
from kantopt.formats.kubernetes.kueue.workloads import GROUP
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.priorities import Priorities
from kantopt.formats.view import View
from kantopt.schema.jobs import Job
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import Queue, QueueResource, Victims


class KueueQueues:
    """Quotas of Kueue's, and the nodes that they are for.

    Parameters
    ----------
    objects
        All objects of the input.
    pods
        Pods that run or wait: whether each of a queue can be given one flavor alone decides how
        several are counted.
    priorities
        Classes, whose policies are kube-scheduler's and not Kueue's.
    """

    def __init__(self, objects: Objects, pods: Sequence[Pod], priorities: Priorities) -> None:
        self._notes = objects.notes
        self._priorities = priorities
        local = objects.by_name(GROUP, "LocalQueue")
        self.local = {key: view.at("spec").text("clusterQueue") for key, view in local.items()}
        self._flavors = Flavors(objects)
        labels = (view.labels for view in objects.of("", "Node"))
        self._borne = {f"{key}={value}" for of in labels for key, value in of.items()}
        cohorts = objects.named(GROUP, "Cohort")
        self._roots: dict[str, str] = {}
        self._parents: dict[str, str] = {}
        queues = [self._queue(view, cohorts) for view in objects.of(GROUP, "ClusterQueue")]
        self._rows = {rows.name: rows for rows in queues}
        names = {*self._rows}
        self._owned = {name: self._pool(name, cohorts, names) for name in cohorts}
        pools = [*queues, *self._owned.values()]
        self._kinds: dict[tuple[tuple[str, str], str], list[str]] = {}
        for rows in pools:
            for resource, limits in rows.flavors.items():
                kinds = self._kinds.setdefault((rows.pool, resource), [])
                kinds += [flavor for flavor in limits if flavor not in kinds]
        self._free = {*self._undecided(pods)}
        self.queues = [*self._documents(pools, {*map(id, queues)})]

    def of(self, pod: Pod) -> str:
        """Return the ClusterQueue that a pod's LocalQueue leads to; of no queue nothing."""
        return self.local.get((pod.namespace, pod.local_queue), "")

    def into(self, pod: Pod, *, exists: bool) -> Pod:
        """Keep a pod that waits to the nodes of what its queue may give it, as Kueue will.

        One that does not exist yet evicts nobody where Kueue preempts nobody for its queue, unless
        Kueue would let it go as it is: then it is for kube-scheduler to do so.
        """
        rows = None if pod.node else self._rows.get(self.of(pod))
        if rows is None:
            return pod
        if not (exists or pod.quota_reserved):
            if not (rows.preemption.own or rows.preemption.others):
                text = "queues for which Kueue preempts nobody: who lacks quota there evicts nobody"
                self._notes.once(text, rows.name)
                pod = replace(pod, preemption_policy="Never")
            elif self._priorities.preempts_nobody(pod):
                # Kueue asks its queue, not the policy that its pods will have.
                pod = replace(pod, preemption_policy="PreemptLowerPriority")
        if lacks := self._uncovered(pod, rows):
            what = f"{', '.join(lacks)} in {rows.name}"
            text = "pods whose queue has no quota of what they ask for are planned for all the same"
            text = f"{text}; Kueue takes them only where excludeResourcePrefixes leaves out {what}"
            self._notes.add(text, pod.full_name)
        for group in _asked(pod, rows):
            chosen = self._choice(pod, rows, group)
            pod = onto_nodes(pod, [self._flavors.get(name) for name in chosen or group])
            if len(chosen) != 1:
                text = "pods that several flavors of their queue suit, or none, take any"
                self._notes.add(text, pod.full_name)
        return pod

    def evictable(
        self, running: Sequence[Job], waiting: Sequence[Job]
    ) -> tuple[list[Job], list[Victims]]:
        """Return the jobs that wait, and of which queues Kueue evicts jobs for those it has."""
        owned = self._owned.values()
        return evictable(self._rows, owned, self._parents, running, waiting, self._notes)

    def _uncovered(self, pod: Pod, rows: Owner) -> list[str]:
        """Resources, but pods, that a pod asks for and its queue has no quota of."""
        covered = {"pods", *rows.flavors}
        return [r for r, amount in pod.shape["requests"].items() if amount and r not in covered]

    def keeps_back(self, pod: Pod) -> str:
        """Say why Kueue gives a pod that waits for it no flavor of its queue; empty if it may.

        It gives all of its kind one flavor together. What several flavors own is added up, so that
        no quota would say that each is too small.
        """
        rows = self._rows.get(self.of(pod))
        if rows is None or pod.node or pod.quota_reserved:
            return ""
        for group in _asked(pod, rows):
            suiting = self._suiting(pod, group)
            if not suiting:
                return "by flavors of their queue, none of which suits them"
            several = len(suiting) > 1 and not rows.cohort
            if several and not any(_holds(pod, group[name]) for name in suiting):
                return "by quotas of flavors, of which each is too small"
        return ""

    def _choice(self, pod: Pod, rows: Owner, group: Group) -> list[str]:
        suiting = self._suiting(pod, group)
        if rows.cohort:
            return suiting
        return [name for name in suiting if _holds(pod, group[name])] or suiting

    def _suiting(self, pod: Pod, group: Mapping[str, object]) -> list[str]:
        given = [name for name in group if name in pod.kueue_flavors]
        return given or self._flavors.suiting(pod, group)

    def _undecided(self, pods: Sequence[Pod]) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield pools and resources of which some pod may be given one of several flavors."""
        for pod in pods:
            if (rows := self._rows.get(self.of(pod))) is not None:
                for group in _asked(pod, rows):
                    if len(self._choice(pod, rows, group)) != 1:
                        for resources in group.values():
                            yield from ((rows.pool, resource) for resource in resources)

    def _queue(self, view: View, cohorts: Mapping[str, View]) -> Owner:
        name, spec = view.at("metadata").name(), view.at("spec")
        inside = spec.text("cohortName") or spec.text("cohort")
        cohort = self._root(inside, cohorts)
        weight = spec.at("fairSharing").amount("weight", "cpu")  # in thousandths, as those of cores
        groups = tuple(read_groups(spec))
        return Owner(
            name=name or "?",
            cohort=cohort,
            inside=inside,
            groups=groups,
            weight=1 if weight is None else from_base("cpu", weight),
            preemption=read_preemption(view, cohort, self._notes),
            strict=spec.text("queueingStrategy") == "StrictFIFO",
            finds=self._flavors.topology(flavor for group in groups for flavor in group),
        )

    def _root(self, cohort: str, cohorts: Mapping[str, View]) -> str:
        """Return the root above a cohort; of a circle, in which nobody lends, nothing."""
        chain: dict[str, None] = {}
        found, above = "", cohort
        while above:
            if above in self._roots or above in chain:
                found = self._roots.get(above, "")
                break
            chain[above] = None
            found, above = above, _parent(cohorts[above]) if above in cohorts else ""
            self._parents[found] = above
        if above in chain:
            for name in [*chain][[*chain].index(above) :]:
                self._notes.add("cohorts in a circle of parents lend nothing", name)
        self._roots.update(dict.fromkeys(chain, found))
        return found

    def _pool(self, name: str, cohorts: Mapping[str, View], taken: set[str]) -> Owner:
        """Read what a cohort owns as a queue that nobody uses."""
        spec = cohorts[name].at("spec")
        groups = tuple(read_groups(spec))
        bounded = any(
            limits[1:] != (None, None)
            for group in groups
            for resources in group.values()
            for limits in resources.values()
        )
        if bounded:
            text = "limits to what cohorts borrow and lend are left out: only those of queues hold"
            self._notes.add(text, name)
        if spec.at("fairSharing").amount("weight", "cpu") not in (None, 1000):
            self._notes.add("weights of cohorts are left out: those of queues count", name)
        called = f"cohort-{name}"
        while called in taken:
            called += "-own"
        taken.add(called)
        plain = tuple(
            {
                flavor: {r: (nominal, None, None) for r, (nominal, _, _) in resources.items()}
                for flavor, resources in group.items()
            }
            for group in groups
        )
        return Owner(
            name=called,
            cohort=self._root(name, cohorts),
            inside=name,
            groups=plain,
            bounded=bounded,
        )

    def _documents(self, pools: Sequence[Owner], jobs: set[int]) -> Iterator[Queue]:
        for rows in pools:
            found: list[QueueResource] = []
            for resource, limits in rows.flavors.items():
                found += self._resource(rows, resource, limits)
            if id(rows) in jobs or (found and rows.cohort):
                yield Queue(
                    name=rows.name,
                    cohort=rows.cohort,
                    weight=rows.weight,
                    resources=tuple(found),
                    strict_order=rows.strict,
                )

    def _resource(
        self, rows: Owner, resource: str, limits: Mapping[str, Limits]
    ) -> Iterator[QueueResource]:
        """Yield one row in all or, where flavors are told apart by labels, one for each."""
        kinds = self._kinds[rows.pool, resource]
        apart = {name: self._flavors.label(name, kinds) for name in kinds}
        if len(kinds) > 1 and all(apart.values()) and (rows.pool, resource) not in self._free:
            for name, own in limits.items():
                if not self._borne or apart[name] in self._borne:
                    yield _row(resource or "?", own, apart[name])
                else:  # its pods are kept to nodes that are not there, so nobody uses it
                    text = "flavors of which the input has no nodes: their quotas are left out"
                    self._notes.add(text, name)
            return
        text = ""
        if len(limits) > 1:
            text = "queues with several flavors: their quotas are added up"
        elif len(kinds) > 1:
            text = "queues whose cohort has other flavors lend and borrow across them here"
        if text:
            self._notes.add(text, f"{resource} of {rows.name}")
        yield _row(resource or "?", rows.total[resource], None)


def _parent(cohort: View) -> str:
    spec = cohort.at("spec")
    return spec.text("parentName") or spec.text("parent")


def _asked(pod: Pod, rows: Owner) -> Iterator[Group]:
    """Yield the groups of which a pod asks for any resource."""
    for group in rows.groups:
        if any(pod.shape["requests"].get(r) for resources in group.values() for r in resources):
            yield group


def _holds(pod: Pod, flavor: Mapping[str, Limits]) -> bool:
    """Whether a flavor of a queue that borrows nothing has quota for all pods of a kind."""
    asked = {r: to_base(r, amount) for r, amount in pod.shape["requests"].items() if r in flavor}
    return all(pod.kueue_count * amount <= flavor[r][0] for r, amount in asked.items())


def _row(resource: str, limits: Limits, nodes: str | None) -> QueueResource:
    nominal, borrow, lend = limits
    return QueueResource(
        name=resource,
        nominal_quota=from_base(resource, nominal),
        borrowing_limit=None if borrow is None else from_base(resource, borrow),
        lending_limit=None if lend is None else from_base(resource, lend),
        nodes=nodes,
    )
