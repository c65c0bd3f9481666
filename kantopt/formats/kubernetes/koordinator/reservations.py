"""Room that Koordinator's Reservations hold: who has it, and who of those that wait will.

A pinned job stands for what is left of a reservation. An owner that waits and fits counts as placed
there, as one does whom kube-scheduler has nominated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kantopt.clock import rfc3339
from kantopt.formats.kubernetes.jobs import Member
from kantopt.formats.kubernetes.koordinator.reservation_owners import (
    admits,
    is_owner,
    read_owners,
    wants_one,
)
from kantopt.formats.kubernetes.koordinator.whole_gpus import WholeGpus
from kantopt.formats.kubernetes.namespaces import NO_NAMESPACES
from kantopt.formats.kubernetes.nodes import selector_keys
from kantopt.formats.kubernetes.nominated import Amounts, may_enter, requests_of, room_of, take
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod, read_pod
from kantopt.formats.kubernetes.priorities import Priorities
from kantopt.formats.kubernetes.runtime import duration_seconds
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.quantity import from_base
from kantopt.schema.reservation import Reservation
from kantopt.schema.snapshot import Node

GROUP = "scheduling.koordinator.sh"
KIND = "Reservation"
"""Kind of what a pod that holds reserved room belongs to."""
_PHASES = ("", "Pending", "Available", "Waiting", "Succeeded", "Failed")
_LOOKS_AT_OTHERS = (
    "host_ports",
    "pod_affinity",
    "pod_anti_affinity",
    "topology_spread_constraints",
    "volume_node_affinity",
    "exclusive_claims",
    "not_modelled",
)
"""What decides about a pod's place beside its node: only the search asks it."""


@dataclass(slots=True)
class _Room:
    """What a reservation has left."""

    view: View
    name: str
    node: Node
    left: Amounts
    told: Reservation
    open: bool
    """Whether it takes one more owner."""


def with_reservations(
    members: Sequence[Member],
    objects: Objects,
    nodes: Iterable[Node],
    gpus: WholeGpus,
    priorities: Priorities,
    now: str | None,
) -> list[Member]:
    """Put owners that wait into the room that is reserved for them, and say what is left of it.

    Parameters
    ----------
    members
        Pods that hold a place or wait for one.
    objects
        All objects of the input; what holds nothing, and who waits without, is noted.
    nodes
        The nodes of the input.
    gpus
        What tells GPUs by one name.
    priorities
        What tells how important pods are: the most important owner comes first.
    now
        When the cluster was like this; ``None``: nobody knows, and no reservation is over.
    """
    views, notes = objects.of(GROUP, KIND), objects.notes
    if not views and not any(wants_one(member.pod) for member in members):
        return list(members)
    by_name = {node.name: node for node in nodes}
    rooms = [room for view in views if (room := _room(view, by_name, gpus, now, notes)) is not None]
    free = {room.node.name: room_of(room.node) for room in rooms}
    for member in members:
        if member.pod.node in free:
            take(free[member.pod.node], requests_of(member.pod))
    for room in rooms:
        take(free[room.node.name], room.left)
    placed = _placed(members, rooms, free, priorities, notes)
    found = [*_settled(members, placed, _staying(rooms), notes)]
    held = (room for room in rooms if any(n for r, n in room.left.items() if r != "pods"))
    return [*found, *(Member(_holder(room, notes), None) for room in held)]


def _room(
    view: View, nodes: Mapping[str, Node], gpus: WholeGpus, now: str | None, notes: Notes
) -> _Room | None:
    name, spec, status = view.at("metadata").name(), view.at("spec"), view.at("status")
    phase, at = status.choice("phase", _PHASES, ""), status.text("nodeName")
    if phase in ("Succeeded", "Failed"):
        notes.add("reservations that have ended hold nothing", name)
    elif phase != "Available":
        notes.add("reservations that wait to be available hold nothing", name)
    elif _is_over(view, now):
        notes.add("reservations whose time is over hold nothing", name)
    elif at not in nodes:
        text = "reservations on nodes that are not in the input are left out"
        notes.add(text, f"{name} on {at or 'none'}")
    else:
        node = nodes[at]
        total = status.amounts("allocatable")
        if not total:
            total = requests_of(read_pod(_named(view, spec.at("template")), NO_NAMESPACES, Notes()))
        total, used = gpus.beside(total), gpus.beside(status.amounts("allocated"))
        left = {r: max(0, n - used.get(r, 0)) for r, n in total.items() if r in node.allocatable}
        for resource in sorted({*total} - {*node.allocatable}):
            text = f"reservations of {resource}, which their nodes do not offer, hold none of it"
            notes.add(text, name)
        closed = spec.flag("unschedulable") or next(spec.list("taints"), None) is not None
        if closed:
            notes.add("reservations that are closed or tainted take no owner here", name)
        return _Room(
            view,
            name,
            node,
            # It counts as a pod of its node as long as it holds anything.
            {**left, "pods": 1},
            Reservation(
                owners=read_owners(view),
                once=spec.raw.get("allocateOnce") is not False,
                restricted=spec.text("allocatePolicy") == "Restricted",
                closed=closed,
                until=_end(view),
            ),
            open=not closed,
        )
    return None


