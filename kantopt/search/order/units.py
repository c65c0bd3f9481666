"""What must be done in one wave: the smallest pieces that an order can be made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from random import Random

from kantopt.problem.cluster import Spot
from kantopt.problem.difference import Change, Difference, Kind, changes_domain, whole_slices
from kantopt.problem.instance import Instance
from kantopt.problem.job import TopologyNeed
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.presolve import presolved
from kantopt.verify.step import Step
from kantopt.verify.victims.preemptors import preemptors_of
from kantopt.verify.waves.rooms import restarts
from kantopt.verify.waves.rooms import taken as taken_of

Key = tuple[str, int, int, int]
"""Something of which there is only so much.

``("node", n, 0, r)``, ``("device", n, d, r)``, ``("budget", b, 0, 0)`` or ``("job", j, 0, 0)``:
pods of a job that may be on the move together.
"""


@dataclass(frozen=True, eq=False)
class Unit:
    """Changes that belong into one wave.

    ``needs`` is what must be free before it starts, ``frees`` what is free once it is done; what
    restarting pods of the unit leave to each other is in neither.
    """

    instance: Instance
    changes: tuple[Change, ...]
    first: tuple[Unit, ...] = ()
    """What it waits for, with or without room: of a move the stop-overs that bring its pods, of a
    bind the evictions that are for it."""

    @cached_property
    def moves(self) -> int:
        """Pods that move."""
        return sum(change.pods for change in self.changes if change.kind == "move")

    @property
    def kind(self) -> Kind:
        """What happens to its pods; in one unit the same to all."""
        return self.changes[0].kind

    @cached_property
    def restarts(self) -> bool:
        """Whether all it does is to move pods that are gone before they are back."""
        return all(restarts(self.instance, change) for change in self.changes)

    @cached_property
    def _flows(self) -> tuple[dict[Key, int], dict[Key, int]]:
        needs: Counter[Key] = Counter()
        frees: Counter[Key] = Counter()
        going: Counter[Key] = Counter()
        coming: Counter[Key] = Counter()
        for change in self.changes:
            restarting = restarts(self.instance, change)
            for spot, sum_ in (
                (change.source, going if restarting else frees),
                (change.target, coming if restarting else needs),
            ):
                if spot is not None:
                    for key, amount in taken(self.instance, change.podset, spot):
                        sum_[key] += change.pods * amount
        for key in going.keys() | coming.keys():
            own = min(going[key], coming[key])
            if coming[key]:
                needs[key] += coming[key] - own
            if going[key] > own:
                frees[key] += going[key] - own
        if self.instance.on(Rule.DISRUPTION):
            for change in self.changes:
                restarting = restarts(self.instance, change)
                if restarting or change.kind == "evict":
                    for b in self.instance.podsets[change.podset].budgets:
                        needs["budget", b, 0, 0] += change.pods
                        if restarting:
                            frees["budget", b, 0, 0] += change.pods
        for change in self.changes:
            job = self.instance.job_of(change.podset)
            if change.kind == "move" and job.moves_at_once is not None:
                needs["job", job.index, 0, 0] += change.pods
                frees["job", job.index, 0, 0] += change.pods
        return dict(sorted(needs.items())), dict(sorted(frees.items()))

    @property
    def needs(self) -> dict[Key, int]:
        """What must be free; 0 where its own pods make the room, so that nothing may be owed."""
        return self._flows[0]

    @property
    def frees(self) -> dict[Key, int]:
        """What is free afterwards."""
        return self._flows[1]


def taken(instance: Instance, s: int, spot: Spot) -> Iterator[tuple[Key, int]]:
    """What one pod takes of a spot, as far as there is a limit."""
    for (n, device, r), amount in taken_of(instance, s, spot):
        if device is not None:
            yield ("device", n, device, r), amount
        elif instance.nodes[n].capacity[r] is not None:
            yield ("node", n, 0, r), amount


def units_of(instance: Instance, changes: Difference) -> list[Unit]:
    """Split changes into units: evictions, then moves, then binds.

    A gang is bound in one wave, and evicted in one; pods whose closeness ties them change domains
    together, and those of a job that restarts as a whole move together.
    """
    together: dict[tuple[str, int], list[Change]] = {}
    units: list[Sequence[Change]] = []
    for change in (*changes.evictions, *changes.moves, *changes.binds):
        if not (_goes_whole(instance, change) or ties(instance, change)):
            units.append((change,))
            continue
        key = change.kind, instance.podsets[change.podset].job
        if key not in together:
            units.append(together.setdefault(key, []))  # its place in the order
        together[key].append(change)
    return [
        Unit(instance, tuple(part))
        for unit in units
        for part in ([unit] if _goes_whole(instance, unit[0]) else _parts(instance, unit))
    ]


def _goes_whole(instance: Instance, change: Change) -> bool:
    """Whether all pods of its job that a change of its kind concerns go together."""
    job = instance.job_of(change.podset)
    if change.kind == "move":
        return job.index in instance.together
    return (instance.on(Rule.GANG) and job.is_gang) or job.all_victims


def _parts(instance: Instance, changes: Sequence[Change]) -> list[Sequence[Change]]:
    """Split changes of one kind of one job into those that a need ties, or within it a slice."""
    if len(changes) == 1:
        return [changes]
    tied: dict[int, list[int]] = {}
    needs: dict[int, TopologyNeed] = {}
    for i, change in enumerate(changes):
        for need in ties(instance, change):
            needs[need.index] = need
            tied.setdefault(need.index, []).append(i)
    part_of: dict[int, list[int]] = {}
    for n, own in tied.items():
        for knot in _slices(instance, needs[n], changes, own):
            merged = sorted({i for k in knot for i in part_of.get(k, (k,))})
            part_of.update(dict.fromkeys(merged, merged))
    parts = {part[0]: part for part in part_of.values()}
    return [[changes[i] for i in parts[first]] for first in sorted(parts)]


def _slices(
    instance: Instance, need: TopologyNeed, changes: Sequence[Change], own: list[int]
) -> list[list[int]]:
    """Split the changes that a need ties into slices, if each may move by itself."""
    if need.slice_level is None:
        return [own]
    domain_of = instance.topology.domain_of[need.slice_level]
    ways: dict[tuple[int | None, ...], list[int]] = {}
    for i in own:
        spots = (changes[i].source, changes[i].target)
        way = tuple(None if spot is None else domain_of[spot.node] for spot in spots)
        ways.setdefault(way, []).append(i)
    size = need.slice_size
    slices = [way[k : k + size] for way in ways.values() for k in range(0, len(way), size)]
    if all(whole_slices(instance, [changes[i] for i in part]) for part in slices):
        return slices
    return [own]


def after_evictions(
    instance: Instance, placement: Placement, units: Sequence[Unit], over: Callable[[], bool]
) -> list[Unit]:
    """Let binds wait for the evictions that are for them, though there be room before.

    On the victim's node if the job has pods there, else all its binds.
    """
    preemptors = preemptors_of(Step(instance, instance.current, placement), over)
    targets: dict[int, set[int]] = {}
    waiting: dict[tuple[int, int | None], list[Unit]] = {}
    for unit in units:
        for change in unit.changes if unit.kind == "bind" else ():
            assert change.target is not None
            targets.setdefault(instance.podsets[change.podset].job, set()).add(change.target.node)
    for unit in units:
        for change in unit.changes if unit.kind == "evict" else ():
            assert change.source is not None
            job = preemptors.of(change.podset, change.source)
            if job is not None:
                n = change.source.node
                key = job.index, n if n in targets[job.index] else None
                waiting.setdefault(key, []).append(unit)
    found = []
    for unit in units:
        first: list[Unit] = []
        for change in unit.changes if unit.kind == "bind" else ():
            assert change.target is not None
            j = instance.podsets[change.podset].job
            first += waiting.get((j, None), []) + waiting.get((j, change.target.node), [])
        found.append(replace(unit, first=tuple(dict.fromkeys(first))) if first else unit)
    return found


def paired_anew(units: Sequence[Unit], rng: Random) -> list[Unit]:
    """Shuffle who goes where among equal pods that move by themselves, as closeness lets them."""
    alike: dict[Hashable, list[Change]] = {}
    for unit in units:
        if unit.kind == "move" and len(unit.changes) == 1:
            change = unit.changes[0]
            levels = {x for _, each in _tying(unit.instance).get(change.podset, ()) for x in each}
            level = max(levels, default=-1)
            domain_of = unit.instance.topology.domain_of[level] if level >= 0 else None
            spots = [spot for spot in (change.source, change.target) if spot is not None]
            way = [domain_of[spot.node] for spot in spots] if domain_of else ()
            alike.setdefault((change.podset, *way), []).append(change)
    drawn: dict[Change, list[Unit]] = {}
    for changes in alike.values():
        targets = rng.sample([change.target for change in changes], len(changes))
        for change, target in zip(changes, targets, strict=True):
            made = Unit(units[0].instance, (replace(change, target=target),))
            drawn.setdefault(change, []).append(made)
    return [drawn[u.changes[0]].pop() if u.changes[0] in drawn else u for u in units]


def may_step_aside(unit: Unit) -> bool:
    """Whether a unit is one pod that moves, and that nothing ties to other pods of its job."""
    if unit.first or len(unit.changes) > 1 or unit.kind != "move":
        return False
    job = unit.instance.podsets[unit.changes[0].podset].job
    return job not in presolved(unit.instance).close_jobs


def ties(instance: Instance, change: Change) -> list[TopologyNeed]:
    """Return the needs for closeness that a rule insists on and that tie a change to others."""
    return [
        need
        for need, levels in _tying(instance).get(change.podset, ())
        if any(changes_domain(instance, change, level) for level in levels)
    ]


@lru_cache(maxsize=4)
def _tying(instance: Instance) -> Mapping[int, Sequence[tuple[TopologyNeed, set[int]]]]:
    """By pod set, needs that tie its pods to others, with the levels; slices of one tie none."""
    found: dict[int, list[tuple[TopologyNeed, set[int]]]] = {}
    for need in instance.topology_needs:
        levels = {need.required} if instance.on(Rule.TOPOLOGY) else set()
        if instance.on(Rule.SLICES) and need.slice_size > 1:
            levels.add(need.slice_level)
        for s in instance.podsets_of(need):
            found.setdefault(s, []).append((need, {x for x in levels if x is not None}))
    return found
