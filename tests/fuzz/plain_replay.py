"""A plan carried out step by step in plain counts: what goes wrong, if anything does.

Written for tests, from the description of plans alone. It shares no code with the judge.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from tests.fuzz.world import Place, Where, World


@dataclass(frozen=True)
class Act:
    """Pods of a job that come, go or move."""

    job: str
    pods: int
    source: Place | None
    target: Place | None


@dataclass(frozen=True)
class Wave:
    """Acts that may run together once others are done."""

    id: int
    after: tuple[int, ...]
    acts: tuple[Act, ...]


NEW, STARTED, EMPTIED, BACK, DONE = range(5)
"""Of a wave: not begun; what restarts not is there; restarts have left; are back; all is over."""


@dataclass
class State:
    """How far each act of each wave is."""

    world: World
    waves: list[Wave]
    stage: dict[tuple[int, int], int] = field(default_factory=dict)
    """By wave and number of the act; see :data:`DONE`."""

    def restarts(self, act: Act) -> bool:
        moves = act.source is not None and act.target is not None
        return moves and not self.world.jobs[act.job].live

    def faults(self) -> Iterator[str]:
        """What is wrong now."""
        there = {name: Counter(places) for name, places in self.world.now.items()}
        copies: dict[str, Counter[str]] = {}
        away: Counter[str] = Counter()
        running = {name: places.total() for name, places in there.items()}
        moving: Counter[str] = Counter()
        for wave in self.waves:
            for i, act in enumerate(wave.acts):
                stage = self.stage.get((wave.id, i), NEW)
                job = self.world.jobs[act.job]
                at = there.setdefault(act.job, Counter())
                if stage == NEW:
                    continue
                moves = act.source is not None and act.target is not None
                if moves and stage < DONE:
                    moving[act.job] += act.pods
                gone = stage == DONE or (self.restarts(act) and stage >= EMPTIED)
                come = act.target is not None and (not self.restarts(act) or stage >= BACK)
                if act.source is not None and gone:
                    at[act.source] -= act.pods
                if act.target is not None and come:
                    at[act.target] += act.pods
                    if moves and not gone and act.target[0] == act.source[0]:
                        copies.setdefault(act.job, Counter())[act.target[0]] += act.pods
                if job.group and ((act.target is None) or (self.restarts(act) and stage < DONE)):
                    away[job.group] += act.pods
                if act.source is None:
                    running[act.job] = running.get(act.job, 0) + act.pods
                elif act.target is None and stage == DONE:
                    running[act.job] -= act.pods
        for name, places in there.items():
            for place, pods in places.items():
                if pods < 0:
                    yield f"{-pods} pods of {name} leave {place} that are not there"
        for (node, zone, resource), used in self.world.load(there).items():
            if used > self.world.nodes[node][resource == "memory"]:
                yield f"{node} zone {zone} holds {used} {resource}"
        for group, allowed in self.world.budgets.items():
            if away[group] > allowed:
                yield f"{away[group]} of {allowed} pods of group {group} away"
        for queue, cpus in self.world.quotas.items():
            used = sum(
                running.get(job.name, 0) * job.cpu
                for job in self.world.jobs.values()
                if job.queue == queue
            )
            if used > cpus:
                yield f"queue {queue} uses {used} of {cpus}"
        most = self.world.limits.get("movesPerWave")
        if most is not None and moving.total() > most:
            yield f"{moving.total()} of {most} pods on the move"
        for name, pods in moving.items():
            if pods > (self.world.jobs[name].at_once or pods):
                yield f"{pods} pods of {name} on the move"
        for name, places in there.items():
            job = self.world.jobs[name]
            if job.apart:
                # A live copy on the same node as its original is the same pod.
                on = Counter(node for node, _ in (+places).elements())
                on -= copies.get(name, Counter())
                if max(on.values(), default=0) > 1:
                    yield f"{name} twice on a node"

    def lonely(self) -> Iterator[str]:
        """Pods that come now where nobody is whom they must be near."""
        for wave in self.waves:
            for i, act in enumerate(wave.acts):
                stage = self.stage.get((wave.id, i), NEW)
                come = STARTED <= stage < DONE and (not self.restarts(act) or stage >= BACK)
                near = self.world.jobs[act.job].near
                if near and come and act.target is not None:
                    if near == act.job and self.first(wave, act.job):
                        continue
                    if not self.company(wave, act.job, act.target[0]):
                        yield f"{act.job} comes to {act.target[0]} without {near}"

    def company(self, wave: Wave, name: str, node: str) -> bool:
        """Whether somebody is there whom pods must be near, and stays, or comes with them."""
        job = self.world.jobs[name]
        area = self.world.area(job, node)

        def here(place: Place | None) -> bool:
            return place is not None and self.world.area(job, place[0]) == area

        pods = sum(k for place, k in self.world.now.get(job.near, {}).items() if here(place))
        for other in self.waves:
            for i, act in enumerate(other.acts):
                stage = self.stage.get((other.id, i), NEW)
                if act.job == job.near:
                    pods -= act.pods * (here(act.source) and stage > NEW)
                    pods += act.pods * (here(act.target) and stage == DONE)
                    if other is wave and job.near != name and here(act.target):
                        return True
        return pods > 0

    def first(self, wave: Wave, name: str) -> bool:
        """Whether pods are the first of their job, all in one place."""
        pods = self.world.now.get(name, Counter()).total()
        areas = set()
        for other in self.waves:
            for i, act in enumerate(other.acts):
                stage = self.stage.get((other.id, i), NEW)
                if act.job != name:
                    continue
                if other is not wave:
                    pods -= act.pods * (act.source is not None and stage == DONE)
                    pods += act.pods * (act.target is not None and stage > NEW)
                elif act.target is not None:
                    areas.add(self.world.area(self.world.jobs[name], act.target[0]))
                    if pods == 1 and self.restarts(act):
                        pods = 0  # it has left before it comes
        return pods == 0 and len(areas) == 1


def between_waves(state: State) -> Iterator[str]:
    """What is wrong with jobs as wholes; judged when no wave is under way."""
    there = {name: Counter(places) for name, places in state.world.now.items()}
    changed: set[str] = set()
    for wave in state.waves:
        for i, act in enumerate(wave.acts):
            if state.stage.get((wave.id, i), NEW) == DONE:
                changed.add(act.job)
                at = there.setdefault(act.job, Counter())
                if act.source is not None:
                    at[act.source] -= act.pods
                if act.target is not None:
                    at[act.target] += act.pods
    for name in sorted(changed):
        job, places = state.world.jobs[name], +there[name]
        if job.gang and places.total() not in (0, job.pods):
            yield f"{places.total()} pods of gang {name}"
        if job.rack and len({state.world.racks[node] for node, _ in places}) > 1:
            yield f"{name} in several racks"


def static_faults(world: World, waves: list[Wave]) -> Iterator[str]:
    """What is wrong whatever the order: places, pins, limits, where all ends."""
    there = {name: Counter(places) for name, places in world.now.items()}
    moved = evicted = 0
    for act in (act for wave in waves for act in wave.acts):
        job = world.jobs[act.job]
        at = there.setdefault(act.job, Counter())
        if act.target is not None and act.target not in world.places(job):
            yield f"{act.job} may not be on {act.target}"
        if act.source is not None and act.target is not None:
            moved += act.pods
            if not job.movable:
                yield f"{act.job} is pinned and moves"
        if act.source is not None and act.target is None:
            evicted += act.pods
            if not job.preemptible:
                yield f"{act.job} is pinned and evicted"
            if job.group and world.budgets[job.group] == 0:
                yield f"{act.job} is evicted although its budget allows none"
        if act.source is not None:
            at[act.source] -= act.pods
        if act.target is not None:
            at[act.target] += act.pods
    if moved > world.limits.get("moves", moved):
        yield f"{moved} moves"
    if evicted > world.limits.get("evictions", evicted):
        yield f"{evicted} evictions"
    for name in sorted(there):
        yield from left_alone(world, there, name)
    if {n: +p for n, p in there.items() if +p} != {n: +p for n, p in world.then.items() if +p}:
        yield "does not end where it should"


def left_alone(world: World, there: Where, name: str) -> Iterator[str]:
    """Pods of a job that have come where in the end nobody is whom they must be near."""
    job, now = world.jobs[name], world.now.get(name, Counter())
    friends, before = there.get(job.near, Counter()), world.now.get(job.near, Counter())
    stay = {world.area(job, node) for node, _ in friends & before} if job.near else set()
    join = {world.area(job, node) for node, _ in friends - before} if job.near != name else set()
    came = {world.area(job, node) for node, _ in there[name] - now}
    alone = not now or (now.total() == 1 and not job.live)
    first = job.near == name and not stay and alone and len(came) == 1
    if job.near and not first and came - stay - join:
        yield f"{name} ends without {job.near}"


def every_state(world: World, waves: list[Wave]) -> Iterator[State]:
    """All states, the acts of a wave in step; for few waves."""
    for stages in product(range(5), repeat=len(waves)):
        stage_of = {wave.id: stage for wave, stage in zip(waves, stages, strict=True)}
        if all(
            stage_of[wave.id] == NEW or all(stage_of[w] == DONE for w in wave.after)
            for wave in waves
        ):
            yield State(
                world,
                waves,
                {(w.id, i): stage_of[w.id] for w in waves for i in range(len(w.acts))},
            )


def some_states(rng: random.Random, world: World, waves: list[Wave]) -> Iterator[State]:
    """The states of one execution in a random order, act by act, waves side by side."""
    state = State(world, waves)
    while True:
        options: list[tuple[int, int, int]] = []
        for wave in waves:
            stages = [state.stage.get((wave.id, i), NEW) for i in range(len(wave.acts))]
            ready = all(
                state.stage.get((other.id, i), NEW) == DONE
                for other in waves
                if other.id in wave.after
                for i in range(len(other.acts))
            )
            if not ready:
                continue
            restarting = [state.restarts(act) for act in wave.acts]
            empty = all(s >= EMPTIED for s, r in zip(stages, restarting, strict=True) if r)
            for i, stage in enumerate(stages):
                if restarting[i]:
                    following = {NEW: EMPTIED, EMPTIED: BACK, BACK: DONE}.get(stage)
                    if following == BACK and not empty:
                        following = None
                else:
                    following = {NEW: STARTED, STARTED: DONE}.get(stage)
                if following is not None:
                    options.append((wave.id, i, following))
        if not options:
            return
        # Rather begin than end: that is when things get crowded.
        begin = [option for option in options if option[2] != DONE]
        number, i, stage = rng.choice(begin if begin and rng.random() < 0.7 else options)
        state.stage[number, i] = stage
        yield state


def at_rest(state: State) -> bool:
    """Whether no wave is under way."""
    for wave in state.waves:
        stages = {state.stage.get((wave.id, i), NEW) for i in range(len(wave.acts))}
        if len(stages) > 1 or not stages <= {NEW, DONE}:
            return False
    return True


def faults_of(world: World, waves: list[Wave], rng: random.Random, runs: int = 12) -> set[str]:
    """Carry a plan out in all states if it has few waves, else in some random orders."""
    found = set(static_faults(world, waves))
    states = every_state(world, waves) if len(waves) <= 4 else iter(())
    for state in states:
        found.update(state.faults(), state.lonely())
        if at_rest(state):
            found.update(between_waves(state))
    for _ in range(runs):
        for state in some_states(rng, world, waves):
            found.update(state.faults(), state.lonely())
            if at_rest(state):
                found.update(between_waves(state))
    return found
