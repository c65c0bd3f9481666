"""Random small clusters and where their pods should go instead: what an order must be found for.

Everything here is in whole numbers and names, so that a plain replay can judge plans by it
without a line of the code that it judges.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

HOST = "kubernetes.io/hostname"
Place = tuple[str, tuple[int, ...]]
"""A node and the zones taken on it; none on nodes without zones."""
Where = dict[str, Counter[Place]]
"""Pods on each place, by job."""


@dataclass
class Job:
    """One pod set of equal pods."""

    name: str
    pods: int
    cpu: int
    memory: int
    priority: int = 1
    live: bool = False
    movable: bool = True
    preemptible: bool = False
    gang: bool = False
    apart: bool = False
    rack: bool = False
    group: str = ""
    """Label that budgets select."""
    queue: str = ""
    pool: str = ""
    """Pool of nodes that its pods are confined to; empty: any."""
    namespace: str = "default"
    kept: bool = False
    """Labelled as one to leave alone."""


@dataclass
class World:
    """A cluster, its jobs, where their pods are and where they should be."""

    nodes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """CPUs and memory of each node, or of each of its zones."""
    zones: int = 0
    racks: dict[str, str] = field(default_factory=dict)
    pools: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    now: Where = field(default_factory=dict)
    then: Where = field(default_factory=dict)
    budgets: dict[str, int] = field(default_factory=dict)
    """Disruptions allowed, by group."""
    quotas: dict[str, int] = field(default_factory=dict)
    """CPUs by queue."""
    limits: dict[str, int] = field(default_factory=dict)
    unit: str = "cpu"
    """What is called CPUs here may be something else."""

    def load(self, where: Where) -> Counter[tuple[str, int, str]]:
        """CPU and memory in use by node and zone (0 where there are none)."""
        used: Counter[tuple[str, int, str]] = Counter()
        for name, places in where.items():
            job = self.jobs[name]
            for (node, zones), pods in places.items():
                for zone in zones or (0,):
                    used[node, zone, "cpu"] += pods * job.cpu
                    used[node, zone, "memory"] += pods * job.memory
        return used

    def fits(self, job: Job, place: Place, where: Where) -> bool:
        """Whether one more pod fits on a place, room alone considered."""
        used = self.load(where)
        node, zones = place
        cpu, memory = self.nodes[node]
        return all(
            used[node, zone, "cpu"] + job.cpu <= cpu
            and used[node, zone, "memory"] + job.memory <= memory
            for zone in zones or (0,)
        )

    def places(self, job: Job) -> list[Place]:
        """All places that a pod of a job may be on."""
        nodes = [n for n in self.nodes if not job.pool or self.pools[n] == job.pool]
        if not self.zones:
            return [(node, ()) for node in nodes]
        return [(node, (zone,)) for node in nodes for zone in range(self.zones)]

    def documents(self) -> list[dict[str, Any]]:
        """Snapshot, pending jobs and model as documents."""
        version = {"apiVersion": "kantopt/v1alpha1"}
        running, pending = [], []
        for job in self.jobs.values():
            (running if self.now.get(job.name) else pending).append(self._job(job))
        return [
            {
                **version,
                "kind": "ClusterSnapshot",
                "metadata": {"capturedAt": "2026-01-01T00:00:00Z"},
                "topology": {"levels": [{"name": "rack", "nodeLabel": "rack"}]},
                "nodes": [self._node(name) for name in self.nodes],
                "jobs": running,
                "podDisruptionBudgets": [
                    {
                        "name": f"budget-{group}",
                        "selector": {"matchLabels": {"group": group}},
                        "disruptionsAllowed": allowed,
                    }
                    for group, allowed in self.budgets.items()
                ],
                "queues": [
                    {"name": queue, "resources": [{"name": self.unit, "nominalQuota": cpus}]}
                    for queue, cpus in self.quotas.items()
                ],
            },
            {**version, "kind": "JobList", "jobs": pending},
            {
                **version,
                "kind": "Model",
                "rules": {"priority": "counts"},
                "objectives": ["moves"],
                "limits": self.limits,
            },
        ]

    def _node(self, name: str) -> dict[str, Any]:
        cpu, memory = self.nodes[name]
        room = {self.unit: cpu, "memory": memory}
        labels = {"rack": self.racks[name], "pool": self.pools[name]}
        if self.zones:
            zone = {"class": "zone", "count": self.zones, "capacity": room}
            return {"name": name, "labels": labels, "devices": [zone]}
        return {"name": name, "labels": labels, "allocatable": room}

    def _job(self, job: Job) -> dict[str, Any]:
        asked = {self.unit: job.cpu, "memory": job.memory}
        labels = {"job": job.name, **({"group": job.group} if job.group else {})}
        labels |= {"keep": "yes"} if job.kept else {}
        podset: dict[str, Any] = {"name": "main", "count": job.pods, "labels": labels}
        if self.zones:
            podset["devices"] = [{"class": "zone", "count": 1, "requests": asked}]
        else:
            podset["requests"] = asked
        podset["minCount"] = job.pods if job.gang else 0
        podset["assignments"] = [
            {"node": node, "count": pods, "devices": list(zones)}
            for (node, zones), pods in sorted(self.now.get(job.name, {}).items())
        ]
        if job.apart:
            selector = {"matchLabels": {"job": job.name}}
            podset["podAntiAffinity"] = [{"topologyKey": HOST, "labelSelector": selector}]
        if job.rack:
            podset["topologyRequest"] = {"required": "rack"}
        if job.pool:
            podset["nodeSelector"] = {"pool": job.pool}
        return {
            "name": job.name,
            "namespace": job.namespace,
            "priority": job.priority,
            "podSets": [podset],
            "moveMode": "live" if job.live else "restart",
            "movable": job.movable,
            "preemptible": job.preemptible,
            **({"queueName": job.queue} if job.queue else {}),
        }


def random_world(seed: int) -> World:
    """Draw a cluster and somewhere else for some of its pods.

    Many nodes are filled to the brim, and many pods exchange their places with one or two others.
    """
    rng = random.Random(seed)
    world = World(zones=rng.choice((0, 0, 0, 2)))
    for i in range(rng.randint(3, 7)):
        name = f"n{i}"
        world.nodes[name] = (rng.choice((4, 6, 8)), rng.choice((8, 12, 16)))
        world.racks[name], world.pools[name] = f"r{i % 2}", rng.choice("aab")
    for group in "xyz"[: rng.randint(0, 3)]:
        world.budgets[group] = rng.choice((0, 1, 1, 2))
    if rng.random() < 0.2:
        world.quotas["q"] = rng.randint(6, 20)
    live = rng.choice((0.0, 0.3, 0.7, 1.0))
    for i in range(rng.randint(4, 12)):
        add_job(rng, world, f"j{i}", live)
    _fill(rng, world)
    world.then = {name: Counter(places) for name, places in world.now.items()}
    for _ in range(rng.choice((0, 1, 1, 2))):
        _exchange(rng, world, rng.choice((2, 2, 2, 3)))
    _resettle(rng, world, rng.randint(1, 5))
    if rng.random() < 0.3:
        _preempt(rng, world)
    if rng.random() < 0.4:
        _start(rng, world)
    moves = sum(
        min((places - world.then[name]).total(), (world.then[name] - places).total())
        for name, places in world.now.items()
    )
    if rng.random() < 0.5:
        world.limits["moves"] = moves + rng.choice((0, 1, 1, 2))
    if rng.random() < 0.25:
        world.limits["movesPerWave"] = rng.choice((1, 2, 3))
    return world


def add_job(rng: random.Random, world: World, name: str, live: float) -> None:
    job = Job(
        name,
        rng.choice((1, 1, 1, 2, 3)),
        rng.choice((1, 2, 2, 3, 4)),
        rng.choice((1, 2, 4)),
        priority=rng.choice((1, 2)),
        live=rng.random() < live,
        movable=rng.random() < 0.9,
        preemptible=rng.random() < 0.4,
    )
    job.group = rng.choice((*world.budgets, "", "")) if world.budgets else ""
    job.queue = "q" if world.quotas and rng.random() < 0.5 else ""
    job.pool = rng.choice(("", "", "", "a"))
    if job.pods > 1:
        job.gang, job.apart = rng.random() < 0.3, rng.random() < 0.3
        job.rack = rng.random() < 0.15
    world.jobs[name] = job
    used = sum(
        world.jobs[other].cpu * places.total()
        for other, places in world.now.items()
        if world.jobs[other].queue
    )
    if job.queue and used + job.pods * job.cpu > world.quotas["q"]:
        return
    trial = {other: Counter(places) for other, places in world.now.items()}
    trial[name] = Counter()
    rack = rng.choice(("r0", "r1"))
    for _ in range(job.pods):
        options = [place for place in world.places(job) if world.fits(job, place, trial)]
        if job.apart:
            taken = {node for node, _ in trial[name]}
            options = [place for place in options if place[0] not in taken]
        if job.rack:
            options = [place for place in options if world.racks[place[0]] == rack]
        if not options:
            return
        trial[name][rng.choice(options)] += 1
    world.now = trial


def _fill(rng: random.Random, world: World) -> None:
    """Fill the rest of many nodes or zones, so that nothing else fits."""
    used = world.load(world.now)
    for node, (cpu, memory) in world.nodes.items():
        for zone in range(max(1, world.zones)):
            left = cpu - used[node, zone, "cpu"], memory - used[node, zone, "memory"]
            if rng.random() < 0.6 and min(left) > 0:
                name = f"f{node}-{zone}"
                world.jobs[name] = Job(name, 1, *left, movable=False)
                world.now[name] = Counter({(node, (zone,) if world.zones else ()): 1})


def _movable(world: World) -> list[tuple[str, Place]]:
    return [
        (name, place)
        for name, places in world.then.items()
        for place, pods in sorted(places.items())
        if pods and world.jobs[name].movable and world.now[name][place] >= pods
    ]


def _exchange(rng: random.Random, world: World, size: int) -> None:
    """Let pods of two or three jobs take each other's places, if there is room in the end."""
    pods = _movable(world)
    for _ in range(12):
        if len(pods) < size:
            return
        chosen = rng.sample(pods, size)
        if len({name for name, _ in chosen}) < size or len({p for _, p in chosen}) < size:
            continue
        after = {name: Counter(places) for name, places in world.then.items()}
        for (name, place), (_, target) in zip(chosen, chosen[1:] + chosen[:1], strict=True):
            after[name] += Counter({target: 1})
            after[name] -= Counter({place: 1})
        allowed = all(
            target in world.places(world.jobs[name])
            for (name, _), (_, target) in zip(chosen, chosen[1:] + chosen[:1], strict=True)
        )
        if allowed and _roomy(world, after):
            world.then = after
            return


