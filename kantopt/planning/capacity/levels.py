"""Free slots by topology domain as the cluster stands, and the largest gang that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kantopt.planning.capacity.copies import MOST_PODS, Copies
from kantopt.problem.instance import Instance
from kantopt.schema.answers.capacity import DomainRoom, LevelRoom, Share
from kantopt.schema.model import Rule
from kantopt.search.fit_together import fit_together
from kantopt.search.insertion.domains import Domains
from kantopt.search.insertion.fill import room_for
from kantopt.search.shapes import Ints
from kantopt.search.state import State

NODE = "node"
"""Level of single nodes, under the levels of the topology."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Free slots by level and domain."""

    rows: tuple[LevelRoom, ...]
    largest_gang: int | None
    """Pods of the largest gang that fits anywhere; ``None`` with several pod sets."""
    quota_pods: int | None
    """Pods that the queue's quota leaves; ``None`` if it does not limit them."""
    node_by_node: bool
    """Whether rules between pods may leave fewer than the slots of each node by itself."""
    most_now: int | None
    """No plan that moves nobody places more copies: room of each node; ``None`` if it may."""


def levels_of(copies: Copies) -> Levels:
    """Count free slots of each pod set, node by node, and sum them up by domain."""
    form = copies.counted(1) if copies.pods else copies.named(1)
    instance = copies.asked(form, 0)
    job = instance.jobs[-1]
    state = State(instance, instance.current)
    rows: list[LevelRoom] = []
    gang, quota, most = None, None, None
    near = any(state.neighbours.concern(role.podsets[0]) for role in job.roles)
    for role in job.roles:
        s = role.podsets[0]
        room = room_for(state, s, MOST_PODS)
        admitted = state.admitted(s, MOST_PODS)
        together = min(admitted, fit_together(state, s, min(MOST_PODS, max(1, int(room.sum())))))
        rows += _rows(copies, instance, role.name, room, together)
        if len(job.roles) == 1:
            quota = None if admitted >= MOST_PODS else admitted
            gang = together
            if copies.pods and not near:
                most = min(_in_domains(instance, room), admitted) // copies.pods
    return Levels(tuple(rows), gang, quota, near, most)


def _in_domains(instance: Instance, room: Ints) -> int:
    """Pods that fit, in whole slices where there are any."""
    for need in instance.topology_needs:
        if need.job == len(instance.jobs) - 1 and need.slice_level is not None:
            if not instance.on(Rule.SLICES):
                break
            whole = Domains(instance).totals(need.slice_level, room) // need.slice_size
            return int(whole.sum()) * need.slice_size
    return int(room.sum())


def _rows(
    copies: Copies, instance: Instance, name: str, room: Ints, admitted: int
) -> Iterator[LevelRoom]:
    topology, domains = instance.topology, Domains(instance)
    for level, title in enumerate(topology.levels):
        names = [str(domain) for domain in topology.domains[level]]
        yield _row(copies, name, title, names, domains.totals(level, room).tolist(), admitted)
    nodes = [node.name for node in instance.nodes]
    if NODE not in topology.levels:
        yield _row(copies, name, NODE, nodes, room.tolist(), admitted)


def _row(
    copies: Copies, podset: str, level: str, names: list[str], room: list[int], admitted: int
) -> LevelRoom:
    each = copies.pods
    most = admitted // each if each else 0
    order = sorted(range(len(room)), key=lambda d: (-room[d], d))
    fullest = (
        DomainRoom(domain=names[d], pods=room[d], jobs=min(room[d] // each, most) if each else None)
        for d in order
        if room[d]
    )
    shares = Counter(room)
    return LevelRoom(
        pod_set=podset,
        level=level,
        domains=len(names),
        pods=sum(room),
        jobs=min(sum(pods // each for pods in room), most) if each else None,
        histogram=tuple(Share(pods=k, domains=shares[k]) for k in sorted(shares)),
        largest_gang=min(max(room, default=0), admitted),
        fullest=tuple(fullest),
    )
