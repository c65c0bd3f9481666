"""Random clusters in which there is something to tidy up, and wishes for what to make of them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from tests.fuzz.draw import add_job, bind
from tests.fuzz.world import Job, Where, World

Kind = str
KINDS: tuple[Kind, ...] = (
    "slots",
    "swap",
    "swap",
    "ring",
    "nodes",
    "nodes",
    "domain",
    "fit",
    "fit",
    "gpus",
)


@dataclass
class Asked:
    """What ``kantopt defrag`` is asked, as on the command line."""

    goals: list[str]
    limits: dict[str, int] = field(default_factory=dict)
    exempt: tuple[str, ...] = ()
    min_benefit: str | None = None


def untidy(seed: int) -> tuple[World, Asked]:
    """Draw a cluster and a wish; the same for the same seed."""
    rng = random.Random(f"untidy {seed}")
    kind = rng.choice(KINDS)
    if kind in ("swap", "ring"):
        world, asked = _crossed(rng) if kind == "swap" else _ring(rng)
        _limit(rng, world, asked)
        return _settled(seed, world, asked)
    tight = kind in ("slots", "gpus", "fit")
    world = World(zones=rng.choice((0, 0, 2)) if kind == "slots" else 0)
    world.unit = "nvidia.com/gpu" if kind == "gpus" else "cpu"
    for i in range(rng.randint(3, 5) if tight else rng.randint(4, 7)):
        name = f"n{i}"
        world.nodes[name] = (rng.choice((6, 8, 8)), rng.choice((16, 32)))
        world.racks[name], world.pools[name] = f"r{i % 3}", rng.choice("aaab")
    for group in "xyz"[: rng.randint(1, 3)]:
        world.budgets[group] = rng.choice((0, 1, 1, 1, 1, 2))
    if rng.random() < 0.1:
        world.quotas["q"] = rng.randint(8, 24)
    live = rng.choice((0.0, 0.0, 0.3, 0.7, 1.0))
    room = sum(cpu for cpu, _ in world.nodes.values()) * max(1, world.zones)
    most = (rng.uniform(0.7, 0.85) if tight else rng.uniform(0.5, 0.65)) * room
    for i in range(40 if tight else 12):
        if _used(world) >= most:
            break
        add_job(rng, world, f"j{i}", live)
        _vary(rng, world, world.jobs[f"j{i}"])
    for name in [name for name in world.jobs if not world.now.get(name)]:
        del world.jobs[name]
    if kind == "slots" and rng.random() < 0.4:
        world.cordoned = {rng.choice(list(world.nodes))}
    asked = Asked(_goals(rng, world, kind))
    _limit(rng, world, asked)
    return _settled(seed, world, asked)


def _settled(seed: int, world: World, asked: Asked) -> tuple[World, Asked]:
    world.then = {name: Counter(places) for name, places in world.now.items()}
    if seed % 3 == 0:
        bind(random.Random(f"bonds {seed}"), world)
    world.limits = asked.limits
    return world, asked


def _crossed(rng: random.Random) -> tuple[World, Asked]:
    """Pairs of full nodes on which a slot comes free if two pods change places, and some room."""
    world = World()
    pairs = rng.choice((1, 2, 2, 3))
    if rng.random() < 0.5:
        world.budgets["x"] = rng.choice((1, 2, 2, 3))
    live = rng.choice((0.0, 0.5, 1.0))
    for i in range(pairs):
        large, slot = rng.choice(((3, 2), (4, 2), (4, 3), (5, 3)))
        small = large - 1 if slot == 2 else large - rng.choice((1, 2))
        spare = slot - (large - small)
        for side, size in (("a", large), ("b", small)):
            node = f"{side}{i}"
            world.nodes[node] = (8, 16)
            name = f"{side}{i}"
            world.jobs[name] = Job(name, 1, size, 2, live=rng.random() < live)
            world.jobs[name].group = rng.choice(("", *world.budgets))
            _vary(rng, world, world.jobs[name])
            world.now[name] = Counter({(node, ()): 1})
            _block(world, node, 8 - size - spare)
    for i in range(rng.choice((0, 1, 1, 2))):
        node = f"c{i}"
        world.nodes[node] = (8, 16)
        _block(world, node, 8 - rng.choice((1, 2, 2, 3)))
    world.racks = dict.fromkeys(world.nodes, "r0")
    world.pools = dict.fromkeys(world.nodes, "a")
    return world, Asked([f"fragment-rate=cpu:{slot}{rng.choice(('', ':+1', ':+2'))}"])


def _ring(rng: random.Random) -> tuple[World, Asked]:
    """Pods of which each fills the node of the next smaller one: together they make one slot."""
    world, slot = World(), rng.choice((2, 3, 3, 3, 4))
    if rng.random() < 0.5:
        world.budgets["x"] = rng.choice((1, 2, 3, 3))
    live, least = rng.choice((0.0, 0.3, 1.0)), rng.randint(2, 8 - slot)
    for i in range(slot):
        size = least + i
        node, name = f"a{i}", f"j{i}"
        world.nodes[node] = (8, 16)
        world.jobs[name] = Job(name, 1, size, 2, live=rng.random() < live)
        world.jobs[name].group = rng.choice(("", *world.budgets))
        _vary(rng, world, world.jobs[name])
        world.now[name] = Counter({(node, ()): 1})
        _block(world, node, 8 - size - 1)
    for i in range(rng.choice((0, 1, 1, 2))):
        node = f"c{i}"
        world.nodes[node] = (8, 16)
        _block(world, node, 8 - rng.choice((0, slot, slot + 1)))
    world.racks = dict.fromkeys(world.nodes, "r0")
    world.pools = dict.fromkeys(world.nodes, "a")
    return world, Asked([f"fragment-rate=cpu:{slot}{rng.choice(('', ':+1', ':+1'))}"])


def _block(world: World, node: str, cpu: int) -> None:
    """Take up room on a node for good."""
    if cpu > 0:
        world.jobs[f"f-{node}"] = Job(f"f-{node}", 1, cpu, 1, movable=False)
        world.now[f"f-{node}"] = Counter({(node, ()): 1})


def _used(world: World) -> int:
    return sum(k for (*_, what), k in world.load(world.now).items() if what == "cpu")


def _vary(rng: random.Random, world: World, job: Job) -> None:
    """Let many restarts share few slots; budgets are those of one namespace."""
    if world.budgets and rng.random() < 0.65:
        job.group = min(world.budgets)
    job.namespace = "default" if job.group else rng.choice(("default", "default", "other"))
    job.kept = rng.random() < 0.08


def free_of(world: World, where: Where) -> list[int]:
    """What is free of each node that counts, or of each of its zones."""
    used = world.load(where)
    return [
        cpu - used[node, zone, "cpu"]
        for node, (cpu, _) in world.nodes.items()
        for zone in range(max(1, world.zones))
        if node not in world.cordoned
    ]


def _goals(rng: random.Random, world: World, kind: Kind) -> list[str]:
    more = rng.choice(("", ":+1", ":+2", ":+2"))
    if kind == "slots":
        free = free_of(world, world.now)
        sizes = [k for k in (2, 3, 4, 5) if sum(free) // k > sum(f // k for f in free)]
        where = "/zone" if world.zones else ""
        return [f"fragment-rate=cpu:{rng.choice(sizes or [2])}{where}{more}"]
    if kind == "gpus":
        return ["stranded-gpus" + rng.choice(("", "", "=0"))]
    if kind == "fit":
        _want(rng, world)
        return ["fit=wanted*"]
    nodes = "empty-nodes" + more.replace(":", "=")
    if kind == "domain":
        return [f"empty-domain=rack{more}", *([nodes] if rng.random() < 0.3 else [])]
    return [nodes]


def _want(rng: random.Random, world: World) -> None:
    """Let a job wait that needs nearly all of a node, or two."""
    most = max(cpu for cpu, _ in world.nodes.values())
    size = min(most, max(free_of(world, world.now)) + rng.choice((1, 1, 2, 3)))
    job = Job("wanted", rng.choice((1, 1, 1, 2)), size, 4, priority=9)
    job.gang = job.pods > 1
    world.jobs["wanted"] = job


def _limit(rng: random.Random, world: World, asked: Asked) -> None:
    for name, chance, low, high in (
        ("moves", 0.4, 2, 6),
        ("movesPerJob", 0.15, 1, 2),
        ("movesPerNamespace", 0.15, 1, 4),
        ("movesPerWave", 0.5, 1, 2),
        ("arrivalsPerNode", 0.15, 1, 3),
        ("departuresPerNode", 0.15, 1, 3),
    ):
        if rng.random() < chance:
            asked.limits[name] = rng.randint(low, high)
    if "wanted" in world.jobs and rng.random() < 0.7:
        asked.limits["evictions"] = rng.randint(1, 3)
    if rng.random() < 0.5:
        asked.exempt = (rng.choice(("keep", "keep=yes")),)
    if rng.random() < 0.1:
        asked.min_benefit = rng.choice(("0.2", "0.5"))
