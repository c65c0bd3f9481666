"""Reservations as ``scontrol show`` prints them, and limits of time of jobs that heed them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from kantopt.formats.slurm.names import RESERVATION, USER
from kantopt.schema.eligibility import AHEAD, is_ahead
from kantopt.schema.hostlist import compress_hostlist
from kantopt.schema.jobs import Job, PodSet
from kantopt.schema.snapshot import Node


def reservations_text(nodes: Sequence[Node], jobs: Sequence[Job]) -> Iterator[str]:
    """Write those that hold nodes now, and those that are to; some draw jobs of their users."""
    held: dict[str, list[str]] = {}
    later: dict[str, list[str]] = {}
    for node in nodes:
        for name in _marks(node.labels):
            held.setdefault(name, []).append(node.name)
        for name in _starts([node]):
            later.setdefault(name, []).append(node.name)
    starts = _starts(nodes)
    podsets = [(job, podset) for job in jobs for podset in job.pod_sets]
    for name, hosts in sorted(held.items()):
        users = {_user(*each) for each in podsets if name in _unasked(each[1])}
        yield _text(name, hosts, users, "State=ACTIVE")
    for name, hosts in sorted(later.items()):
        start = datetime.fromisoformat(starts[name])
        span = f"StartTime={start.timestamp():.0f} EndTime={start.timestamp() + 3600:.0f}"
        users = {_user(*each) for each in podsets if name in _drawn(each[1], starts)}
        yield _text(name, hosts, users, f"State=INACTIVE {span}")


def limit_text(podset: PodSet, nodes: Sequence[Node], moment: str | None) -> str:
    """Return how long a job may run so that it may come where it may; nothing if all are alike."""
    starts = _starts(nodes)
    if moment is None or not starts:
        return ""
    early = {*starts} & _tolerated(podset) - _drawn(podset, starts)
    early = early if podset.outlasts else {*starts}
    if not early:
        return "UNLIMITED"
    until = datetime.fromisoformat(min(starts[name] for name in early))
    rest = until - datetime.fromisoformat(moment)
    clock = timedelta(seconds=rest.seconds)
    return f"{rest.days}-{clock!s:0>8}"


def _marks(keys: Iterable[str]) -> list[str]:
    return [key.removeprefix(RESERVATION) for key in keys if key.startswith(RESERVATION)]


def _starts(nodes: Sequence[Node]) -> dict[str, str]:
    """Return when those begin that are to hold nodes."""
    return {
        taint.key.removeprefix(RESERVATION): taint.value.removeprefix(AHEAD)
        for node in nodes
        for taint in node.taints
        if is_ahead(taint) and taint.key.startswith(RESERVATION)
    }


def _tolerated(podset: PodSet) -> set[str]:
    return {*_marks(toleration.key for toleration in podset.tolerations)}


def _unasked(podset: PodSet) -> set[str]:
    return _tolerated(podset).difference(_marks(podset.node_selector))


def _drawn(podset: PodSet, starts: Mapping[str, str]) -> set[str]:
    """Return those to come that a job tolerates for another reason than that it ends before."""
    mine = _tolerated(podset)
    shut = (start for name, start in starts.items() if podset.outlasts and name not in mine)
    latest = max(shut, default="")
    return {name for name, start in starts.items() if name in mine and start <= latest}


def _user(job: Job, podset: PodSet) -> str:
    return podset.labels.get(USER, job.namespace)


def _text(name: str, hosts: Sequence[str], users: set[str], state: str) -> str:
    drawn = ",".join(sorted(users))
    flags = "MAGNETIC,SPEC_NODES" if drawn else "SPEC_NODES"
    return (
        f"ReservationName={name}\n"
        f"   Nodes={compress_hostlist(hosts)} NodeCnt={len(hosts)} Flags={flags}\n"
        f"   Users={drawn or '(null)'} Accounts=(null) {state}\n\n"
    )
