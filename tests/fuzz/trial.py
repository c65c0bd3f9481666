"""One trial: draw a cluster and a goal, order what it takes, carry it out in plain counts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from kantopt.problem import actions
from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate
from kantopt.search.order.concessions import concessions
from kantopt.search.order.sequence import sequence
from kantopt.verify.rules import check
from tests.fuzz.draw import random_world
from tests.fuzz.plain_replay import Act, Wave, faults_of
from tests.fuzz.world import Place, World


@dataclass
class Outcome:
    """What came of a seed."""

    legal: bool
    """Whether the goal itself breaks no rule."""
    ordered: bool = False
    moves: int = 0
    evictions: int = 0
    waves: int = 0
    depth: int = 0
    stopovers: int = 0
    circle: bool = False
    """Whether moves wait for each other in a circle."""
    conceded: str = ""
    """What was done instead, if the goal itself has no order."""
    paced: bool = False
    """Whether a limit on pods that move at a time makes waves of its own."""
    seconds: float = 0.0
    """CPU time of the trial."""
    faults: set[str] = field(default_factory=set)


@dataclass
class Tally:
    """Outcomes counted."""

    seeds: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def faulty(self) -> int:
        """Plans with something wrong."""
        return self.counts["faulty"]

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        self.seeds += 1
        self.seconds.append(outcome.seconds)
        plan = outcome.ordered
        self.counts.update(
            {
                "goals that are legal": outcome.legal,
                "plans": plan,
                "with a move": plan and outcome.moves > 0,
                "with two waves or more": plan and outcome.waves > 1,
                "though no limit on moves at a time": plan
                and outcome.waves > 1
                and not outcome.paced,
                "with waves side by side": plan and outcome.depth < outcome.waves,
                "with an eviction": plan and outcome.evictions > 0,
                "with a circle of moves": plan and outcome.circle,
                "with a stop-over": plan and outcome.stopovers > 0,
                "that evict since the goal has no order": outcome.conceded == "evicts",
                "that leave something undone": outcome.conceded == "leaves undone",
                "without a plan": outcome.legal and not plan,
                "faulty": bool(outcome.faults),
            }
        )

    def _share(self, what: str) -> float:
        return 100 * self.counts[what] / max(1, self.counts["plans"])

    def brief(self) -> str:
        """What a campaign has come to, in one line."""
        return (
            f"{self.seeds} seeds: {self._share('with a move'):.1f} % with a move, "
            f"{self._share('with two waves or more'):.1f} % in two waves, "
            f"{self.counts['with a circle of moves']} circles, {self.faulty} faulty"
        )

    def __str__(self) -> str:
        """Counts, as shares of the plans too."""
        lines = [f"{self.seeds:6}          seeds"]
        lines += [f"{n:6} {self._share(what):5.1f} %  {what}" for what, n in self.counts.items()]
        if self.seconds:
            mean, most = sum(self.seconds) / len(self.seconds), max(self.seconds)
            lines.append(f"CPU seconds of a trial: {mean:.3f} on the average, {most:.2f} at most")
        return "\n".join(lines)


def instance_of(world: World) -> Instance:
    """Read a world's documents."""
    raw = [RawDocument("world", i, data) for i, data in enumerate(world.documents())]
    return build_instance(
        validate(raw[0], ClusterSnapshot),
        validate(raw[1], JobList).jobs,
        validate(raw[2], Model),
    )


def target_of(world: World, instance: Instance) -> Placement:
    """Where the world's pods should be."""
    changes: dict[int, Counter[Spot]] = {}
    for name, places in world.then.items():
        job = instance.jobs[instance.job_index[f"default/{name}"]]
        changes[job.podsets[0]] = Counter(
            {
                Spot(instance.node_index[node], zones): pods
                for (node, zones), pods in places.items()
                if pods
            }
        )
    return instance.current.replace(changes)


def _fewer(target: Placement, other: Placement) -> bool:
    """Whether fewer pods run in the other placement than in the one wanted."""
    pods = [sum(sum(spots.values()) for spots in p.podsets) for p in (target, other)]
    return pods[1] < pods[0] and all(
        other.placed(s) == target.placed(s) or other.placed(s) == target.placed(s) - 1
        for s in range(len(target.podsets))
    )


def retarget(world: World, instance: Instance, placement: Placement) -> None:
    """Let the world want another placement."""
    for s, spots in enumerate(placement.podsets):
        name = instance.job_of(s).name.partition("/")[2]
        world.then[name] = Counter(
            {(instance.nodes[spot.node].name, spot.devices): k for spot, k in spots.items()}
        )


def plain(instance: Instance, waves: tuple[actions.Wave, ...]) -> list[Wave]:
    """Waves as the plain replay takes them."""

    def place(spot: Spot | None) -> Place | None:
        return None if spot is None else (instance.nodes[spot.node].name, spot.devices)

    return [
        Wave(
            wave.id,
            wave.after,
            tuple(
                Act(
                    instance.job_of(action.podset).name.partition("/")[2],
                    action.pods,
                    place(action.source),
                    place(action.target),
                )
                for action in wave.actions
            ),
        )
        for wave in waves
    ]


def trial(seed: int) -> Outcome:
    """Draw, order, carry out."""
    world = random_world(seed)
    instance = instance_of(world)
    target = target_of(world, instance)
    if check(instance, target):
        return Outcome(legal=False)
    circle = has_circle(world)
    ordered, conceded = sequence(instance, target), ""
    if ordered is None:
        for other in concessions(instance, target):
            ordered = sequence(instance, other)
            if ordered is not None:
                evicts = other.podsets != target.podsets and _fewer(target, other)
                conceded = "evicts" if evicts else "leaves undone"
                retarget(world, instance, other)
                break
    if ordered is None:
        return Outcome(legal=True, circle=circle)
    return carried_out(seed, world, instance, ordered, circle=circle, conceded=conceded)


def carried_out(
    seed: int,
    world: World,
    instance: Instance,
    ordered: tuple[actions.Wave, ...],
    *,
    circle: bool,
    conceded: str = "",
) -> Outcome:
    waves = plain(instance, ordered)
    depth: dict[int, int] = {}
    for wave in waves:
        depth[wave.id] = 1 + max((depth[w] for w in wave.after), default=0)
    acts = [act for wave in waves for act in wave.acts]
    return Outcome(
        legal=True,
        ordered=True,
        moves=sum(a.pods for a in acts if a.source is not None and a.target is not None),
        evictions=sum(a.pods for a in acts if a.target is None),
        waves=len(waves),
        depth=max(depth.values(), default=0),
        stopovers=sum(a.pods for wave in ordered for a in wave.actions if a.stopover),
        circle=circle,
        conceded=conceded,
        paced="movesPerWave" in world.limits,
        faults=faults_of(world, waves, random.Random(seed)),
    )


def has_circle(world: World) -> bool:
    """Whether no move can go first even after all that can: one by one, some are left over."""
    where = {name: Counter(places) for name, places in world.now.items()}
    moves: list[tuple[str, Place, Place]] = []
    for name, places in world.now.items():
        leave = sorted((places - world.then[name]).elements())
        arrive = sorted((world.then[name] - places).elements())
        moves += [(name, a, b) for a, b in zip(leave, arrive, strict=False)]
        for place in leave[len(arrive) :]:
            where[name] -= Counter({place: 1})
    progress = True
    while progress:
        progress = False
        for move in list(moves):
            name, source, target = move
            if world.fits(world.jobs[name], target, where):
                where[name] -= Counter({source: 1})
                where[name] += Counter({target: 1})
                moves.remove(move)
                progress = True
    return bool(moves)