def _roomy(world: World, where: Where) -> bool:
    used = world.load(where)
    for (node, _, resource), amount in used.items():
        if amount > world.nodes[node][resource == "memory"]:
            return False
    return not any(
        world.jobs[name].apart and max(Counter(n for n, _ in places.elements()).values()) > 1
        for name, places in where.items()
        if places
    )


def _resettle(rng: random.Random, world: World, count: int) -> None:
    """Take some pods up and put them down wherever there is room."""
    pods = _movable(world)
    for name, place in rng.sample(pods, min(count, len(pods))):
        if not world.then[name][place]:
            continue
        world.then[name] -= Counter({place: 1})
        job = world.jobs[name]
        options = [p for p in world.places(job) if p != place and world.fits(job, p, world.then)]
        target = rng.choice(options) if options else place
        world.then[name] += Counter({target: 1})
        if not _roomy(world, world.then):
            world.then[name] -= Counter({target: 1})
            world.then[name] += Counter({place: 1})


def _preempt(rng: random.Random, world: World) -> None:
    """Evict a job that may be, and let a more important one have a place where it was."""
    victims = [
        name for name, places in world.then.items() if places and world.jobs[name].preemptible
    ]
    if not victims:
        return
    victim = world.jobs[rng.choice(victims)]
    place = next(iter(world.then[victim.name]))
    if victim.gang or victim.rack:
        world.then[victim.name] = Counter()
    else:
        world.then[victim.name] -= Counter({place: 1})
    name = "urgent"
    world.jobs[name] = Job(name, 1, victim.cpu, victim.memory, priority=9)
    if place in world.places(world.jobs[name]) and world.fits(world.jobs[name], place, world.then):
        world.then[name] = Counter({place: 1})
    world.limits["evictions"] = 3


def _start(rng: random.Random, world: World) -> None:
    """Start a pending job where there will be room."""
    job = Job("new", rng.choice((1, 2)), rng.choice((1, 2)), 1, priority=3, gang=True)
    where: Counter[Place] = Counter()
    for _ in range(job.pods):
        world.jobs["new"] = job
        world.then["new"] = where
        options = [place for place in world.places(job) if world.fits(job, place, world.then)]
        if not options:
            world.then.pop("new")
            return
        where = where + Counter({rng.choice(options): 1})
    world.then["new"] = where
