"""Random small clusters and where their pods should go instead: what an order must be found for."""

from __future__ import annotations

import random
from collections import Counter

from tests.fuzz.world import Job, Place, Where, World


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
    bind(random.Random(f"bonds {seed}"), world)
    return world


def bind(rng: random.Random, world: World) -> None:
    """Let some jobs ask to be near others that are where their pods come to, or move in turn.

    Nobody asks for a job that asks for a third one: who waits for whom is plain.
    """
    asked: set[str] = set()
    for job in world.jobs.values():
        now = world.now.get(job.name, Counter())
        came = world.then.get(job.name, Counter()) - now
        if now.total() > 1 and rng.random() < (0.7 if came.total() > 1 else 0.2):
            job.at_once = rng.choice((1, 1, 2))
        job.beside = rng.random() < 0.5
        friends = [name for name in world.jobs if _meet(world, job, name)]
        late = [name for name in friends if not _meet(world, job, name, late=False)]
        if friends and job.name not in asked and rng.random() < (0.8 if came and late else 0.2):
            job.near = rng.choice(late if late and rng.random() < 0.8 else friends)
            asked |= {job.near} - {job.name}


def _meet(world: World, job: Job, name: str, *, late: bool = True) -> bool:
    """Whether pods of another job are in the end (or not late: all the time) where those come.

    Those of the job itself are late only as the first of it.
    """
    there, before = world.then.get(name, Counter()), world.now.get(name, Counter())
    if not late or (name == job.name and before):
        there = there & before
    came = world.then.get(job.name, Counter()) - world.now.get(job.name, Counter())
    areas = {world.area(job, node) for node, _ in came}
    if name == job.name and not before:
        return len(areas) == 1
    met = {world.area(job, node) for node, _ in there}
    return areas <= met and world.jobs[name].near in ("", name)


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
