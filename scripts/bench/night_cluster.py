"""A made-up cluster on which pods come and go all night, as ``kubectl`` would show it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from kantopt.schema.answers.plan import Plan
from kantopt.schema.jobs import PodRef

GPU = "nvidia.com/gpu"
GPUS = 8
CPU = 96
SIZES, SHARES = (1, 2, 4, 8), (40, 30, 20, 10)
"""GPUs of a pod, and how often in a hundred."""
APPS = 6
ALLOWED = 2
"""Pods of an app that its disruption budget lets go at once."""
DUSK = datetime(2026, 9, 1, 20, 0, tzinfo=UTC)

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Arrival:
    """One pod that somebody wants for some time; minutes since dusk."""

    number: int
    at: float
    until: float
    gpus: int
    app: int


@dataclass(slots=True)
class Pod:
    """A pod: it has another name and uid after each restart."""

    arrival: Arrival
    node: int | None
    restarts: int = 0
    version: int = 1

    @property
    def name(self) -> str:
        """Name of the pod; its owner is a replica set of one."""
        return f"w{self.arrival.number}-{self.restarts}"

    @property
    def uid(self) -> str:
        """Identity, as an API server would give it."""
        return f"{self.arrival.number:08x}-0000-4000-8000-{self.restarts:012x}"


def arrivals(seed: int, nodes: int, minutes: float, load: float = 0.72) -> list[Arrival]:
    """Draw who wants what and when; the same for every way in which the night may go.

    Parameters
    ----------
    seed
        Seed of all that is drawn.
    nodes
        Nodes of the cluster: with them grows the number of pods.
    minutes
        How long the night is. It begins eight hours before, so that the cluster is in use at dusk.
    load
        Share of the GPUs that is wanted on average.
    """
    rng = random.Random(seed)
    size = sum(s * p for s, p in zip(SIZES, SHARES, strict=True)) / sum(SHARES)
    stay = 300.0
    between = stay * size / (load * nodes * GPUS)
    found: list[Arrival] = []
    at = -480.0
    while at < minutes:
        at += rng.expovariate(1 / between)
        until = at + rng.expovariate(1 / stay)
        (gpus,) = rng.choices(SIZES, SHARES)
        found.append(Arrival(len(found), at, until, gpus, rng.randrange(APPS)))
    return found


@dataclass(slots=True)
class NightCluster:
    """The cluster and the scheduler that fills it; it spreads, as the default one does."""

    nodes: int
    coming: list[Arrival]
    pods: dict[int, Pod] = field(default_factory=dict)
    """Pods by the number of their arrival, running or pending."""
    minute: float = -480.0
    seen: int = 0
    clock: int = 100

    def free(self) -> list[int]:
        """GPUs free on each node."""
        free = [GPUS] * self.nodes
        for pod in self.pods.values():
            if pod.node is not None:
                free[pod.node] -= pod.arrival.gpus
        return free

    def advance(self, minute: float) -> None:
        """Let time pass: pods leave, others come, and each is put where most is free."""
        while True:
            leaving = min((p.arrival.until for p in self.pods.values()), default=minute)
            left = self.seen < len(self.coming)
            entering = self.coming[self.seen].at if left else minute
            now = min(leaving, entering, minute)
            if now >= minute:
                break
            if leaving <= entering:
                self.pods = {n: p for n, p in self.pods.items() if p.arrival.until > now}
            else:
                arrival = self.coming[self.seen]
                self.pods[arrival.number] = Pod(arrival, None)
                self.seen += 1
            self._schedule()
        self.minute = minute

    def _schedule(self) -> None:
        """Bind pending pods, the oldest first, each to the emptiest node that has room."""
        free = self.free()
        for _, pod in sorted(self.pods.items()):
            if pod.node is None:
                best = max(range(self.nodes), key=lambda n: (free[n], (n * 7919) % self.nodes))
                if free[best] >= pod.arrival.gpus:
                    self._place(pod, best)
                    free[best] -= pod.arrival.gpus

    def _place(self, pod: Pod, node: int) -> None:
        pod.node = node
        self.clock += 1
        pod.version = self.clock

    def follow(self, plan: Plan) -> int:
        """Do what a plan says, wave by wave; return the number of pods moved.

        Raises
        ------
        ValueError
            If the plan acts on a pod that is not as it says, or overfills a node.
        """
        steps: dict[str, tuple[str | None, str, tuple[PodRef, ...]]] = {
            **{move.id: (move.from_node, move.to_node, move.pods) for move in plan.moves},
            **{bound.id: (None, bound.node, bound.pods) for bound in plan.assignments},
        }
        by_name = {pod.name: pod for pod in self.pods.values()}
        if plan.evictions:
            raise ValueError(f"evicts {plan.evictions[0].job}, which was not asked for")
        moved = 0
        for wave in plan.waves:
            for identity in wave.actions:
                source, target, refs = steps[identity]
                for ref in refs:
                    pod = by_name.get(ref.name)
                    if pod is None or pod.uid != ref.uid:
                        raise ValueError(f"{identity}: no pod {ref.name} with uid {ref.uid}")
                    if (None if pod.node is None else node_name(pod.node)) != source:
                        raise ValueError(f"{identity}: pod {ref.name} is not on {source}")
                    pod.restarts += source is not None
                    moved += source is not None
                    self._place(pod, node_number(target))
            if min(self.free()) < 0:
                raise ValueError(f"wave {wave.id} overfills a node")
        self._schedule()
        return moved

    def kubectl(self) -> Object:
        """Return the cluster as ``kubectl get nodes,pods,pdb -A -o json`` prints it."""
        now = moment(self.minute)
        items = [_node(n, now) for n in range(self.nodes)]
        items += [_pod(pod, now) for _, pod in sorted(self.pods.items())]
        items += [_budget(app) for app in range(APPS)]
        return {"apiVersion": "v1", "kind": "List", "items": items}

    def fragmented(self) -> int:
        """Nodes that are partly used (GFR)."""
        return sum(0 < free < GPUS for free in self.free())

    def stranded(self) -> int:
        """GPUs that are free on nodes partly used."""
        return sum(free for free in self.free() if free < GPUS)

    def slots(self) -> int:
        """Whole nodes that the free GPUs would make, less those that they make (fragment rate)."""
        free = self.free()
        return sum(free) // GPUS - sum(each == GPUS for each in free)

    def pending(self) -> int:
        """Pods that wait."""
        return sum(pod.node is None for pod in self.pods.values())


def moment(minute: float) -> str:
    """Write a minute of the night as documents have it."""
    return (DUSK + timedelta(minutes=minute)).isoformat(timespec="seconds").replace("+00:00", "Z")


def node_name(number: int) -> str:
    """Name a node."""
    return f"gpu-{number:03d}"


def node_number(name: str) -> int:
    """Return the number of a node."""
    return int(name.removeprefix("gpu-"))


def _metadata(name: str, uid: str, version: int, **more: Any) -> Object:
    return {"name": name, "uid": uid, "resourceVersion": str(version), **more}


def _node(number: int, now: str) -> Object:
    name = node_name(number)
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/rack": f"r{number // 4}",
        "nvidia.com/gpu.product": "H100",
    }
    offered = {"cpu": str(CPU), "memory": "1Ti", "pods": "110", GPU: str(GPUS)}
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": now}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(name, f"node-{number}", 1, labels=labels),
        "spec": {},
        "status": {"allocatable": offered, "conditions": [ready]},
    }


def _pod(pod: Pod, now: str) -> Object:
    gpus, number = pod.arrival.gpus, pod.arrival.number
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"w{number}",
        "uid": f"rs{number}",
    }
    requests = {"cpu": str(gpus * CPU // GPUS), "memory": f"{100 * gpus}Gi", GPU: str(gpus)}
    container = {"name": "main", "resources": {"requests": requests}}
    metadata = _metadata(
        pod.name,
        pod.uid,
        pod.version,
        namespace="night",
        labels={"app": f"app-{pod.arrival.app}"},
        ownerReferences=[{**owner, "controller": True}],
        creationTimestamp=min(moment(pod.arrival.at), now),
    )
    spec: Object = {"containers": [container]}
    if pod.node is not None:
        spec["nodeName"] = node_name(pod.node)
    phase = "Pending" if pod.node is None else "Running"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


def _budget(app: int) -> Object:
    name = f"app-{app}"
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(name, f"pdb-{app}", 1, namespace="night"),
        "spec": {"selector": {"matchLabels": {"app": name}}, "maxUnavailable": ALLOWED},
        "status": {"disruptionsAllowed": ALLOWED},
    }
