"""Pods that wait where Kueue has assigned them by topology: nobody else gets that room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from kantopt.formats.kubernetes.jobs import Member
from kantopt.formats.kubernetes.kueue.domains import hosts_of
from kantopt.formats.kubernetes.kueue.workloads import GROUP
from kantopt.formats.kubernetes.objects import Objects
from kantopt.schema.snapshot import HOSTNAME, Node


def with_assigned(
    members: Sequence[Member], objects: Objects, nodes: Iterable[Node]
) -> Iterator[Member]:
    """Yield members, those that wait nominated to the nodes that their Workload was given.

    Which of its pods goes to which of these nodes Kueue says once it lets the pod go, by its
    ``nodeSelector``; others take what is left, as far as each node was given for so many. Domains
    of several nodes name no node.
    """
    workloads = {view.key: view for view in objects.of(GROUP, "Workload")}
    by_host = {host: node.name for node in nodes if (host := node.labels.get(HOSTNAME))}
    told = [by_host.get(m.pod.shape["node_selector"].get(HOSTNAME, ""), "") for m in members]
    left: dict[tuple[str, str, str], Counter[str]] = {}
    for member, own in zip(members, told, strict=True):
        pod = member.pod
        if pod.assignment is None:
            continue
        if pod.assignment not in left:
            namespace, name, role = pod.assignment
            hosts = hosts_of(workloads[namespace, name], role)
            found = {by_host[host]: count for host, count in hosts.items() if host in by_host}
            left[pod.assignment] = Counter(found)
        if not pod.terminating:
            left[pod.assignment][pod.node or own] -= member.count
    for member, own in zip(members, told, strict=True):
        pod = member.pod
        if pod.assignment is None or pod.node:
            yield member
            continue
        chosen = [own] if own else [*islice(left[pod.assignment].elements(), member.count)]
        if not own:
            left[pod.assignment].subtract(chosen)
        for node in chosen:
            yield replace(member, pod=replace(pod, nominated=node), count=1)
        if rest := member.count - len(chosen):
            yield replace(member, count=rest)