def _is_over(view: View, now: str | None) -> bool:
    """Whether its time is over."""
    end = _end(view)
    if now is None or end is None:
        return False
    return datetime.fromisoformat(end) <= datetime.fromisoformat(now)


def _end(view: View) -> str | None:
    """Return when its time is over: ``expires``, else ``ttl`` since its creation (0: for ever)."""
    spec, text = view.at("spec"), view.at("spec").text("ttl")
    created, expires = view.at("metadata").time("creationTimestamp"), spec.time("expires")
    seconds = duration_seconds(text)
    if text not in ("", "0") and seconds is None:
        spec.problem("ttl", "a duration such as 10m or 1h30m")
    if expires is not None or not seconds or created is None:
        return expires
    try:
        return rfc3339(datetime.fromisoformat(created) + timedelta(seconds=float(seconds)))
    except OverflowError:
        return None  # beyond what a calendar can name


def _placed(
    members: Sequence[Member],
    rooms: Sequence[_Room],
    free: Mapping[str, Amounts],
    priorities: Priorities,
    notes: Notes,
) -> dict[int, str]:
    """Take room for the owners that wait, and return the node of each by its index."""
    placed: dict[int, str] = {}
    order = sorted(range(len(members)), key=lambda i: (-priorities.of(members[i].pod), i))
    for i in order:
        pod = members[i].pod
        mine = [room for room in rooms if room.open and is_owner(pod, room.told.owners)]
        if pod.node or not mine:
            continue
        if not members[i].exists or any(pod.shape.get(name) for name in _LOOKS_AT_OTHERS):
            text = "owners of reservations that ask for more than room on a node wait without it"
            notes.add(text, pod.full_name, members[i].count)
            continue
        for room in mine:
            if admits(pod, room.view) and _enter(pod, room, free[room.node.name]):
                placed[i] = room.node.name
                break
    return placed


def _enter(pod: Pod, room: _Room, free: Amounts) -> bool:
    """Take what a pod asks for, of a reservation first and then of its node, if it fits."""
    if not may_enter(pod, room.node):
        return False
    asks = requests_of(pod)
    pods = asks.pop("pods", 0)
    inside = {r: min(n, room.left.get(r, 0)) for r, n in asks.items()}
    rest = {r: n for r, n in room.left.items() if r != "pods"}
    take(rest, inside)
    ends = room.told.once or not any(rest.values())
    outside = {r: n - inside[r] for r, n in asks.items()} | {"pods": pods - ends}
    if room.told.restricted and any(outside[r] for r in asks if r in room.left):
        return False
    if any(n > free.get(r, 0) for r, n in outside.items() if n > 0):
        return False
    take(free, outside)
    room.open = not ends
    if ends:
        take(free, {r: -n for r, n in rest.items()})
        rest = {}
    room.left = {**rest, "pods": 0 if ends else 1}
    return True


def _staying(rooms: Iterable[_Room]) -> set[tuple[str, str]]:
    """Return who runs in a reservation that takes the room back, by namespace and name."""
    return {
        (owner.text("namespace") or "default", owner.text("name"))
        for room in rooms
        if not room.told.once
        for owner in room.view.at("status").list("currentOwners")
    }


def _settled(
    members: Sequence[Member],
    placed: Mapping[int, str],
    staying: set[tuple[str, str]],
    notes: Notes,
) -> Iterator[Member]:
    """Yield all pods: owners are neither moved nor evicted, for nobody else gets their room."""
    for i, member in enumerate(members):
        pod = member.pod
        if i in placed:
            held = replace(
                pod.shaped(nominated=True), node=placed[i], stays=("reserved", *pod.stays)
            )
            yield replace(member, pod=held)
        elif pod.node and pod.key in staying:
            yield replace(member, pod=replace(pod, stays=("reserved", *pod.stays)))
        elif not pod.node and wants_one(pod):
            text = "pending pods that need a reservation, and fit into none, are left out"
            notes.add(text, pod.full_name, member.count)
        else:
            if pod.labels.get(f"{GROUP}/reservation-ignored") == "true" and not pod.node:
                text = "pods that may take reserved room of others do not take it here"
                notes.add(text, pod.full_name, member.count)
            yield member


def _holder(room: _Room, notes: Notes) -> Pod:
    """Return a pod that stands for what a reservation has left."""
    notes.add("reservations hold room that only their owners get", room.name)
    bare = room.view.replaced(spec={}, status={})
    pod = read_pod(_named(room.view, bare), NO_NAMESPACES, notes)
    requests = {r: from_base(r, n) for r, n in sorted(room.left.items()) if n}
    ref = pod.ref.model_copy(update={"owner_kind": KIND, "owner_uid": pod.ref.uid})
    return replace(
        pod.shaped(requests=requests),
        ref=ref,
        node=room.node.name,
        stays=("reserved",),
        reservation=room.told,
        selects=selector_keys(owner.label_selector for owner in room.told.owners),
    )


def _named(reservation: View, template: View) -> View:
    """Return a template as the pod that a reservation is for the scheduler."""
    own = reservation.at("metadata")
    inner = reservation.at("spec", "template", "metadata")
    metadata = {
        "name": own.text("name"),
        "uid": own.text("uid"),
        "resourceVersion": own.text("resourceVersion"),
        "creationTimestamp": own.time("creationTimestamp"),
        "namespace": inner.text("namespace") or "default",
    }
    return template.replaced(metadata=metadata)
